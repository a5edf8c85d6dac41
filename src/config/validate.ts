import type * as z from "zod";
import { type ConfigProblem, keyPath, type Place } from "./problem.js";
import type { ConfigTree, MapTree } from "./yaml-tree.js";

/** The value, or every mistake with its place. */
export type Validated<T> =
  | { readonly kind: "valid"; readonly value: T }
  | { readonly kind: "invalid"; readonly problems: readonly ConfigProblem[] };

/** Checks a tree against a schema. */
export function validate<T>(tree: MapTree, schema: z.ZodType<T>): Validated<T> {
  const result = schema.safeParse(plainValue(tree));
  if (result.success) return { kind: "valid", value: result.data };
  const problems = result.error.issues.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") return [problemAt(tree, issue.path, issue.message)];
    const messages = issue.message.split("\n");
    return issue.keys.map((key, index) =>
      problemAt(tree, [...issue.path, key], messages[index] ?? "unknown key", true),
    );
  });
  return { kind: "invalid", problems };
}

/** A problem at the value of a path (with `atKey`: at its key), or at the nearest enclosing section. */
export function problemAt(
  tree: ConfigTree,
  path: readonly PropertyKey[],
  message: string,
  atKey = false,
): ConfigProblem {
  return { ...placeOf(tree, path, atKey), key: keyPath(path), message };
}

/** The value at a path of keys, if any. */
export function treeAt(tree: ConfigTree, path: readonly string[]): ConfigTree | undefined {
  let current: ConfigTree | undefined = tree;
  for (const part of path) current = current?.kind === "map" ? current.entries.get(part)?.value : undefined;
  return current;
}

function placeOf(tree: ConfigTree, path: readonly PropertyKey[], atKey: boolean): Place {
  let current = tree;
  let place = tree.at;
  for (const part of path) {
    if (current.kind === "map") {
      const entry = current.entries.get(String(part));
      if (entry === undefined) return place;
      current = entry.value;
      place = atKey ? entry.keyAt : current.at;
    } else if (current.kind === "list") {
      const item = current.items[Number(part)];
      if (item === undefined) return place;
      current = item;
      place = item.at;
    } else return place;
  }
  return place;
}

function plainValue(tree: ConfigTree): unknown {
  switch (tree.kind) {
    case "map":
      return Object.fromEntries([...tree.entries].map(([key, { value }]) => [key, plainValue(value)]));
    case "list":
      return tree.items.map(plainValue);
    case "scalar":
      return tree.value;
  }
}

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** `T` with its `snake_case` keys in `camelCase`. */
export type CamelKeys<T> = T extends readonly (infer Item)[]
  ? readonly CamelKeys<Item>[]
  : T extends object
    ? { readonly [Key in keyof T as Key extends string ? Camel<Key> : never]: CamelKeys<T[Key]> }
    : T;

/** Renames the keys of a file's value from `snake_case` to `camelCase`, at every depth. */
export function camelKeys<T>(value: T): CamelKeys<T> {
  return convert(value) as CamelKeys<T>;
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [camel(key), convert(member)]));
}

function camel(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
