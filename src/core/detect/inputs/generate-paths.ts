import type { Application } from "../../model/application.js";
import { ChangedPaths, type InputPart, type InputSet } from "../../model/input-set.js";
import { hasGlob, matchesGlob } from "../tree/path-glob.js";
import { cleanPath, isWithin, parentOf } from "../tree/repository-path.js";
import { touchedPaths } from "./input-set.js";

/** Argo CD ignores a commit unless a changed file matches an entry of this annotation. */
export const GENERATE_PATHS_ANNOTATION = "argocd.argoproj.io/manifest-generate-paths";

/** Changed inputs that the annotation does not cover. */
interface Uncovered {
  readonly files: readonly string[];
  /** The entries to add to the annotation, separated by `;`. */
  readonly missingEntry: string;
}

/** An entry of the annotation as Argo CD compares it with a changed file. */
interface GeneratePath {
  /** Clean path from the repository's root: everything below it matches. */
  readonly directory: string;
  /** For Go's `filepath.Match`, from the root with a leading `/`. It also matches itself literally. */
  readonly pattern: string;
}

/**
 * The entries for a source with this path; undefined without the annotation. `/x` is relative to the root, any other entry
 * to the source's path, which is the root for a `ref` source. Paths that climb above the root stop there.
 * https://argo-cd.readthedocs.io/en/stable/operator-manual/high_availability/#manifest-paths-annotation and
 * `GetSourceRefreshPaths` of Argo CD v3.5.
 */
export function generatePathEntries(
  annotations: Readonly<Record<string, string>>,
  sourcePath: string,
): readonly GeneratePath[] | undefined {
  const entries = (annotations[GENERATE_PATHS_ANNOTATION] ?? "")
    .split(";")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  if (entries.length === 0) return undefined;
  return entries.map((entry) => {
    // Only a relative entry is cleaned before it is used as a pattern.
    if (entry.startsWith("/")) return { directory: cleanPath(entry), pattern: entry };
    const directory = cleanPath(sourcePath, entry);
    return { directory, pattern: `/${directory}` };
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
 * The changed inputs that Argo CD would not notice: it reuses the manifests of an older commit and reports a success that
 * applied nothing (seen on Argo CD v2.13 and v3.5). Undefined if any changed file matches, since Argo CD then renders
 * everything. Each source is checked separately, with what it reads through `$ref` and with what changed since the commit
 * that Argo CD compared last.
 */
export function uncoveredByGeneratePaths(
  application: Pick<Application, "annotations">,
  inputs: InputSet,
  changedSince: (part: InputPart) => readonly string[],
): Uncovered | undefined {
  const files = new Set<string>();
  for (const part of inputs) {
    const entries = generatePathEntries(application.annotations, part.sourcePath);
    if (entries === undefined) continue;
    const changedPaths = changedSince(part);
    if (changedPaths.some((path) => entries.some((entry) => covers(entry, path)))) continue;
    for (const path of touchedPaths([part], new ChangedPaths(changedPaths))) files.add(path);
  }
  return files.size === 0 ? undefined : { files: [...files], missingEntry: missingEntry([...files]) };
}

/** `AppFilesHaveChanged` of Argo CD v3.5: the file itself, one below the directory, or a match. */
function covers({ directory, pattern }: GeneratePath, path: string): boolean {
  const file = `/${path}`;
  return file === pattern || isWithin(parentOf(path), directory) || matchesGlob(pattern, file, { doubleStar: false });
}

const MAX_ENTRIES = 5;

/** The directories of the files, or their common parent if there are many. */
function missingEntry(files: readonly string[]): string {
  const directories = [...new Set(files.map((file) => parentOf(file) || file))];
  const outermost = directories.filter((one) => !directories.some((other) => other !== one && isWithin(one, other)));
  const entries = outermost.length <= MAX_ENTRIES ? outermost : [commonDirectory(outermost)];
  return entries.map((entry) => `/${entry}`).join(";");
}

function commonDirectory(paths: readonly string[]): string {
  let common = paths[0] ?? "";
  while (!paths.every((path) => isWithin(path, common))) common = parentOf(common);
  return common;
}
