import fc from "fast-check";

type Path = readonly (string | number)[];

/** Values of every kind, some of which each key takes. */
const VALUES: readonly unknown[] = [
  null,
  true,
  "true",
  0,
  1,
  65_536,
  1.5,
  "",
  " ",
  "x",
  " x",
  "1",
  "0s",
  "10m",
  "a/b",
  "a/b/",
  "*",
  "a:1",
  "a.example",
  "info",
  "rebase",
  "http://a b",
  "https://a.example/",
  "${V}",
  "x${V}",
  "$${V}",
  "${",
  [],
  ["x"],
  ["a/b"],
  [1],
  {},
  { name: "x" },
];

/** A copy of a tree with one of its values, or one of its keys, replaced. */
export function changed(start: unknown): fc.Arbitrary<unknown> {
  const paths = pathsOf(start, []);
  return fc
    .tuple(fc.constantFrom(...paths), fc.constantFrom(...VALUES), fc.constantFrom("value", "key", "gone"))
    .map(([path, value, what]) => {
      switch (what) {
        case "value":
          return replaced(start, path, () => value);
        case "key":
          return replaced(start, [...path.slice(0, -1), `${path.at(-1) ?? ""}x`], () => value);
        case "gone":
          return replaced(start, path, () => undefined);
      }
    });
}

function pathsOf(value: unknown, path: Path): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const inside = Object.entries(value).flatMap(([key, member]) =>
    pathsOf(member, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return path.length === 0 ? inside : [path, ...inside];
}

function replaced(value: unknown, [first, ...rest]: Path, change: () => unknown): unknown {
  if (first === undefined) return change();
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => (index === first ? replaced(item, rest, change) : item));
  }
  const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const changed = replaced(new Map(members).get(String(first)), rest, change);
  return { ...Object.fromEntries(members), [first]: changed };
}
