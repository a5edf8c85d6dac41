import { readSource, sourcesOf, type Source } from "../../model/application-spec.js";
import type { Application } from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import type { ChangedPaths } from "../../model/changed-paths.js";
import type { FoundInputs, InputPart, InputSet } from "../../model/input-set.js";
import type { Snapshot } from "../../ports/snapshot.js";
import type { RepositoryTree } from "../../ports/snapshot.js";
import { cleanPath } from "../tree/repository-path.js";
import { buildEnvironment, instanceNameOf } from "./build-environment.js";
import { addChartDependencies } from "./chart-dependencies.js";
import { noteConsulted } from "./consulted-paths.js";
import { addGeneratePaths, generatePathEntries } from "./generate-paths.js";
import { addHelmFiles, type HelmReader } from "./helm-inputs.js";
import { collectInputs, fixedPart, type InputCollector } from "./input-set.js";
import { addJsonnetInputs } from "./jsonnet-inputs.js";
import { addKustomizeInputs, hasKustomization } from "./kustomize-inputs.js";
import { namesUrl } from "./kustomize-remotes.js";

/** Parameter files that Argo CD applies to a source with this path, for all applications and for this one. */
export function overrideFilesOf(application: Pick<Application, "name">, sourcePath: string): readonly [string, string] {
  return [
    cleanPath(sourcePath, ".argocd-source.yaml"),
    cleanPath(sourcePath, `.argocd-source-${instanceNameOf(application)}.yaml`),
  ];
}

/**
 * What the sources at these positions (all of the snapshot's repository) read at a commit, and what other sources read
 * from them through `$ref/…`. Anything unknown counts as the whole repository, with the reason: missing an application is
 * worse than rendering one needlessly.
 */
export async function inputsOf(
  application: Application,
  positions: readonly number[],
  snapshot: Snapshot,
  revision: Revision,
): Promise<InputSet> {
  const { inputs } = await findInputs(application, positions, snapshot, revision);
  return inputs;
}

/** Two commits, and every path that differs between them. */
export interface Difference {
  readonly from: Revision;
  readonly to: Revision;
  readonly changed: ChangedPaths;
}

/** What `inputsOf` finds at either of two commits. Reads the second only if the difference can change the answer. */
export async function inputsAtEither(
  application: Application,
  positions: readonly number[],
  snapshot: Snapshot,
  { from, to, changed }: Difference,
): Promise<InputSet> {
  const { inputs, decidedBy } = await findInputs(application, positions, snapshot, from);
  if (decidedBy !== undefined && !decidedBy.some((path) => changed.touch(path))) return inputs;
  return [...inputs, ...(await inputsOf(application, positions, snapshot, to))];
}

async function findInputs(
  application: Application,
  positions: readonly number[],
  snapshot: Snapshot,
  revision: Revision,
): Promise<FoundInputs> {
  if (positions.length === 0) return { inputs: [], decidedBy: [] };
  const tree = await snapshot.tree(revision);
  return snapshot.inputs(tree.entriesIn(""), application, [sourceTypesOf(application), positions], async () => {
    const noting = noteConsulted(tree);
    const inputs = await readInputs(application, positions, noting.tree);
    return { inputs, decidedBy: noting.consulted() };
  });
}

function readInputs(application: Application, positions: readonly number[], tree: RepositoryTree): Promise<InputSet> {
  const sources = sourcesOf(application.spec);
  return Promise.all(
    sources.map((source) =>
      readBy({ source, sources, positions, environment: buildEnvironment(application, source.path) }),
    ),
  );

  async function readBy(reader: HelmReader): Promise<InputPart> {
    const { source } = reader;
    const path = cleanPath(source.path);
    const into = collectInputs(source.position, path);
    const own = positions.includes(source.position);
    const rendersNothing = source.ref !== undefined && source.path === "";
    addHelmFiles(reader, source.helm, into);
    if (own && !rendersNothing) {
      into.addPath(path);
      addGeneratePaths(generatePathEntries(application.annotations, path) ?? [], into);
      if (discoveredAsPlugin(application, source.position)) into.addWhole(PLUGIN);
      await addChartDependencies(path, tree, into);
      const overrides = await overridesOf(path, into);
      for (const override of overrides) addHelmFiles(reader, override.helm, into);
      await addOptionInputs([source, ...overrides], path, into);
    }
    addLinkedInputs(tree, into);
    addSubmoduleInputs(tree, into);
    return into.part;
  }

  async function addOptionInputs(layers: readonly Source[], path: string, into: InputCollector): Promise<void> {
    if (layers.some(({ plugin }) => plugin)) into.addWhole(PLUGIN);
    const kustomize = layers.flatMap((layer) => (layer.kustomize === undefined ? [] : [layer.kustomize]));
    const named = kustomize.flatMap(({ components, patchPaths }) => [...components, ...patchPaths]);
    if (namesUrl(named)) into.addRemote();
    for (const one of named) into.addPath(cleanPath(path, one));
    const components = kustomize.flatMap((options) => options.components).map((one) => cleanPath(path, one));
    await addKustomizeInputs([path, ...components], tree, into);
    const directory = layers.some((layer) => layer.directory);
    if (directory || !(hasKustomization(path, tree) || tree.hasFile(cleanPath(path, "Chart.yaml")))) {
      await addJsonnetInputs(
        path,
        {
          libraries: layers.flatMap(({ jsonnet }) => jsonnet.libraries).map((one) => cleanPath(one)),
          code: layers.flatMap(({ jsonnet }) => jsonnet.code),
        },
        tree,
        into,
      );
    }
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

/** Argo CD can discover a plugin by itself; only the live object shows that. */
function discoveredAsPlugin(application: Application, position: number): boolean {
  return sourceTypesOf(application)[position - 1] === "Plugin";
}

function sourceTypesOf(application: Application): readonly unknown[] {
  return "sourceTypes" in application && Array.isArray(application.sourceTypes) ? application.sourceTypes : [];
}

const PLUGIN = "a plugin renders it and may read any file";

/**
 * Adds the targets of symbolic links that are inputs or on the way to one, recursively. A link that cannot be read makes
 * the whole repository an input. Call it after everything else was added.
 */
function addLinkedInputs(tree: RepositoryTree, into: InputCollector): void {
  const waiting = [...into.part.paths, ...into.part.patterns.map(fixedPart)];
  const seen = new Set(waiting);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { path, links, unreadable } = tree.follow(next);
    if (unreadable !== undefined) into.addWhole(`the symbolic link ${unreadable} cannot be read`);
    for (const link of links) into.addPath(link);
    if (path !== undefined && links.length > 0) into.addPath(path);
    const more = [...(path === undefined ? [] : [path]), ...tree.linksIn(next)];
    for (const one of more.filter((candidate) => !seen.has(candidate))) {
      seen.add(one);
      waiting.push(one);
    }
  }
}

/**
 * A submodule is pinned by its commit, but `.gitmodules` decides its origin, and what its files read is unknown. Call it
 * after everything else was added.
 */
function addSubmoduleInputs(tree: RepositoryTree, into: InputCollector): void {
  const { paths, patterns } = into.part;
  const read = [...paths, ...patterns.map(fixedPart)].some((path) => tree.touchesSubmodule(path));
  if (!read) return;
  into.addPath(".gitmodules");
  into.addRemote();
}
