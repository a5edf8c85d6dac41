import { type Document, isAlias, isMap, isPair, isScalar, isSeq, type Pair, type Scalar } from "yaml";
import { YAML_LIMITS, type YamlLimits, YamlRefused } from "./bounded-yaml.js";

export type YamlValue = null | boolean | number | string | readonly YamlValue[] | { readonly [key: string]: YamlValue };

export interface YamlReading {
  readonly limits: YamlLimits;
  /** Whether `<<` merges maps into its map. */
  readonly merge: boolean;
  /** Which of two equal keys counts, if any. */
  readonly duplicateKeys: "last" | "refused";
}

/** The value of a document in plain JSON; infinity and NaN stay as they are written. Throws `YamlRefused`. */
export function yamlValue(document: Document.Parsed, reading: Partial<YamlReading> = {}): YamlValue {
  if (document.errors.length > 0) throw new YamlRefused("syntax");
  return new ValueBuilder({ limits: YAML_LIMITS, merge: true, duplicateKeys: "last", ...reading }).build(
    document.contents,
    0,
  );
}

/** What an anchor stands for, and how much each of its aliases counts. */
interface Anchored {
  readonly value: YamlValue;
  readonly values: number;
  readonly aliases: number;
  readonly levels: number;
}

/** Aliases share the value they stand for. The library's own `toJS` searches the whole document for each of them. */
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
      if (this.reading.duplicateKeys === "refused" && members.has(name)) throw new YamlRefused("syntax");
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
   * A merged member gives way to those that follow. Parsers differ about those before it: YAML 1.1 keeps them, and the
   * parser of Kubernetes replaces them.
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
