import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import { misspelledMember } from "../../model/member-names.js";

/** The members of a source that an override file can set. */
export const TOOLS = ["helm", "kustomize", "directory", "plugin"] as const;
/** It may name these, without effect. */
const IGNORED = new Set(["chart", "path", "repoURL", "targetRevision", "ref", "name", "tagPrefix"]);
/**
 * Lays an override over a source as Argo CD does (v3.5 `mergeSourceParameters`): a JSON merge patch, decoded by Go into the
 * source that is there. So lists are replaced, but an item takes over what only the earlier item at its place has, and
 * `null` removes nothing but free text.
 */
export function layOver(source: JsonObject, override: JsonObject): JsonObject {
  return decodeInto(source, mergePatch(source, override));
}

function decodeInto(known: JsonObject, merged: JsonObject): JsonObject {
  const members = Object.entries(merged).map(([key, value]) => [
    key,
    key === "valuesObject" ? value : decoded(Object.hasOwn(known, key) ? known[key] : undefined, value),
  ]);
  return { ...known, ...(Object.fromEntries(members) as JsonObject) };
}

function decoded(known: Json | undefined, value: Json | undefined): Json | undefined {
  if (isJsonObject(known) && isJsonObject(value)) return decodeInto(known, value);
  if (!Array.isArray(known) || !Array.isArray(value)) return value;
  const items = known as readonly Json[];
  return (value as readonly Json[]).map((item, at) => decoded(items[at], item) ?? null);
}

/** RFC 7396. */
function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = Object.entries(patch).map(([key, value]): readonly [string, Json | undefined] => {
    const known = Object.hasOwn(target, key) ? target[key] : undefined;
    if (value === null) return [key, undefined];
    return [key, isJsonObject(value) ? mergePatch(isJsonObject(known) ? known : {}, value) : value];
  });
  const members = Object.entries({ ...target, ...Object.fromEntries(merged) });
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

/** A key that is no member of a source, or that differs from a known one by its case only. */
export function misspelled(override: JsonObject): string | undefined {
  const tools: readonly string[] = TOOLS;
  const strange = Object.keys(override).find((key) => !tools.includes(key) && !IGNORED.has(key));
  return strange ?? misspelledMember(override)?.key;
}
