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
