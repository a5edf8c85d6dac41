/** Plain JSON, as exchanged with other programs. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
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
  return canonicalJson(left) === canonicalJson(right);
}

/** Canonical JSON: keys sorted, no white space. Empty for undefined. */
export function canonicalJson(value: Json | undefined): string {
  return value === undefined ? "" : JSON.stringify(sortedKeys(value));
}

/** Sorts the keys of every object. */
export function sortedKeys(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(sortedKeys);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, member]) =>
    member === undefined ? [] : [[key, sortedKeys(member)] as const],
  );
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)));
}
