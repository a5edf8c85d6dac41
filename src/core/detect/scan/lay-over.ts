import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";

/** The members of a source that an override file can set. */
export const TOOLS = ["helm", "kustomize", "directory", "plugin"] as const;
/** It may name these, without effect. */
const IGNORED = new Set(["chart", "path", "repoURL", "targetRevision", "ref", "name", "tagPrefix"]);
/** Argo CD decodes these as free text; all others have a type of their own, and Go's rules hold. */
const FREE = new Set(["valuesObject", "commonLabels", "commonAnnotations"]);
/** The members that are not free text. Go finds them in any spelling of upper and lower case, and this project only in one. */
const NAMES = new Map(
  [
    ...["helm", "kustomize", "directory", "plugin", "name", "value", "path", "namespace", "version", "parameters"],
    ...["valueFiles", "releaseName", "values", "fileParameters", "passCredentials", "ignoreMissingValueFiles"],
    ...["skipCrds", "valuesObject", "kubeVersion", "apiVersions", "skipTests", "skipSchemaValidation", "forceString"],
    ...["namePrefix", "nameSuffix", "images", "commonLabels", "commonAnnotations", "commonAnnotationsEnvsubst"],
    ...["forceCommonLabels", "forceCommonAnnotations", "labelWithoutSelector", "labelIncludeTemplates", "replicas"],
    ...[
      "count",
      "components",
      "ignoreMissingComponents",
      "patches",
      "patch",
      "target",
      "options",
      "recurse",
      "jsonnet",
    ],
    ...["exclude", "include", "libs", "tlas", "extVars", "code", "env", "string", "array", "map"],
  ].map((name) => [folded(name), name]),
);

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
  return strange ?? Object.values(override).flatMap((value) => misspelledIn(value))[0];
}

function misspelledIn(value: Json | undefined): readonly string[] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(misspelledIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    if ((NAMES.get(folded(key)) ?? key) !== key) return [key];
    return FREE.has(key) ? [] : misspelledIn(member);
  });
}

/** Upper case first: Go also takes letters such as `ſ` for those that they become. */
function folded(key: string): string {
  return key.toUpperCase().toLowerCase();
}
