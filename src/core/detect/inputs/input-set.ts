import { createHash } from "node:crypto";
import { type ApplicationSpec, isHydrated, readSource, type Source, sourcesOf } from "../../model/application.js";
import type { ChangedPaths, InputPart, InputSet } from "../../model/input-set.js";
import { isJsonObject, type Json } from "../../model/json.js";
import type { TreeEntry } from "../../ports/repositories.js";
import type { OpenedTree, RepositoryTree } from "../../ports/snapshot.js";
import { matchesGlob } from "../tree/path-glob.js";
import { cleanPath, isWithin, parentOf } from "../tree/repository-path.js";
import { mayBeAddress, redactUserInfo } from "../tree/repository-url.js";

/** Collects a part. The first reason of `addWhole` counts. */
export interface InputCollector {
  addPath(path: string): void;
  addPattern(pattern: string): void;
  addWhole(reason: string): void;
  addRemote(): void;
  /** A chart of a fixed version. */
  addVersion(): void;
  readonly part: InputPart;
}

export function collectInputs(position: number, sourcePath: string): InputCollector {
  let whole: string | undefined;
  let remote = false;
  let versions = false;
  const paths = new Set<string>();
  const patterns = new Set<string>();
  return {
    addPath: (path) => void paths.add(path),
    addPattern: (pattern) => void patterns.add(pattern),
    addWhole: (reason) => (whole ??= reason),
    addRemote: () => (remote = true),
    addVersion: () => (versions = true),
    get part() {
      const read = { position, sourcePath, whole, paths: [...paths], patterns: [...patterns], remote };
      return versions ? { ...read, versions } : read;
    },
  };
}

export function touches(inputs: InputSet, changed: ChangedPaths): boolean {
  return inputs.some((part) => touchesPart(part, changed));
}

export function touchedPaths(inputs: InputSet, changed: ChangedPaths): readonly string[] {
  if (inputs.some(({ whole }) => whole !== undefined)) return changed.paths;
  const touched = new Set(inputs.flatMap(({ paths }) => paths.flatMap((path) => changed.touching(path))));
  const patterns = inputs.flatMap((part) => part.patterns);
  return changed.paths.filter((path) => touched.has(path) || patterns.some((pattern) => matchesPattern(pattern, path)));
}

function touchesPart(part: InputPart, changed: ChangedPaths): boolean {
  if (changed.paths.length === 0) return false;
  return (
    part.whole !== undefined ||
    part.paths.some((path) => changed.touch(path)) ||
    part.patterns.some((pattern) => changed.paths.some((path) => matchesPattern(pattern, path)))
  );
}

function matchesPattern(pattern: string, path: string): boolean {
  return matchesGlob(pattern, path, { doubleStar: true }) || isBelowChange(pattern, path);
}

function isBelowChange(pattern: string, path: string): boolean {
  const directory = fixedPart(pattern);
  return directory !== "" && isWithin(directory, path);
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
  const parts = inputs.map(({ position, whole, paths, patterns }) => ({
    position,
    files: (whole === undefined ? sorted(paths) : [""]).map((path) => [path, pathDigest(path, tree)]),
    matches: whole === undefined ? sorted(patterns).map((pattern) => [pattern, patternDigest(pattern, tree)]) : [],
  }));
  return hash.update(JSON.stringify(parts)).digest("hex");
}

function sorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

/** Many applications read the same directories, some of them the whole repository. */
function pathDigest(path: string, tree: OpenedTree): string {
  return tree.digest(`path ${path}`, () => digestOf([...entriesAbove(path, tree), ...tree.entriesIn(path)]));
}

function patternDigest(pattern: string, tree: RepositoryTree): string {
  const directory = fixedPart(pattern);
  return digestOf([
    ...entriesAbove(directory, tree),
    ...tree
      .entriesIn(directory)
      .filter(({ path, kind }) => kind !== "file" || matchesGlob(pattern, path, { doubleStar: true })),
  ]);
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

/**
 * Repositories, and files that are fetched from elsewhere. Of several kinds of sources, all count.
 * @param isPath without it, every entry of Kustomize counts as an address.
 */
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
  return [source, ...(Array.isArray(sources) ? (sources as readonly Json[]) : [])].flatMap((one) =>
    isJsonObject(one) && one.plugin !== undefined ? [JSON.stringify(one.plugin)] : [],
  );
}

/** The other sources whose files it names, as `$values`. */
export function referencesIn({ helm }: Pick<Source, "helm">): readonly string[] {
  const files = [...(helm?.valueFiles ?? []), ...(helm?.fileParameters ?? [])];
  return files.flatMap((file) => /^\$[\w-]+(?=\/)/.exec(file) ?? []);
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

function labelOf({ chart, repoURL, targetRevision }: Source): string {
  const from = redactUserInfo(repoURL);
  return `${chart === undefined ? from : `the chart ${chart} of ${from}`} at ${targetRevision || "its newest revision"}`;
}

function isContentPinned({ chart, repoURL, targetRevision }: Source): boolean {
  if (/^\s*oci:/i.test(repoURL)) return /^sha256:[0-9a-f]{64}$/.test(targetRevision);
  return chart === undefined && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(targetRevision);
}

/** Whether a chart's version names exactly one package: no range, no `v1`, no `latest`. */
export function isExactVersion(version: string): boolean {
  return /^v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.test(version);
}

function isPinned({ chart, repoURL, targetRevision }: Source): boolean {
  if (/^\s*oci:/i.test(repoURL)) return isExactVersion(targetRevision) || /^sha256:[0-9a-f]{64}$/.test(targetRevision);
  if (chart !== undefined) return isExactVersion(targetRevision);
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(targetRevision);
}
