import { readSource, sourcesOf, type Source } from "../application-spec.js";
import type { Application } from "../application.js";
import type { Revision } from "../brand.js";
import type { RepositorySnapshot } from "../ports.js";
import { addGeneratePaths, generatePathEntries } from "./generate-paths.js";
import { addChartDependencies, addHelmFiles, type HelmReader } from "./helm-inputs.js";
import { collectInputs, fixedPart, type InputCollector, type InputPart, type InputSet } from "./input-set.js";
import { addKustomizeInputs, hasKustomization } from "./kustomize-inputs.js";
import { cleanPath, isWithin } from "./repository-path.js";
import { openTree, type RepositoryTree } from "./repository-tree.js";

/** `<name>`, or `<namespace>_<name>` outside Argo CD's own namespace: `ARGOCD_APP_NAME`. */
export function instanceNameOf(application: Pick<Application, "name">): string {
  return application.name.replace("/", "_");
}

/** Files of parameters that Argo CD lays over a source with this path, for all applications and for this one. */
export function overrideFilesOf(application: Pick<Application, "name">, sourcePath: string): readonly [string, string] {
  return [
    cleanPath(sourcePath, ".argocd-source.yaml"),
    cleanPath(sourcePath, `.argocd-source-${instanceNameOf(application)}.yaml`),
  ];
}

/**
 * What the sources at these positions (all of the snapshot's repository) read at a commit, and what other sources read
 * from them through `$ref/…`. Wide on purpose: what cannot be told is the whole repository, with the reason, because an
 * application that is missed is worse than one that is rendered in vain.
 */
export async function inputsOf(
  application: Application,
  positions: readonly number[],
  snapshot: RepositorySnapshot,
  revision: Revision,
): Promise<InputSet> {
  if (positions.length === 0) return [];
  const tree = await openTree(snapshot, revision);
  const sources = sourcesOf(application.spec);
  return Promise.all(
    sources.map((source) => readBy({ source, sources, positions, instanceName: instanceNameOf(application) })),
  );

  async function readBy(reader: HelmReader): Promise<InputPart> {
    const { source } = reader;
    const path = cleanPath(source.path);
    const into = collectInputs(source.position, path);
    const own = positions.includes(source.position);
    const rendersNothing = source.ref !== undefined && source.path === "";
    addHelmFiles(reader, source.helm, into);
    if (own && !rendersNothing) {
      await addPathInputs(source, path, into);
      addGeneratePaths(generatePathEntries(application.annotations, path) ?? [], into);
      for (const override of await overridesOf(path, into)) {
        addHelmFiles(reader, override.helm, into);
        await addOptionInputs(override, path, into);
      }
    }

    addLinkTargets(tree, into);
    return into.part;
  }

  async function addPathInputs(source: Source, path: string, into: InputCollector): Promise<void> {
    into.addPath(path);
    await addChartDependencies(path, tree, into);
    await addOptionInputs(source, path, into);
    if (discoveredAsPlugin(application, source.position)) into.addWhole("a plugin renders it and may read any file");
    const plain = source.directory || !(hasKustomization(path, tree) || tree.hasFile(cleanPath(path, "Chart.yaml")));
    if (plain && tree.entriesIn(path).some((entry) => /\.(?:jsonnet|libsonnet)$/.test(entry.path))) {
      into.addWhole("its Jsonnet files may import any file");
    }
  }

  async function addOptionInputs(source: Source, path: string, into: InputCollector): Promise<void> {
    if (source.plugin) into.addWhole("a plugin renders it and may read any file");
    const { components, patchPaths } = source.kustomize ?? { components: [], patchPaths: [] };
    const componentPaths = components.map((component) => cleanPath(path, component));
    for (const one of [...componentPaths, ...patchPaths.map((patch) => cleanPath(path, patch))]) into.addPath(one);
    await addKustomizeInputs([path, ...componentPaths], tree, into);
  }

  async function overridesOf(path: string, into: InputCollector): Promise<readonly Source[]> {
    const read = await Promise.all(
      overrideFilesOf(application, path).map(async (file) => {
        if (!tree.hasFile(file)) return [];
        const documents = await tree.readYaml(file);
        if (documents === undefined) into.addWhole(`${file} cannot be read`);
        return (documents ?? []).map((value) => ({ ...readSource(value, 0, "plain"), path }));
      }),
    );
    return read.flat();
  }
}

/** Argo CD can find out by itself that a plugin renders a source; only the live object tells. */
function discoveredAsPlugin(application: Application, position: number): boolean {
  if (!("sourceTypes" in application) || !Array.isArray(application.sourceTypes)) return false;
  const type: unknown = application.sourceTypes[position - 1];
  return type === "Plugin";
}

/** The tree names no targets of symbolic links, so one that is an input, or leads to one, may bring in any file. */
function addLinkTargets(tree: RepositoryTree, into: InputCollector): void {
  const { paths, patterns } = into.part;
  const inputs = [...paths, ...patterns.map(fixedPart)];
  const link = tree.symlinks.find((one) => inputs.some((path) => isWithin(one, path) || isWithin(path, one)));
  if (link !== undefined) into.addWhole(`the symbolic link ${link} may lead to any file`);
}
