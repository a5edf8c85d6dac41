/** JSON; undefined members count as absent. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object at the path, or a new empty object. */
export function objectAt(value: unknown, ...path: string[]): JsonObject {
  let at: unknown = value;
  for (const key of path) at = isObject(at) ? at[key] : undefined;
  return isObject(at) ? at : {};
}

export function stringAt(value: unknown, ...path: string[]): string | undefined {
  let at: unknown = value;
  for (const key of path) at = isObject(at) ? at[key] : undefined;
  return typeof at === "string" ? at : undefined;
}

/** The list at the path, or an empty one. */
export function listAt(value: unknown, ...path: string[]): Json[] {
  let at: unknown = value;
  for (const key of path) at = isObject(at) ? at[key] : undefined;
  return Array.isArray(at) ? (at as Json[]) : [];
}

/** A string as it is, an empty string for null, JSON for anything else. */
export function textOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function copy<T>(value: T): T {
  return structuredClone(value);
}

/** JSON with sorted keys and no white space, as Go writes maps. */
export function sortedText(value: Json | undefined): string {
  return JSON.stringify(sorted(value ?? null));
}

export function same(left: Json | undefined, right: Json | undefined): boolean {
  return sortedText(left) === sortedText(right);
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return Object.fromEntries(keys.sort().map((key) => [key, sorted(value[key] ?? null)]));
}

/** JSON merge patch, RFC 7386. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return copy(patch);
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    // An undefined member is left out of the result.
    if (value === null || value === undefined) result[key] = undefined;
    else result[key] = mergePatch(result[key], value);
  }
  return pruned(result);
}

/** The object without undefined members. */
export function pruned(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

/** The object without the members that Go omits: empty strings, lists and maps, zeros, false and null. */
export function zeroless(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => {
      if (member === undefined || member === null || member === "" || member === 0 || member === false) return false;
      return Array.isArray(member) ? member.length > 0 : !isObject(member) || Object.keys(member).length > 0;
    }),
  );
}

/** The object without the named members. */
export function omit(value: JsonObject, ...names: string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}
