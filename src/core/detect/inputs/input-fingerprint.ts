import { createHash } from "node:crypto";
import type { InputSet } from "../../model/input-set.js";
import type { TreeEntry } from "../../ports/repositories.js";
import type { OpenedTree, RepositoryTree } from "../../ports/snapshot.js";
import { matchesGlob } from "../tree/path-glob.js";
import { parentOf } from "../tree/repository-path.js";
import { fixedPart } from "./input-set.js";

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
