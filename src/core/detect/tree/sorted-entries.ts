import type { TreeEntry } from "../../ports/repositories.js";

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
