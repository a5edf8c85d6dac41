import { type Application, readSourceAsWritten, type Source, sourcesOf } from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import type { ChangedPaths } from "../../model/collections.js";
import type { FoundInputs, InputPart, InputSet } from "../../model/input-set.js";
import { misspelledMember } from "../../model/json.js";
import type { RepositoryTree, Snapshot } from "../../ports/snapshot.js";
import {
  ATTRIBUTES_FILE,
  checkoutFilesOf,
  cleanPath,
  hasGlob,
  isDeep,
  MAX_LENGTH,
  parentOf,
} from "../tree/repository-path.js";
import { mayBeAddress } from "../tree/repository-url.js";
import {
  addGeneratePaths,
  buildEnvironment,
  fixedPart,
  generatePathEntries,
  type InputCollector,
  kustomizeEntries,
  mostSteps,
  overrideFilesOf,
  withMatches,
  withVariables,
} from "./input-set.js";
import { addJsonnetInputs } from "./jsonnet-inputs.js";
import { addChartDependencies, addKustomizeInputs, hasKustomization } from "./tool-inputs.js";

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

/** What `inputsOf` finds at a commit and at others. Reads each of these only if its difference can change the answer. */
export async function inputsAtAny(
  application: Application,
  positions: readonly number[],
  snapshot: Snapshot,
  from: Revision,
  ...others: readonly { readonly to: Revision; readonly changed: ChangedPaths }[]
): Promise<InputSet> {
  const { inputs, decidedBy = [""] } = await findInputs(application, positions, snapshot, from);
  const differing = others.filter(({ changed }) => decidedBy.some((path) => changed.touch(path)));
  const found = await Promise.all(differing.map(({ to }) => inputsOf(application, positions, snapshot, to)));
  return [...inputs, ...found.flat()];
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

const MAX_SOURCES = 100;

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
    const rendersNothing = source.ref !== undefined && source.path === "";
    if (sources.length > MAX_SOURCES || isDeep(path)) {
      into.addWhole(isDeep(path) ? DEEP : `it has more than ${MAX_SOURCES} sources`);
      return into.part;
    }
    addHelmFiles(reader, source.helm, into);
    if (positions.includes(source.position) && !rendersNothing) {
      into.addPath(path);
      addGeneratePaths(generatePathEntries(application.annotations, path) ?? [], into);
      if (sourceTypesOf(application)[source.position - 1] === "Plugin") into.addWhole(PLUGIN);
      // Without this file, Argo CD runs no Helm there (v3.5 `Discover`, `getHelmDependencyRepos`).
      if (tree.hasFile(cleanPath(path, "Chart.yaml"))) await addChartDependencies(path, tree, into);
      const overrides = await overridesOf(path, into);
      for (const override of overrides) addHelmFiles(reader, override.helm, into);
      await addOptionInputs([source, ...overrides], { path, environment: reader.environment }, tree, into);
    }
    if (into.part.whole === undefined) addLinkedInputs(tree, into);
    if (into.part.whole === undefined) addCheckoutInputs(tree, into);
    return into.part;
  }

  async function overridesOf(path: string, into: InputCollector): Promise<readonly Source[]> {
    const read = await Promise.all(
      overrideFilesOf(application, path).map(async (file) => {
        if (!tree.hasFile(file)) return [];
        const documents = await tree.readYaml(file);
        const strange = misspelledMember(documents);
        if (documents === undefined) into.addWhole(`${file} cannot be read`);
        else if (strange) into.addWhole(`${file} has the key ${strange.key}, which Argo CD reads as ${strange.member}`);
        // The files are merged after Argo CD has dropped empty blocks (v3.5 `mergeSourceParameters`, before `ExplicitType`).
        return (documents ?? []).map((value) => ({ ...readSourceAsWritten(value, 0), path }));
      }),
    );
    return read.flat();
  }
}

async function addOptionInputs(
  layers: readonly Source[],
  { path, environment }: { readonly path: string; readonly environment: ReadonlyMap<string, string> },
  tree: RepositoryTree,
  into: InputCollector,
): Promise<void> {
  if (layers.some(({ plugin }) => plugin)) into.addWhole(PLUGIN);
  const isOpen = layers.every(({ helm, kustomize, directory }) => !(helm ?? kustomize ?? directory));
  const why = isOpen ? whyForPlugin(path, tree) : undefined;
  if (why !== undefined) into.addWhole(`${PLUGIN} (its directory ${why})`);
  // Kustomize works in the directory that a linked path leads to.
  const places = [...new Set([path, tree.follow(path).path ?? path])];
  // Each step takes longer here: it looks a name up in the tree.
  const steps = { left: mostSteps().left / 4 };
  const from = (entry: string) => places.flatMap((place) => withMatches(cleanPath(place, entry), tree, into, steps));
  const named = new Map(layers.flatMap(kustomizeEntries).map((entry) => [entry, from(entry)]));
  const isHere = (one: string) => tree.hasFile(one) || tree.hasDirectory(one);
  const optional = new Set(
    layers.flatMap(({ kustomize }) => (kustomize?.ignoreMissingComponents ? kustomize.components : [])),
  );
  const elsewhere = [...named].filter(([entry, paths]) => {
    return mayBeAddress(entry) || !(optional.has(entry) || paths.some(isHere));
  });
  if (elsewhere.length > 0) into.addRemote(elsewhere.map(([entry]) => entry));
  for (const one of [...named.values()].flat()) into.addPath(one);
  const components = layers
    .flatMap(({ kustomize }) => kustomize?.components ?? [])
    .flatMap((entry) => named.get(entry) ?? []);
  await addKustomizeInputs([path, ...components], tree, into);
  const directory = layers.some((layer) => layer.directory);
  if (directory || !(hasKustomization(path, tree) || tree.hasFile(cleanPath(path, "Chart.yaml")))) {
    const libraries = layers.flatMap(({ jsonnet }) => jsonnet.libraries).map((one) => cleanPath(one));
    const code = layers.flatMap(({ jsonnet }) => jsonnet.code).flatMap((one) => withVariables(one, environment));
    await addJsonnetInputs(path, { libraries, code }, tree, into);
  }
}

/** Argo CD can discover a plugin by itself; only the whole live object shows that, and no list of applications. */
function sourceTypesOf(application: Application): readonly unknown[] {
  return "sourceTypes" in application && Array.isArray(application.sourceTypes) ? application.sourceTypes : [];
}

const PLUGIN = "a plugin renders it and may read any file";

/**
 * Why only a plugin can render this directory, as a clause that follows "its directory"; undefined if Argo CD itself may render it.
 * Argo CD reads files that end in `.yaml`, `.yml`, `.json` or `.jsonnet` (v3.5 `getPotentiallyValidManifests`). Links and submodules
 * count as such, since svc does not look into them here.
 */
function whyForPlugin(path: string, tree: RepositoryTree): string | undefined {
  const { path: real } = tree.follow(path);
  const isChart = tree.hasFile(cleanPath(path, "Chart.yaml"));
  if (real === undefined || isChart || hasKustomization(path, tree)) return undefined;
  const entries = tree
    .entriesIn(path)
    .map((entry) => ({ ...entry, name: entry.path.slice(real === "" ? 0 : real.length + 1) }))
    .filter(({ name }) => name !== "" && !/^\.argocd-source[^/]*\.yaml$|(?:^|\/)\.git\w+$|\.md$/.test(name));
  if (entries.some(({ name }) => HELMFILE.test(name))) return "is for helmfile";
  const isLeft = entries.every(({ kind, name }) => kind === "file" && !/\.(?:ya?ml|json|jsonnet)$/.test(name));
  return isLeft && entries.length > 0 ? "holds nothing that Argo CD renders" : undefined;
}

/** https://helmfile.readthedocs.io/en/latest/ */
const HELMFILE = /^helmfile(?:\.ya?ml(?:\.gotmpl)?$|\.d\/)/;

/** Adds the targets of symbolic links among the inputs added so far. If a link cannot be read, the whole repository is an input. */
function addLinkedInputs(tree: RepositoryTree, into: InputCollector): void {
  const { paths, unreadable } = reachedByLinks([...into.part.paths, ...into.part.patterns.map(fixedPart)], tree);
  if (unreadable !== undefined) into.addWhole(`the symbolic link ${unreadable} cannot be read`);
  for (const path of paths) into.addPath(path);
}

/** The symbolic links at, on the way to and below these paths, with their targets, recursively, and one that cannot be read. */
export function reachedByLinks(
  from: readonly string[],
  tree: RepositoryTree,
): { readonly paths: readonly string[]; readonly unreadable: string | undefined } {
  const waiting = [...from];
  const seen = new Set(waiting);
  const places = new Set<string>();
  const paths: string[] = [];
  let broken: string | undefined;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { path, links, unreadable } = tree.follow(next);
    broken ??= unreadable;
    paths.push(...links);
    if (path !== undefined && links.length > 0) paths.push(path);
    if (path === undefined || places.has(path)) continue;
    places.add(path);
    for (const one of tree.linksIn(path).filter((candidate) => !seen.has(candidate))) {
      seen.add(one);
      waiting.push(one);
    }
  }
  return { paths, unreadable: broken };
}

/** Adds what decides how inputs are checked out; call it last. A submodule is pinned, but what its files read is unknown. */
function addCheckoutInputs(tree: RepositoryTree, into: InputCollector): void {
  const { paths, patterns } = into.part;
  const read = [...paths, ...patterns.map(fixedPart)];
  if (read.some((path) => tree.touchesSubmodule(path))) into.addRemote();
  for (const file of new Set(read.flatMap(checkoutFilesOf))) into.addPath(file);
  for (const pattern of patterns) into.addPattern(cleanPath(fixedPart(pattern), "**", ATTRIBUTES_FILE));
}

/** A tree that records which paths are asked for. */
interface ConsultedTree {
  readonly tree: RepositoryTree;
  /**
   * The paths that decided every answer so far: trees with the same entries at, above and below each of them give the same
   * answers. No path is below another.
   */
  consulted(): readonly string[];
}

/** Records the paths of all questions to this tree, and where symbolic links led. */
export function noteConsulted(tree: RepositoryTree): ConsultedTree {
  const noted = new Set<string>();
  return {
    tree: {
      hasFile: (path) => tree.hasFile(followed(path)),
      hasDirectory: (path) => tree.hasDirectory(followed(path)),
      entryAt: (path) => tree.entryAt(note(path)),
      entriesIn: (path) => tree.entriesIn(followed(path)),
      linksIn: (path) => tree.linksIn(followed(path)),
      touchesSubmodule: (path) => tree.touchesSubmodule(note(path)),
      follow: (path) => tree.follow(followed(path)),
      readYaml: (path) => tree.readYaml(followed(path)),
      parseYaml: (text) => tree.parseYaml(text),
      readTexts: (paths) => tree.readTexts(paths.map(followed)),
    },
    consulted: () => outermost(noted),
  };

  function note(path: string): string {
    noted.add(path);
    return path;
  }

  function followed(path: string): string {
    const { path: real, asked } = tree.follow(path);
    for (const one of asked) noted.add(one);
    if (real !== undefined) noted.add(real);
    return note(path);
  }
}

/** Drops paths that are below others. */
function outermost(paths: ReadonlySet<string>): readonly string[] {
  if (paths.has("")) return [""];
  return [...paths].filter((path) => {
    for (let above = parentOf(path); above !== ""; above = parentOf(above)) if (paths.has(above)) return false;
    return true;
  });
}

/** The source whose files are read, and which sources of the application are in this repository. */
interface HelmReader {
  readonly source: Source;
  readonly sources: readonly Source[];
  /** Positions of the sources in this repository. */
  readonly positions: readonly number[];
  readonly environment: ReadonlyMap<string, string>;
}

/**
 * Adds value files and file parameters. `$ref/…` is relative to the root of the source with that name, `/…` to the root of
 * the own repository, any other path to the source's path. Paths may be globs. Files that do not exist yet count too.
 */
function addHelmFiles(reader: HelmReader, options: Source["helm"], into: InputCollector): void {
  const { valueFiles = [], fileParameters = [] } = options ?? {};
  // Helm's flag `--values` takes a comma for the end of a path, and reads what follows from the chart's folder.
  const parts = valueFiles.flatMap((file) => file.split(","));
  for (const written of new Set([...valueFiles, ...parts, ...fileParameters])) {
    const place = placeOf(written, reader);
    if (place.kind === "unknown") {
      into.addWhole(`its value file ${written.slice(0, 200)} cannot be told before rendering`);
    } else if (place.kind === "url") into.addRemote([place.url]);
    else if (place.kind === "here") addFile(place.path, into);
  }
}

type Place =
  | { readonly kind: "here"; readonly path: string }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "elsewhere" | "unknown" };

/** As in Argo CD, a reference is resolved before variables are. */
function placeOf(written: string, { source, sources, positions, environment }: HelmReader): Place {
  const [, ref, rest] = /^\$([^/]+)(?:\/(.*))?$/s.exec(written) ?? [];
  const target = ref === undefined ? undefined : sources.find((other) => other.ref === ref);
  const path = target === undefined ? written : (rest ?? "");
  const file = path.length > MAX_LENGTH ? undefined : substitute(path, environment);
  // Behind a comma, Helm reads what is in quotes as one path, and nothing of a second line.
  if (file === undefined || file.includes("{{") || /,.*["\r\n]/s.test(file)) return { kind: "unknown" };
  if (target === undefined && /^https?:\/\//i.test(file)) return { kind: "url", url: file };
  if (file.includes("://")) return { kind: "unknown" };
  if (!positions.includes((target ?? source).position)) return { kind: "elsewhere" };
  const fromRoot = target !== undefined || file.startsWith("/");
  return { kind: "here", path: fromRoot ? cleanPath(file) : cleanPath(source.path, file) };
}

function addFile(path: string, into: InputCollector): void {
  into.addPath(path);
  if (path.includes("{")) into.addPath(fixedPart(path));
  else if (hasGlob(path)) into.addPattern(path);
}

/** Undefined if the text names an unknown variable. */
function substitute(text: string, environment: ReadonlyMap<string, string>): string | undefined {
  const unknown: string[] = [];
  const substituted = text.replace(/\$(?:\{([^}]*)\}|(\w+)|.?)/gs, (whole, braced?: string, plain?: string) => {
    if (whole === "$$") return "$";
    const value = environment.get(braced ?? plain ?? "");
    if (value === undefined) unknown.push(whole);
    return value ?? "";
  });
  return unknown.length === 0 ? substituted : undefined;
}

const DEEP = "a path that it reads is below more folders than svc looks at";
/** Each is compared with many paths, and brings one more for its `.gitattributes`. */
const MAX_PATTERNS = 200;

function collectInputs(position: number, sourcePath: string): InputCollector {
  let whole: string | undefined;
  let remote = false;
  let versions = false;
  const addresses = new Set<string>();
  const paths = new Set<string>();
  const patterns = new Set<string>();
  return {
    addPath: (path) => void (isDeep(path) ? (whole ??= DEEP) : paths.add(path)),
    addPattern: (pattern) =>
      void (patterns.size < MAX_PATTERNS
        ? patterns.add(pattern)
        : (whole ??= "it names what it reads by more patterns than svc compares")),
    addWhole: (reason) => (whole ??= reason),
    addRemote(found = []) {
      remote = true;
      for (const address of found) addresses.add(address);
    },
    addVersion(found = []) {
      versions = true;
      for (const address of found) addresses.add(address);
    },
    get part() {
      const read = { position, sourcePath, whole, paths: [...paths], patterns: [...patterns], remote };
      return {
        ...read,
        ...(addresses.size > 0 ? { addresses: [...addresses] } : {}),
        ...(versions ? { versions } : {}),
      };
    },
  };
}
