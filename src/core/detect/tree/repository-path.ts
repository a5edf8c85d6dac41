import type { TreeEntry } from "../../ports/repositories.js";

/**
 * A path relative to the repository's root: `.` and `..` resolved, slashes collapsed, no slash at either end. The root is
 * empty. As in Argo CD, `..` above the root stays at the root.
 */
export function cleanPath(...parts: readonly string[]): string {
  const joined = parts.join("/");
  if (!UNCLEAN.test(joined)) return joined;
  const cleaned: string[] = [];
  for (const part of joined.split("/")) {
    if (part === "..") cleaned.pop();
    else if (part !== "" && part !== ".") cleaned.push(part);
  }
  return cleaned.join("/");
}

/** An empty component, `.` or `..`. Few paths have one, and a plan cleans tens of thousands. */
const UNCLEAN = /(?:^|\/)\.{0,2}(?:\/|$)/;

/** Whether a path is the directory or below it. The empty directory is the whole repository. */
export function isWithin(path: string, directory: string): boolean {
  return directory === "" || path === directory || path.startsWith(`${directory}/`);
}

/** The directory that holds a path; empty for the root. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Index of the first entry at or after this path in sorted order; the number of entries if there is none. */
export function firstAtOrAfter(entries: readonly TreeEntry[], path: string): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.path ?? "") < path) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Decides line ends, filters and encodings of everything in its directory and below. */
export const ATTRIBUTES_FILE = ".gitattributes";
/** Where submodules come from. */
export const SUBMODULES = ".gitmodules";
/** Where submodules and large files come from, for the whole repository. */
const OF_THE_REPOSITORY = [SUBMODULES, ".lfsconfig"] as const;

/**
 * The files outside of a path that decide what a checkout contains there: two commits with the same content at the path
 * may still be checked out differently. Those inside of a directory belong to it anyway.
 */
export function checkoutFilesOf(path: string): readonly string[] {
  const files: string[] = [...OF_THE_REPOSITORY];
  for (let directory = parentOf(path); ; directory = parentOf(directory)) {
    files.push(cleanPath(directory, ATTRIBUTES_FILE));
    if (directory === "") return files;
  }
}

export function isAttributesFile(path: string): boolean {
  return path === ATTRIBUTES_FILE || path.endsWith(`/${ATTRIBUTES_FILE}`);
}

/** Whether a file decides what a checkout contains at this path or below it. */
export function decidesCheckoutOf(path: string, file: string): boolean {
  const decides = isAttributesFile(file) || OF_THE_REPOSITORY.some((one) => one === file);
  return decides && (isWithin(path, parentOf(file)) || isWithin(file, path));
}
