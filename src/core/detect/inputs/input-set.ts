import type { ChangedPaths } from "../../model/changed-paths.js";
import type { InputPart, InputSet } from "../../model/input-set.js";
import { matchesGlob } from "../tree/path-glob.js";
import { isWithin } from "../tree/repository-path.js";

/** Collects a part. The first reason of `addWhole` counts. */
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
export function touches(inputs: InputSet, changed: ChangedPaths): boolean {
  return inputs.some((part) => touchesPart(part, changed));
}

/** The changed paths that are inputs, in their order. */
export function touchedPaths(inputs: InputSet, changed: ChangedPaths): readonly string[] {
  const touched = inputs.filter((part) => touchesPart(part, changed));
  return changed.paths.filter((path) => touched.some((part) => isTouchedBy(part, path)));
}

/** `touchesPart` for a single path, without an index. */
function isTouchedBy(part: InputPart, path: string): boolean {
  return (
    part.whole !== undefined ||
    part.paths.some((one) => isWithin(path, one) || isWithin(one, path)) ||
    part.patterns.some((pattern) => matchesPattern(pattern, path))
  );
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
