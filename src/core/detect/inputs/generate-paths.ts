import type { Application } from "../../model/application.js";
import { ChangedPaths } from "../../model/collections.js";
import type { InputPart, InputSet } from "../../model/input-set.js";
import { directoriesAbove, globMatcher, hasGlob, isWithin, parentOf } from "../tree/repository-path.js";
import { fixedPart, type GeneratePath, generatePathEntries, mostSteps, touchedPaths } from "./input-set.js";

/** The paths that differ between two commits, and which of them git names to Argo CD. */
interface Changes {
  readonly paths: readonly string[];
  /** Those that git prints as they are, whatever files moved. */
  readonly plain: readonly string[];
  /** All that git prints, which is what Argo CD knows: `ChangedFiles` of v3.5 runs `git diff --name-only`. */
  readonly printed: () => Promise<readonly string[]>;
}

/** Changed inputs that the annotation does not cover. */
interface Uncovered {
  readonly files: readonly string[];
  /** The entries to add to the annotation, separated by `;`. Undefined if all are there, some with spaces around them, and if `unnamed`. */
  readonly missingEntry: string | undefined;
  /** git shows Argo CD none of the files by its name. */
  readonly unnamed?: true;
}

/**
 * The changed inputs that Argo CD would not notice: it reuses the manifests of an older commit and reports a success that
 * applied nothing (seen on Argo CD v2.13 and v3.5). Undefined if any changed file matches, since Argo CD then renders
 * everything. Each source is checked separately, with what it reads through `$ref` and with what changed since the commit
 * that Argo CD compared last.
 */
export async function uncoveredByGeneratePaths(
  application: Pick<Application, "annotations">,
  inputs: InputSet,
  changedSince: (part: InputPart) => Changes,
): Promise<Uncovered | undefined> {
  const files = new Set<string>();
  const named = new Set<string>();
  let isMissing = false;
  for (const part of inputs) {
    const entries = generatePathEntries(application.annotations, part.sourcePath);
    if (entries === undefined) continue;
    const { paths, plain, printed } = changedSince(part);
    const isSure = (covering: readonly GeneratePath[]) => covering.some(({ spaced }) => !spaced);
    if (isSure(covering(entries, plain))) continue;
    const touched = touchedPaths([part], new ChangedPaths(paths));
    if (touched.length === 0) continue;
    const names = await printed();
    const found = covering(entries, names);
    if (isSure(found)) continue;
    const noticed = new Set(names);
    for (const path of touched) files.add(path);
    for (const path of touched) if (noticed.has(path)) named.add(path);
    isMissing ||= found.length === 0;
  }
  if (files.size === 0) return undefined;
  if (isMissing && named.size === 0) return { files: [...files], missingEntry: undefined, unnamed: true };
  return { files: [...files], missingEntry: isMissing ? missingEntry([...named]) : undefined };
}

/** The entries that cover a name, by `AppFilesHaveChanged` of Argo CD v3.5: the file itself, one below the directory, or a match. */
function covering(entries: readonly GeneratePath[], names: readonly string[]): readonly GeneratePath[] {
  if (names.length === 0) return [];
  const [files, folders] = [new Set(names.map((name) => `/${name}`)), directoriesAbove(names)];
  const steps = mostSteps();
  return entries.filter(({ directory, pattern }) => {
    if (files.has(pattern) || folders.has(directory)) return true;
    if (!hasGlob(pattern) || !folders.has(fixedPart(directory))) return false;
    return [...files].some(globMatcher(pattern, { doubleStar: false }, steps));
  });
}

const MAX_ENTRIES = 5;

/** The directories of the files, or their common parent if there are many. */
function missingEntry(files: readonly string[]): string {
  const directories = new Set(files.map((file) => parentOf(file) || file));
  const outermost = [...directories].filter(
    (one) => ![...directoriesAbove([one])].some((other) => directories.has(other)),
  );
  const entries = outermost.length <= MAX_ENTRIES ? outermost : [commonDirectory(outermost)];
  return entries.map((entry) => `/${entry}`).join(";");
}

function commonDirectory(paths: readonly string[]): string {
  let common = paths[0] ?? "";
  while (!paths.every((path) => isWithin(path, common))) common = parentOf(common);
  return common;
}
