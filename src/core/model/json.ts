import type { Brand } from "./brand.js";

/** Plain JSON, as exchanged with other programs. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** A value as JSON. Large values are kept and passed between threads like this: a text is cheap to copy, objects are not. */
export type JsonText<T> = Brand<string, "JsonText"> & { readonly [value]?: T };
declare const value: unique symbol;

export function jsonText<T>(of: T): JsonText<T> {
  return JSON.stringify(of) as JsonText<T>;
}

export function readJsonText<T>(text: JsonText<T>): T {
  return JSON.parse(text) as T;
}

/** Whether a value has more than so many levels of lists and maps; functions that recurse need a limit. */
export function isNestedDeeper(than: number, inside: unknown): boolean {
  if (typeof inside !== "object" || inside === null) return false;
  return than === 0 || Object.values(inside).some((member) => isNestedDeeper(than - 1, member));
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of a JSON text; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Compares as JSON: the order of keys does not matter, and an undefined member equals a missing one. */
export function jsonEqual(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    const [lefts, rights] = [left as readonly Json[], right as readonly Json[]];
    return lefts.length === rights.length && lefts.every((item, at) => jsonEqual(item, rights[at]));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  return hasMembersOf(left, right) && Object.keys(right).every((key) => right[key] === undefined || isOwn(left, key));
}

function hasMembersOf(left: JsonObject, right: JsonObject): boolean {
  return Object.keys(left).every((key) => jsonEqual(left[key], isOwn(right, key) ? right[key] : undefined));
}

function isOwn(object: JsonObject, key: string): boolean {
  return Object.hasOwn(object, key);
}

/** Canonical JSON: keys sorted, no white space. Empty for undefined. */
export function canonicalJson(value: Json | undefined): string {
  return value === undefined ? "" : JSON.stringify(sortedKeys(value));
}

/** Sorts the keys of every object. */
export function sortedKeys(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(sortedKeys);
  if (!isJsonObject(value)) return value;
  const entries: (readonly [string, Json])[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) entries.push([key, sortedKeys(member)]);
  }
  return Object.fromEntries(entries);
}
