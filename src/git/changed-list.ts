import { firstAtOrAfter } from "../core/detect/tree/sorted-entries.js";
import type { TreeEntry } from "../core/ports/repositories.js";

/** Paths that differ between two commits, each with its entry at the second; undefined where the path is no entry there. */
export type TreeChanges = ReadonlyMap<string, TreeEntry | undefined>;

/** What stands for bytes that are no UTF-8, so that two different names can be one path. */
const UNREADABLE = "\uFFFD";

/**
 * The sorted entries of a commit by those of another one; what is the same stays the same object. Undefined when a
 * changed path may stand for several.
 */
export function changedList(entries: readonly TreeEntry[], changes: TreeChanges): readonly TreeEntry[] | undefined {
  const paths = [...changes.keys()].sort();
  if (paths.some((path) => path.includes(UNREADABLE))) return undefined;
  const merged: TreeEntry[] = [];
  let taken = 0;
  for (const path of paths) {
    const at = firstAtOrAfter(entries, path);
    for (const entry of entries.slice(taken, at)) merged.push(entry);
    const entry = changes.get(path);
    if (entry !== undefined) merged.push(entry);
    taken = entries[at]?.path === path ? at + 1 : at;
  }
  for (const entry of entries.slice(taken)) merged.push(entry);
  return merged;
}
