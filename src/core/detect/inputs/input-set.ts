import { createHash } from "node:crypto";
import { posix } from "node:path";
import {
  type Application,
  type ApplicationSpec,
  isHydrated,
  readSource,
  type Source,
  sourcesOf,
} from "../../model/application.js";
import { instanceNameOf } from "../../model/brand.js";
import type { ChangedPaths } from "../../model/collections.js";
import type { InputPart, InputSet } from "../../model/input-set.js";
import { isJsonObject, type Json, objectsIn } from "../../model/json.js";
import type { TreeEntry } from "../../ports/repositories.js";
import type { OpenedTree, RepositoryTree } from "../../ports/snapshot.js";
import {
  cleanPath,
  firstBehind,
  globMatcher,
  hasGlob,
  isWithin,
  parentOf,
  type Steps,
} from "../tree/repository-path.js";
import { mayBeAddress, redactUserInfo } from "../tree/repository-url.js";

/** Collects a part. The first reason of `addWhole` counts. */
export interface InputCollector {
  addPath(path: string): void;
  addPattern(pattern: string): void;
  addWhole(reason: string): void;
  /** Something from elsewhere; `addresses` may name repositories. */
  addRemote(addresses?: readonly string[]): void;
  /** A chart of a fixed version; `addresses` as above. */
  addVersion(addresses?: readonly string[]): void;
  readonly part: InputPart;
}

export function touches(inputs: InputSet, changed: ChangedPaths): boolean {
  return inputs.some((part) => touchesPart(part, changed));
}

export function touchedPaths(inputs: InputSet, changed: ChangedPaths): readonly string[] {
  if (inputs.some(({ whole }) => whole !== undefined)) return changed.paths;
  const touched = new Set(inputs.flatMap(({ paths }) => paths.flatMap((path) => changed.touching(path))));
  const steps = mostSteps();
  for (const pattern of new Set(inputs.flatMap((part) => part.patterns))) {
    for (const path of changed.touching(fixedPart(pattern)).filter(touchOf(pattern, steps))) touched.add(path);
  }
  return changed.paths.filter((path) => touched.has(path));
}

function touchesPart(part: InputPart, changed: ChangedPaths): boolean {
  if (changed.paths.length === 0) return false;
  const steps = mostSteps();
  return (
    part.whole !== undefined ||
    part.paths.some((path) => changed.touch(path)) ||
    part.patterns.some((pattern) => changed.touching(fixedPart(pattern)).some(touchOf(pattern, steps)))
  );
}

/** Bounds what the patterns of one application or set cost: more than a hundred thousand usual comparisons. What is left is a match. */
export function mostSteps(): Steps {
  return { left: 20_000_000 };
}

/** Whether the change of a path touches what matches a pattern: the path matches, or is above all that does. */
function touchOf(pattern: string, steps: Steps): (path: string) => boolean {
  const matches = globMatcher(pattern, { doubleStar: true }, steps);
  const directory = fixedPart(pattern);
  return (path) => matches(path) || (directory !== "" && isWithin(directory, path));
}

/** The directory that contains every match of a pattern. */
export function fixedPart(pattern: string): string {
  const parts = pattern.split("/");
  const first = parts.findIndex((part) => /[*?[{\\]/.test(part));
  return first === -1 ? pattern : parts.slice(0, first).join("/");
}

/**
 * Digest of everything that an application reads of the change request's repository at a commit: `tree` is the commit's
 * tree and `inputs` were found in it. With equal fingerprints and equal definitions an application reads the same files at
 * two commits. Reads from elsewhere are not included (see `readsOnlyPinned`).
 */
export function inputFingerprint(inputs: InputSet, tree: OpenedTree): string {
  const hash = createHash("sha256");
  const steps = mostSteps();
  const parts = inputs.map(({ position, whole, paths, patterns }) => ({
    position,
    files: (whole === undefined ? sorted(paths) : [""]).map((path) => [path, pathDigest(path, tree)]),
    matches:
      whole === undefined ? sorted(patterns).map((pattern) => [pattern, patternDigest(pattern, tree, steps)]) : [],
  }));
  return hash.update(JSON.stringify(parts)).digest("hex");
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

/** Many applications read the same directories, some of them the whole repository, and many links may lead to one. */
function pathDigest(path: string, tree: OpenedTree): Json {
  const { path: real } = tree.follow(path);
  const below = real === undefined ? "" : tree.digest(`path ${real}`, () => digestOf(tree.entriesIn(real)));
  return [digestOf(entriesAbove(path, tree)), below];
}

function patternDigest(pattern: string, tree: OpenedTree, steps: Steps): Json {
  const directory = fixedPart(pattern);
  const matches = globMatcher(pattern, { doubleStar: true }, steps);
  const entries = tree.entriesIn(directory);
  const files = steps.left > 0 ? entries.filter(({ path, kind }) => kind === "file" && matches(path)) : [];
  // From here on everything in the directory counts as a match.
  if (steps.left <= 0) return pathDigest(directory, tree);
  const others = () => digestOf(entries.filter(({ kind }) => kind !== "file"));
  return [digestOf(entriesAbove(directory, tree)), tree.digest(`links ${directory}`, others), digestOf(files)];
}

/** A submodule or a link replaces everything at and below its path. */
function entriesAbove(path: string, tree: RepositoryTree): readonly TreeEntry[] {
  const above: TreeEntry[] = [];
  for (let one = path; one !== ""; one = parentOf(one)) {
    const entry = tree.entryAt(one);
    if (entry !== undefined) above.push(entry);
  }
  return above;
}

function digestOf(entries: readonly TreeEntry[]): string {
  const hash = createHash("sha256");
  for (const { path, kind, executable, blob } of entries) {
    hash.update(`${JSON.stringify([path, kind, executable, blob])}\n`);
  }
  return hash.digest("hex");
}

/** Parameter files that Argo CD applies to a source with this path, for all applications and for this one. */
export function overrideFilesOf(application: Pick<Application, "name">, sourcePath: string): readonly [string, string] {
  return [
    cleanPath(sourcePath, ".argocd-source.yaml"),
    cleanPath(sourcePath, `.argocd-source-${instanceNameOf(application.name)}.yaml`),
  ];
}

/** Whether an entry of a source's Kustomize options certainly is a path in that source's repository. */
export type IsPath = (entry: string, source: Source) => boolean;

/** Whether Kustomize finds an entry of the kustomization in this directory in the tree. */
export function isPathIn(tree: RepositoryTree, directory: string, entry: string): boolean {
  const path = cleanPath(directory, entry);
  return !mayBeAddress(entry) && (tree.hasFile(path) || tree.hasDirectory(path));
}

/** What Kustomize is told to read besides the source's path. */
export function kustomizeEntries({ kustomize }: Pick<Source, "kustomize">): readonly string[] {
  return [...(kustomize?.components ?? []), ...(kustomize?.patchPaths ?? [])];
}

/** How deep, and in how many files, svc looks for what Kustomize and Jsonnet read of an application. */
export const MAX_DEPTH = 20;
export const MAX_FILES = 2000;

/**
 * Returns a path, and what matches it in the tree: Argo CD hands components to `kustomize edit add component`, which expands patterns by
 * the rules of Go's `filepath.Glob` (`GlobPatternsWithLoader` of Kustomize 5), through links too. Of several paths to one place, the first counts.
 */
export function withMatches(path: string, tree: RepositoryTree, into: InputCollector, steps: Steps): readonly string[] {
  if (!hasGlob(path) || steps.left <= 0) return [path];
  const parts = path.split("/");
  if (parts.length > MAX_DEPTH) {
    into.addWhole(`a pattern of its components is nested more than ${MAX_DEPTH} deep`);
    return [path];
  }
  let found: ReadonlyMap<string, string> = new Map([["", ""]]);
  for (const part of parts) {
    const matches = globMatcher(part, { doubleStar: false }, steps);
    const names = ([real, directory]: readonly [string, string]) =>
      (hasGlob(part) ? namesIn(directory, real, tree) : [part])
        .filter((name) => name === part || matches(name))
        .map((name) => cleanPath(directory, name));
    const next = new Map<string, string>();
    for (const one of [...found].flatMap(names)) {
      const { path: real } = tree.follow(one);
      if (real !== undefined && !next.has(real)) next.set(real, one);
    }
    steps.left -= 100 * next.size;
    if (next.size > MAX_FILES || steps.left <= 0) {
      into.addWhole("the patterns of its components may stand for more paths than svc looks up");
      return [path];
    }
    found = next;
  }
  return [path, ...[...found.values()].filter((one) => tree.entriesIn(one).length > 0)];
}

/** The names in a directory. The paths are sorted, so that what is below a name is skipped at once. */
function namesIn(directory: string, real: string, tree: RepositoryTree): readonly string[] {
  const entries = tree.entriesIn(directory);
  const start = real === "" ? 0 : real.length + 1;
  const names: string[] = [];
  for (let at = 0; at < entries.length;) {
    const path = entries[at]?.path ?? "";
    const end = path.indexOf("/", start);
    names.push(path.slice(start, end === -1 ? undefined : end));
    at = end === -1 ? at + 1 : firstBehind(entries, path.slice(0, end));
  }
  return names.filter((name) => name !== "");
}

/** Repositories and files that are fetched from elsewhere, by all kinds of sources. @param isPath without it, Kustomize's entries count. */
export function addressesIn(spec: ApplicationSpec, isPath: IsPath = () => false): readonly string[] {
  const single = isJsonObject(spec.source) ? [readSource(spec.source, 1, "plain")] : [];
  return [...sourcesOf(spec), ...single].flatMap((source) => {
    const { repoURL, helm } = source;
    const files = [...(helm?.valueFiles ?? []), ...(helm?.fileParameters ?? [])];
    return [
      repoURL,
      ...files.filter((file) => /:|\$\{?ARGOCD_APP_SOURCE_REPO_URL/.test(file)),
      ...kustomizeEntries(source).filter((entry) => !isPath(entry, source)),
    ];
  });
}

/** The `plugin` blocks as text. A plugin is a program, so its settings may make it read anything. */
export function pluginsIn({ source, sources }: ApplicationSpec): readonly string[] {
  const all = [...(isJsonObject(source) ? [source] : []), ...objectsIn(sources)];
  return all.flatMap(({ plugin }) => (plugin === undefined ? [] : [JSON.stringify(plugin)]));
}

/**
 * Whether an application is rendered only from the change request's commit and from things that never change: every
 * source is at one of `positions` (those that get the commit), a chart with an exact version, or another repository at a
 * full commit id. A version range, a branch, a URL, a remote Kustomize base and anything unknown make it false.
 */
export function readsOnlyPinned(spec: ApplicationSpec, positions: readonly number[], inputs: InputSet): boolean {
  if (positions.length === 0 || isHydrated(spec)) return false;
  if (inputs.some(({ whole, remote }) => remote || whole !== undefined)) return false;
  return sourcesOf(spec).every((source) => positions.includes(source.position) || isPinned(source));
}

/**
 * What an application reads that may change without a commit, in a few words each. Pinned are whole commit ids, digests of OCI
 * artefacts, and paths in a commit's tree: a version can be published again, and a branch or tag moves.
 * @param positions the sources whose commit svc decides.
 */
export function unpinnedReads(
  spec: ApplicationSpec,
  positions: readonly number[],
  inputs: InputSet,
): readonly string[] {
  const sources = sourcesOf(spec).filter(({ position }) => !positions.includes(position));
  const named = sources.filter((source) => !isContentPinned(source)).map(labelOf);
  const whole = inputs.find((part) => part.whole !== undefined)?.whole;
  const fetched = inputs.some(({ remote, versions }) => remote || versions === true);
  return [
    ...new Set(named),
    ...(fetched ? ["what its files fetch from elsewhere"] : []),
    ...(whole === undefined ? [] : [`whatever it reads, since ${whole}`]),
  ];
}

/** Argo CD looks for anything else among branches and tags first, for 64 digits too (`lsRemote` in util/git/client.go of v3.5). */
const COMMIT_ID = /^[0-9a-f]{40}$/;

function labelOf({ chart, repoURL, targetRevision }: Source): string {
  const from = redactUserInfo(repoURL);
  return `${chart === undefined ? from : `the chart ${chart} of ${from}`} at ${targetRevision || "its newest revision"}`;
}

function isContentPinned({ chart, repoURL, targetRevision }: Source): boolean {
  if (/^\s*oci:/i.test(repoURL)) return /^sha256:[0-9a-f]{64}$/.test(targetRevision);
  return chart === undefined && COMMIT_ID.test(targetRevision);
}

/** Whether a chart's version names exactly one package: no range, no `v1`, no `latest`. */
export function isExactVersion(version: string): boolean {
  return /^v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.test(version);
}

function isPinned({ chart, repoURL, targetRevision }: Source): boolean {
  if (/^\s*oci:/i.test(repoURL)) return isExactVersion(targetRevision) || /^sha256:[0-9a-f]{64}$/.test(targetRevision);
  if (chart !== undefined) return isExactVersion(targetRevision);
  return COMMIT_ID.test(targetRevision);
}

/** Each entry is compared with every changed file. Those beyond this many, which nobody writes by hand, count as missing. */
const MAX_GENERATE_PATHS = 1000;

/** Argo CD ignores a commit unless a changed file matches an entry of this annotation. */
export const GENERATE_PATHS_ANNOTATION = "argocd.argoproj.io/manifest-generate-paths";

/** An entry of the annotation as Argo CD compares it with a changed file. */
export interface GeneratePath {
  /** Clean path from the repository's root: everything below it matches. */
  readonly directory: string;
  /** For Go's `filepath.Match`, from the root with a leading `/`. It also matches itself literally. */
  readonly pattern: string;
  /** Argo CD before v3.4 takes spaces around it for part of the path. */
  readonly spaced: boolean;
}

/**
 * The entries for a source with this path; undefined without the annotation. `/x` is relative to the root, any other entry
 * to the source's path, which is the root for a `ref` source. A directory that climbs above the root stops there; a file or pattern matches nothing then.
 * https://argo-cd.readthedocs.io/en/stable/operator-manual/high_availability/#manifest-paths-annotation and
 * `GetSourceRefreshPaths` of Argo CD v3.5.
 */
export function generatePathEntries(
  annotations: Readonly<Record<string, string>>,
  sourcePath: string,
): readonly GeneratePath[] | undefined {
  const entries = (annotations[GENERATE_PATHS_ANNOTATION] ?? "").split(";").filter((entry) => entry.trim() !== "");
  if (entries.length === 0) return undefined;
  return entries.slice(0, MAX_GENERATE_PATHS).map((written) => {
    const entry = written.trim();
    const spaced = entry !== written;
    // Only a relative entry is cleaned before it is used as a pattern.
    if (entry.startsWith("/")) return { directory: cleanPath(entry), pattern: entry, spaced };
    const directory = cleanPath(sourcePath, entry);
    const climbs = posix.join(sourcePath, entry).startsWith("../");
    return { directory, pattern: climbs ? `/../${directory}` : `/${directory}`, spaced };
  });
}

/** Adds all entries of the annotation to the inputs of a source. It never removes any. */
export function addGeneratePaths(
  entries: readonly GeneratePath[],
  into: { addPath(path: string): void; addPattern(pattern: string): void },
): void {
  for (const { directory } of entries) {
    into.addPath(directory);
    if (hasGlob(directory)) into.addPattern(directory);
  }
}

/**
 * Returns the variables of Argo CD's build environment that depend on the definition only, and not on a revision.
 * https://argo-cd.readthedocs.io/en/stable/user-guide/build-environment/
 */
export function buildEnvironment(
  application: Pick<Application, "name" | "spec">,
  sourcePath: string,
): ReadonlyMap<string, string> {
  const { destination, project } = application.spec;
  return new Map([
    ["ARGOCD_APP_NAME", instanceNameOf(application.name)],
    ["ARGOCD_APP_NAMESPACE", isJsonObject(destination) ? textOf(destination.namespace) : ""],
    ["ARGOCD_APP_PROJECT_NAME", textOf(project) || "default"],
    ["ARGOCD_APP_SOURCE_PATH", sourcePath],
  ]);
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/**
 * Fills in the variables that svc knows, in two readings, since it does not know which of the others Argo CD knows at the render:
 * one leaves them as they are, and one leaves them out, as Go's `os.Expand` does with those that nobody knows and with broken ones.
 */
export function withVariables(text: string, known: ReadonlyMap<string, string>): readonly string[] {
  const filled = replaced(text, [/\$(?:\{([^}]*)\}|(\w+))/g, /\$()(\w+)/g], (whole, braced, plain) => {
    return known.get(braced || plain) ?? whole;
  });
  const others = [/\$(\$|\{[^}]*\}|\{|[\d*#@!?-]|[A-Za-z_]\w*)/g, /\$(\$|\{|[\d*#@!?-]|[A-Za-z_]\w*)/g] as const;
  return [filled, replaced(filled, others, (_, name) => (name === "$" ? "$" : ""))];
}

/**
 * Replaces what the first pattern matches up to the last closing brace, and what the second matches behind it, where looking for the
 * end of each `${` would take time by the square of the length.
 */
function replaced(
  text: string,
  [closed, open]: readonly [RegExp, RegExp],
  by: (whole: string, first: string, second: string) => string,
): string {
  const end = text.lastIndexOf("}") + 1;
  const replace = (whole: string, first = "", second = "") => by(whole, first, second);
  return text.slice(0, end).replace(closed, replace) + text.slice(end).replace(open, replace);
}
