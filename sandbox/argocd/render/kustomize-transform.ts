import { applyJsonPatch } from "../json-patch.js";
import { isObject, listAt, objectAt, same, stringAt, type Json, type JsonObject } from "../json.js";
import { groupOf, keyOf, type Manifest } from "../manifest.js";
import { readObjects } from "./yaml-documents.js";

/** Strategic merge, near enough: maps are merged, lists of named items by `name`, other lists replaced, null deletes. */
export function strategicMerge(target: Json | undefined, patch: Json): Json {
  if (
    Array.isArray(patch) &&
    Array.isArray(target) &&
    [...patch, ...target].every((item) => isObject(item) && "name" in item)
  ) {
    const merged = target.map((item) => {
      const change = patch.find((other) => isObject(other) && isObject(item) && same(other.name, item.name));
      return change === undefined ? item : strategicMerge(item, change);
    });
    const added = patch.filter(
      (item) => !target.some((other) => isObject(other) && isObject(item) && same(other.name, item.name)),
    );
    return [...merged, ...added].filter((item) => !isObject(item) || item.$patch !== "delete");
  }
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) result[key] = undefined;
    else result[key] = strategicMerge(result[key], value);
  }
  return Object.fromEntries(Object.entries(result).filter(([, value]) => value !== undefined));
}

/** One entry of `patches`: a strategic merge or a list of JSON patch operations, on a target or on the object it names. */
export function applyPatch(manifests: Manifest[], text: string, target: JsonObject | undefined): Manifest[] {
  const operations: unknown = text.trimStart().startsWith("-") ? readList(text) : undefined;
  if (Array.isArray(operations)) {
    return manifests.map((manifest) =>
      target !== undefined && matches(manifest, target)
        ? (applyJsonPatch(manifest, operations as JsonObject[]) as Manifest)
        : manifest,
    );
  }
  return readObjects(text).reduce<Manifest[]>((all, patch) => {
    const chosen = (manifest: Manifest): boolean =>
      target === undefined || Object.keys(target).length === 0
        ? same(identity(manifest), identity(patch))
        : matches(manifest, target);
    if (!all.some(chosen)) {
      throw new Error(`no resource matches strategic merge patch "${stringAt(patch, "metadata", "name") ?? ""}"`);
    }
    if (patch.$patch === "delete") return all.filter((manifest) => !chosen(manifest));
    const { apiVersion, kind, metadata, ...rest } = patch;
    const { name, namespace, ...changes } = objectAt(metadata);
    const change: JsonObject =
      target === undefined
        ? { ...rest, apiVersion, kind, metadata: { ...changes, name, namespace } }
        : { ...rest, metadata: changes };
    return all.map((manifest) =>
      chosen(manifest) ? (strategicMerge(manifest, withoutUndefined(change)) as Manifest) : manifest,
    );
  }, manifests);
}

function withoutUndefined(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

function readList(text: string): Json[] {
  return listAt(readObjects(`items:\n${text}`)[0], "items");
}

function identity(manifest: Manifest): Json {
  const { group, kind, name } = keyOf(manifest, "");
  return [group, kind, name];
}

function matches(manifest: Manifest, target: JsonObject): boolean {
  const { kind, name, namespace } = keyOf(manifest, "");
  const is = (pattern: Json | undefined, value: string): boolean =>
    pattern === undefined || (typeof pattern === "string" && new RegExp(`^(?:${pattern})$`).test(value));
  if (!is(target.kind, kind) || !is(target.name, name) || !is(target.group, groupOf(manifest))) return false;
  return target.namespace === undefined || target.namespace === namespace;
}

/** Sets labels where kustomize's `commonLabels` does: on the object, its selector and its pod template. */
export function withLabels(manifest: Manifest, labels: JsonObject, selectors: boolean): Manifest {
  if (Object.keys(labels).length === 0) return manifest;
  const labelled = merged(manifest, ["metadata", "labels"], labels);
  if (!selectors || !isObject(manifest.spec)) return labelled;
  const kind = stringAt(manifest, "kind");
  const template = isObject(manifest.spec.template)
    ? merged(labelled, ["spec", "template", "metadata", "labels"], labels)
    : labelled;
  if (kind === "Service") return merged(template, ["spec", "selector"], labels);
  return isObject(manifest.spec.selector) ? merged(template, ["spec", "selector", "matchLabels"], labels) : template;
}

export function merged(holder: JsonObject, path: string[], members: JsonObject): JsonObject {
  const [key, ...rest] = path;
  if (key === undefined) return { ...holder, ...members };
  return { ...holder, [key]: merged(objectAt(holder, key), rest, members) };
}

/** Replaces a text everywhere it stands as `name`-like reference; used for generated names and images. */
export function mapTexts(value: Json, change: (text: string, key: string) => string, key = ""): Json {
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, key));
  if (isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, mapTexts(member ?? null, change, name)]),
    );
  }
  return typeof value === "string" ? change(value, key) : value;
}
