import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  type LineCounter,
  type Pair,
  Parser,
  type Scalar,
} from "yaml";

type YamlValue = null | boolean | number | string | readonly YamlValue[] | { readonly [key: string]: YamlValue };

interface YamlReading {
  readonly limits: YamlLimits;
  /** Whether `<<` merges maps into its map. */
  readonly merge: boolean;
}

/** The value of a document as plain JSON; infinity and NaN stay as written. @throws {YamlRefused} */
export function yamlValue(document: Document.Parsed, reading: Partial<YamlReading> = {}): YamlValue {
  if (document.errors.length > 0) throw new YamlRefused("syntax");
  return new ValueBuilder({ limits: YAML_LIMITS, merge: true, ...reading }).build(document.contents, 0);
}

interface Anchored {
  readonly value: YamlValue;
  readonly values: number;
  readonly aliases: number;
  readonly levels: number;
}

/**
 * Builds values so that aliases share what they stand for: the library's `toJS` searches the whole document for each
 * alias.
 */
class ValueBuilder {
  private readonly anchors = new Map<string, Anchored>();
  private values = 0;
  private aliases = 0;
  /** The depth of the deepest value since the innermost anchor. */
  private deepest = 0;

  constructor(private readonly reading: YamlReading) {}

  build(node: unknown, depth: number): YamlValue {
    if (isAlias(node)) {
      const target = this.anchors.get(node.source);
      if (target === undefined) throw new YamlRefused("unknown-alias");
      this.count(target.values, target.aliases + 1, depth + target.levels);
      return target.value;
    }
    const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined;
    if (anchor === undefined) return this.counted(node, depth);
    const { values, aliases, deepest } = this;
    this.deepest = depth;
    const value = this.counted(node, depth);
    this.anchors.set(anchor, {
      value,
      values: this.values - values,
      aliases: this.aliases - aliases,
      levels: this.deepest - depth,
    });
    this.deepest = Math.max(this.deepest, deepest);
    return value;
  }

  private counted(node: unknown, depth: number): YamlValue {
    this.count(1, 0, depth);
    return this.valueOf(node, depth);
  }

  private valueOf(node: unknown, depth: number): YamlValue {
    if (isMap(node)) return this.map(node.items, depth);
    if (isSeq(node)) return node.items.map((item) => this.build(item, depth + 1));
    // An item of an `!!omap`.
    if (isPair(node)) return this.map([node], depth);
    return isScalar(node) ? scalarValue(node) : null;
  }

  private map(pairs: readonly Pair[], depth: number): YamlValue {
    const members = new Map<string, YamlValue>();
    for (const { key, value } of pairs) {
      if (this.reading.merge && isScalar(key) && key.type === "PLAIN" && key.source === "<<") {
        this.merge(this.build(value, depth + 1), members);
        continue;
      }
      const name = this.key(key, depth + 1);
      if (members.has(name)) throw new YamlRefused("syntax");
      members.set(name, this.build(value, depth + 1));
    }
    return Object.fromEntries(members);
  }

  private key(node: unknown, depth: number): string {
    const key = this.build(node, depth);
    if (typeof key === "object" && key !== null) throw new YamlRefused("collection-key");
    return key === null ? "" : String(key);
  }

  /**
   * Merged members give way to those that follow. Parsers disagree about those before: YAML 1.1 keeps them,
   * Kubernetes' parser replaces them.
   */
  private merge(source: YamlValue, into: Map<string, YamlValue>): void {
    const merged = new Map<string, YamlValue>();
    for (const one of isList(source) ? source : [source]) {
      if (typeof one !== "object" || one === null || isList(one)) throw new YamlRefused("syntax");
      for (const [name, value] of Object.entries(one)) if (!merged.has(name)) merged.set(name, value);
    }
    for (const [name, value] of merged) {
      if (into.has(name) && into.get(name) !== value) throw new YamlRefused("merge-order");
      into.set(name, value);
    }
  }

  private count(values: number, aliases: number, depth: number): void {
    const { limits } = this.reading;
    this.values += values;
    this.aliases += aliases;
    this.deepest = Math.max(this.deepest, depth);
    if (this.aliases > limits.aliases) throw new YamlRefused("aliases");
    if (this.values > limits.values) throw new YamlRefused("values");
    if (depth > limits.depth) throw new YamlRefused("depth");
  }
}

function scalarValue({ value, source }: Scalar): YamlValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  // Too large a number is text to Argo CD's parser.
  if (typeof value === "number" && Number.isFinite(value)) return value;
  return source ?? null;
}

function isList(value: YamlValue): value is readonly YamlValue[] {
  return Array.isArray(value);
}

/** What a text of YAML may cost. */
interface YamlLimits {
  /** Characters of the whole text. */
  readonly characters: number;
  /** Levels of collections and scalars below a document. */
  readonly depth: number;
  /** Documents in one text. */
  readonly documents: number;
  /** Values of one document; each alias counts what it stands for. */
  readonly values: number;
  /** Aliases of one document, including those inside what an alias stands for. */
  readonly aliases: number;
}

export const YAML_LIMITS: YamlLimits = {
  // The library needs some seconds per megabyte.
  characters: 256 * 1024,
  depth: 100,
  documents: 1000,
  values: 100_000,
  aliases: 1000,
};

/** Why a text was refused: it exceeds a limit, is not valid YAML, or parsers would read it differently. */
export type YamlRefusal = keyof YamlLimits | "unknown-alias" | "collection-key" | "merge-order" | "syntax";

/** Refuses a text at an offset. The message quotes nothing of the text, so it is safe to show. */
export class YamlRefused extends Error {
  override readonly name = "YamlRefused";

  constructor(
    readonly reason: YamlRefusal,
    readonly offset = 0,
  ) {
    super(`refused YAML: ${reason}`);
  }
}

/**
 * Composes the documents of a text that strangers wrote. Size and nesting are checked while the text is parsed, and keys
 * before anything is composed, because the library composes recursively and turns collections into keys in quadratic
 * time. Throws `YamlRefused`; mistakes in the syntax are in the `errors` of each document.
 */
export function* composeYaml(
  text: string,
  limits: YamlLimits = YAML_LIMITS,
  lines?: LineCounter,
): Generator<Document.Parsed> {
  const tokens = parse(text, limits, lines);
  for (const token of tokens) refuseCollectionKeys(token);
  // The library compares all keys of a map with each other to find duplicates; readers look them up instead.
  const composer = new Composer({
    logLevel: "silent",
    prettyErrors: false,
    resolveKnownTags: false,
    uniqueKeys: false,
  });
  let documents = 0;
  for (const document of composer.compose(tokens, false, text.length)) {
    documents += 1;
    if (documents > limits.documents) throw new YamlRefused("documents", document.range[0]);
    yield document;
  }
}

function parse(text: string, limits: YamlLimits, lines: LineCounter | undefined): readonly CST.Token[] {
  if (text.length > limits.characters) throw new YamlRefused("characters");
  const parser = new Parser(lines?.addNewLine);
  lines?.addNewLine(0);
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    // The stack begins with the document. A process can abort when a stack overflow meets the compiler of regular
    // expressions (yaml 2.9 on Node 20), so no text may come near one.
    if (parser.stack.length > limits.depth + 1) throw new YamlRefused("depth", parser.offset);
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

function refuseCollectionKeys(document: CST.Token): void {
  const waiting: (CST.Token | null | undefined)[] = [document];
  while (waiting.length > 0) {
    const token = waiting.pop();
    if (token?.type === "document") waiting.push(token.value);
    if (!isCollection(token)) continue;
    for (const { key, value } of token.items) {
      if (isCollection(key)) throw new YamlRefused("collection-key", key.offset);
      waiting.push(value);
    }
  }
}

function isCollection(
  token: CST.Token | null | undefined,
): token is CST.BlockMap | CST.BlockSequence | CST.FlowCollection {
  return token?.type === "block-map" || token?.type === "block-seq" || token?.type === "flow-collection";
}
