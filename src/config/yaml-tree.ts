import {
  type Alias,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  type YAMLError,
  type YAMLMap,
} from "yaml";
import type * as z from "zod";
import { composeYaml, YAML_LIMITS, YamlRefused } from "./bounded-yaml.js";

/** A position in a configuration file; lines and columns count from 1. */
interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A mistake in a configuration file. Never contains a value, which may be a secret. */
export interface ConfigProblem extends Place {
  /** Path of the key, such as `auth.basic.users[0].role`; empty for the file as a whole. */
  readonly key: string;
  readonly message: string;
}

/** Mistakes beyond this are counted, not listed. */
export const MOST_PROBLEMS = 50;

/** Formats a problem as `file:line:column key: message`. The caller escapes it. */
export function describeProblem(problem: ConfigProblem): string {
  const key = problem.key === "" ? "" : `${problem.key}: `;
  return `${problem.file}:${problem.line}:${problem.column} ${key}${problem.message}`.replace(/\p{Cc}+/gu, " ");
}

/** Formats a path of keys and positions: `auth.basic.users[0].role`. */
export function keyPath(path: readonly PropertyKey[]): string {
  return path.map(pathPart).join("").replace(/^\./, "");
}

/** Sorts mistakes by file and line, without duplicates, up to `MOST_PROBLEMS`. */
export function orderedProblems(
  problems: readonly ConfigProblem[],
  files: readonly string[],
): readonly ConfigProblem[] {
  const unique = new Map(problems.map((problem) => [describeProblem(problem), problem]));
  const sorted = [...unique.values()].sort(
    (left, right) =>
      files.indexOf(left.file) - files.indexOf(right.file) || left.line - right.line || left.column - right.column,
  );
  const last = sorted[MOST_PROBLEMS];
  if (last === undefined) return sorted;
  const rest = sorted.length - MOST_PROBLEMS;
  return [...sorted.slice(0, MOST_PROBLEMS), { ...last, key: "", message: `${rest} more mistakes from here on` }];
}

function pathPart(part: PropertyKey): string {
  if (typeof part === "number") return `[${part}]`;
  const text = String(part);
  if (/^[\w-]{1,60}$/.test(text)) return `.${text}`;
  return `[${JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)}]`;
}

const DEEPEST = 20;
const MOST_NODES = 20_000;

export type ConfigTree = MapTree | ListTree | ScalarTree;

export interface MapTree {
  readonly kind: "map";
  readonly at: Place;
  readonly entries: ReadonlyMap<string, { readonly keyAt: Place; readonly value: ConfigTree }>;
}

interface ListTree {
  readonly kind: "list";
  readonly at: Place;
  readonly items: readonly ConfigTree[];
}

interface ScalarTree {
  readonly kind: "scalar";
  readonly at: Place;
  readonly value: unknown;
}

interface YamlRead {
  /** Undefined unless the text is a single YAML document with a map at its root. */
  readonly tree: MapTree | undefined;
  readonly problems: readonly ConfigProblem[];
}

/** Explains the parser's codes; its own messages quote the text, which may be a secret. */
const SYNTAX: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: "an alias (`*name`) is malformed",
  BAD_DQ_ESCAPE: "a double-quoted text holds an unknown escape; use single quotes or double the backslash",
  BAD_INDENT: "the indentation does not fit the lines above",
  BAD_SCALAR_START: "a text that begins with this character needs quotes",
  BLOCK_AS_IMPLICIT_KEY: "a value that holds `: ` needs quotes",
  MISSING_CHAR: "a colon, closing quote, bracket or comma is missing",
  MULTILINE_IMPLICIT_KEY: "a key must stand on one line and be followed by a colon",
  RESOURCE_EXHAUSTION: "it is nested too deeply",
  TAB_AS_INDENT: "indent with spaces, not with tabs",
  UNEXPECTED_TOKEN: "this cannot stand here; a `${NAME}` inside `[ ]` or `{ }` needs quotes",
};

const ONE_DOCUMENT = "not valid YAML: only one document is allowed in this file; remove the `---`";

const REFUSED: Readonly<Partial<Record<YamlRefused["reason"], string>>> = {
  characters: "the file is too large",
  depth: "not valid YAML: it is nested too deeply",
  documents: ONE_DOCUMENT,
  "collection-key": "a key must be a plain text",
};

/** Reads one YAML document with the place of every value. The text may be hostile; mistakes become problems. */
export function readYaml(text: string, file: string, largest: number): YamlRead {
  const start: Place = { file, line: 1, column: 1 };
  const emptyMap: MapTree = { kind: "map", at: start, entries: new Map() };
  const bad = (message: string, at = start): YamlRead => ({ tree: undefined, problems: [{ ...at, key: "", message }] });
  if (Buffer.byteLength(text) > largest) return bad(`the file is larger than ${largest / 1024} KiB`);
  const lineCounter = new LineCounter();
  const place = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const syntax = (error: YAMLError): ConfigProblem => ({
    ...place(error.pos[0]),
    key: "",
    message: `not valid YAML: ${SYNTAX[error.code] ?? `the parser says ${error.code}`}. What follows was not checked`,
  });
  let document: Document.Parsed | undefined;
  let second: Document.Parsed | undefined;
  try {
    [document, second] = composeYaml(text, { ...YAML_LIMITS, characters: largest }, lineCounter);
  } catch (error) {
    if (error instanceof YamlRefused) return bad(REFUSED[error.reason] ?? "not valid YAML", place(error.offset));
    throw error;
  }
  if (document === undefined) return { tree: emptyMap, problems: [] };
  const [mistake] = [...document.errors, ...document.warnings].sort((left, right) => left.pos[0] - right.pos[0]);
  // After the first mistake, the parser would only guess what was meant.
  if (mistake !== undefined) return { tree: undefined, problems: [syntax(mistake)] };
  if (second !== undefined) return bad(ONE_DOCUMENT, place(second.range[0]));
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    return { tree: emptyMap, problems: [] };
  }
  if (!isMap(document.contents)) return bad("the file must hold keys with values (a YAML map)");
  const builder = new TreeBuilder(place);
  const tree = builder.build(document.contents, start, []);
  return { tree: tree.kind === "map" ? tree : undefined, problems: builder.problems };
}

/** Builds a tree from the parser's nodes. Follows aliases in document order, within a budget. */
class TreeBuilder {
  readonly problems: ConfigProblem[] = [];
  private readonly anchors = new Map<string, Node>();
  /** What each alias stands for. Its anchor may be set again below it, and is read again wherever an alias repeats it. */
  private readonly targets = new Map<Alias, Node | undefined>();
  private aliases = 0;
  private nodes = 0;

  constructor(private readonly place: (offset: number) => Place) {}

  build(node: unknown, at: Place, path: readonly PropertyKey[]): ConfigTree {
    const nothing: ScalarTree = { kind: "scalar", at, value: null };
    if (++this.nodes > MOST_NODES) {
      if (this.nodes === MOST_NODES + 1) {
        this.report(at, path, `the file holds more than ${MOST_NODES} values; aliases count each time`);
      }
      return nothing;
    }
    if (path.length > DEEPEST) {
      this.report(at, path.slice(0, DEEPEST), `it is nested deeper than ${DEEPEST} levels`);
      return nothing;
    }
    if (isAlias(node)) {
      const target = this.targetOf(node);
      if (target === undefined) {
        this.report(at, path, "the alias names no anchor above it");
        return nothing;
      }
      this.aliases += 1;
      const tree = this.build(target, at, path);
      this.aliases -= 1;
      return tree;
    }
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined && this.aliases === 0) {
      this.anchors.set(node.anchor, node);
    }
    if (isMap(node)) return this.map(node, at, path);
    if (isSeq(node)) {
      const items = node.items.map((item, index) => this.build(item, this.at(item, at), [...path, index]));
      return { kind: "list", at, items };
    }
    return isScalar(node) ? { kind: "scalar", at: this.at(node, at), value: node.value } : nothing;
  }

  private targetOf(alias: Alias): Node | undefined {
    if (!this.targets.has(alias)) this.targets.set(alias, this.anchors.get(alias.source));
    return this.targets.get(alias);
  }

  private map(map: YAMLMap, at: Place, path: readonly PropertyKey[]): MapTree {
    const entries = new Map<string, { keyAt: Place; value: ConfigTree }>();
    for (const pair of map.items) {
      const keyAt = this.at(pair.key, at);
      const key = plainKey(pair);
      if (key === undefined) {
        this.report(keyAt, path, "a key must be a plain text");
        continue;
      }
      const first = entries.get(key);
      if (first !== undefined) {
        this.report(keyAt, [...path, key], `the key is set twice, first on line ${first.keyAt.line}`);
      } else entries.set(key, { keyAt, value: this.build(pair.value, keyAt, [...path, key]) });
    }
    return { kind: "map", at, entries };
  }

  private at(node: unknown, otherwise: Place): Place {
    const offset = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined;
    return offset === undefined ? otherwise : this.place(offset);
  }

  private report(at: Place, path: readonly PropertyKey[], message: string): void {
    this.problems.push({ ...at, key: keyPath(path), message });
  }
}

function plainKey(pair: Pair): string | undefined {
  if (!isScalar(pair.key)) return undefined;
  const key: unknown = pair.key.value;
  return typeof key === "string" || typeof key === "number" || typeof key === "boolean" ? String(key) : undefined;
}

type Validated<T> =
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

/** Locates a problem at the value of a path (with `atKey`, at its key), or at the nearest enclosing section. */
export function problemAt(
  tree: ConfigTree,
  path: readonly PropertyKey[],
  message: string,
  atKey = false,
): ConfigProblem {
  return { ...placeOf(tree, path, atKey), key: keyPath(path), message };
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
