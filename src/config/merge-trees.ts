import type { ConfigTree, MapTree } from "./yaml-tree.js";

/** Puts a later file over an earlier one: maps key by key at every depth; lists and single values are replaced. */
export function mergeTrees(earlier: MapTree, later: MapTree): MapTree {
  const entries = new Map(earlier.entries);
  for (const [key, entry] of later.entries) {
    const before = entries.get(key);
    entries.set(key, before === undefined ? entry : { ...entry, value: mergeValues(before.value, entry.value) });
  }
  return { ...later, entries };
}

function mergeValues(earlier: ConfigTree, later: ConfigTree): ConfigTree {
  if (earlier.kind === "map" && later.kind === "map") return mergeTrees(earlier, later);
  // A section without keys takes nothing away.
  const emptySection = earlier.kind === "map" && later.kind === "scalar" && later.value === null;
  return emptySection ? earlier : later;
}
