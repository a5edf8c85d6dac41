import { matchesGlob } from "../tree/path-glob.js";
import { isWithin, parentOf } from "../tree/repository-path.js";

/** The files of the change request's repository that an application is rendered from, source by source. */
export type InputSet = readonly InputPart[];

/** What one source reads, from its own repository and through `$ref/…` from others. */
export interface InputPart {
  /** 1-based position of the source that reads. */
  readonly position: number;
  /** Clean `path` of that source: what entries of `manifest-generate-paths` are relative to. */
  readonly sourcePath: string;
  /** Why the whole repository has to count as its input; undefined when its inputs are known. */
  readonly whole: string | undefined;
  /** Files, and directories with everything below them. */
  readonly paths: readonly string[];
  readonly patterns: readonly string[];
  /** It reads something that no commit of this repository decides: a URL, a remote base, a chart without a fixed version. */
  readonly remote: boolean;
}

/** Collects a part; the first reason to give up wins. */
export interface InputCollector {
  addPath(path: string): void;
  addPattern(pattern: string): void;
  addWhole(reason: string): void;
  addRemote(): void;
  readonly part: InputPart;
}

export function collectInputs(position: number, sourcePath: string): InputCollector {
  let whole: string | undefined;
  let remote = false;
  const paths = new Set<string>();
  const patterns = new Set<string>();
  return {
    addPath: (path) => void paths.add(path),
    addPattern: (pattern) => void patterns.add(pattern),
    addWhole: (reason) => (whole ??= reason),
    addRemote: () => (remote = true),
    get part() {
      return { position, sourcePath, whole, paths: [...paths], patterns: [...patterns], remote };
    },
  };
}

/** Whether any changed path is an input. */
export function touches(inputs: InputSet, changedPaths: readonly string[]): boolean {
  return inputs.some((part) => touchesPart(part, changedPaths));
}

/** The changed paths that are inputs, in their order. */
export function touchedPaths(inputs: InputSet, changedPaths: readonly string[]): readonly string[] {
  const touched = inputs.filter((part) => touchesPart(part, changedPaths));
  return changedPaths.filter((path) => touched.some((part) => isTouchedBy(part, path)));
}

/** The same for one path, without an index. */
function isTouchedBy(part: InputPart, path: string): boolean {
  return (
    part.whole !== undefined ||
    part.paths.some((one) => isWithin(path, one) || isWithin(one, path)) ||
    part.patterns.some((pattern) => matchesPattern(pattern, path))
  );
}

function touchesPart(part: InputPart, changedPaths: readonly string[]): boolean {
  if (changedPaths.length === 0) return false;
  if (part.whole !== undefined) return true;
  return (
    touchesAny(part.paths, changedPaths) ||
    part.patterns.some((pattern) => changedPaths.some((path) => matchesPattern(pattern, path)))
  );
}

/** Whether any changed path is at, above or below one of these. */
export function touchesAny(paths: readonly string[], changedPaths: readonly string[]): boolean {
  if (changedPaths.length === 0) return false;
  const { changed, holding } = indexOf(changedPaths);
  return paths.some((path) => holding.has(path) || selfAndParents(path).some((one) => changed.has(one)));
}

interface ChangeIndex {
  readonly changed: ReadonlySet<string>;
  /** The changed paths and every directory that holds one. */
  readonly holding: ReadonlySet<string>;
}

const indexes = new WeakMap<readonly string[], ChangeIndex>();

/** Thousands of applications are held against one list of changes. */
function indexOf(changedPaths: readonly string[]): ChangeIndex {
  const known = indexes.get(changedPaths);
  if (known !== undefined) return known;
  const index = { changed: new Set(changedPaths), holding: new Set(changedPaths.flatMap(selfAndParents)).add("") };
  indexes.set(changedPaths, index);
  return index;
}

/** A changed submodule, or a link that becomes a directory, changes everything below it. */
function selfAndParents(path: string): readonly string[] {
  const all: string[] = [];
  for (let one = path; one !== ""; one = parentOf(one)) all.push(one);
  return all;
}

function matchesPattern(pattern: string, path: string): boolean {
  return matchesGlob(pattern, path, { doubleStar: true }) || isBelowChange(pattern, path);
}

function isBelowChange(pattern: string, path: string): boolean {
  const directory = fixedPart(pattern);
  return directory !== "" && isWithin(directory, path);
}

/** The directory that everything a pattern matches is in. */
export function fixedPart(pattern: string): string {
  const parts = pattern.split("/");
  const first = parts.findIndex((part) => /[*?[{\\]/.test(part));
  return first === -1 ? pattern : parts.slice(0, first).join("/");
}
