import { cleanPath, isWithin, parentOf } from "./repository-path.js";

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
