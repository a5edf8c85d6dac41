/** JSON as it travels; members may be undefined so that absent ones can be written plainly. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member if it is an object, else an empty one that is not attached to anything. */
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

/** The member as a list, empty when it is none. */
export function listAt(value: unknown, ...path: string[]): Json[] {
  let at: unknown = value;
  for (const key of path) at = isObject(at) ? at[key] : undefined;
  return Array.isArray(at) ? (at as Json[]) : [];
}

/** Text as it is, nothing for null, JSON for everything else. */
export function textOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function copy<T>(value: T): T {
  return structuredClone(value);
}

/** Keys sorted and no white space, as Go writes maps. */
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
    // `delete` would need a computed key; an undefined member is left out of every text.
    if (value === null || value === undefined) result[key] = undefined;
    else result[key] = mergePatch(result[key], value);
  }
  return pruned(result);
}

/** The object without its undefined members. */
export function pruned(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

/** The object without members that Go leaves out: empty texts, lists, maps, zeros, false and null. */
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
