import { YAML_LIMITS, YamlRefused } from "../../../config/bounded-yaml.js";
import type { Json } from "../../model/json.js";
import { YamlParser, type YamlNode } from "./parser.js";
import { LARGEST, resolveScalar, YamlFloat, type Resolved } from "./resolve-scalar.js";

/** What Kubernetes reads of a text. Its parser stops behind the first document. */
export interface KubernetesDocument {
  readonly value: Json;
  /** Whether it has an integer that a number of JavaScript cannot hold exactly. */
  readonly inexact: boolean;
  /** Whether a merge key replaces what stands before it; other parsers keep that. */
  readonly mergeReplaces: boolean;
  /** Whether a key of a map stands twice, or overrides a merged one; the last one counts. */
  readonly repeats: boolean;
  /** Whether anything but comments follows the document. */
  readonly more: boolean;
}

/** Members whose number is meant as the text that was written, as in `targetRevision: 1.10`. */
type TextMembers = ReadonlySet<string>;

/** Reads a text as `sigs.k8s.io/yaml` does; undefined if nothing is in it. @throws {YamlRefused} also beyond the limits of size. */
export function readKubernetesYaml(text: string, textMembers?: TextMembers): KubernetesDocument | undefined {
  if (text.length > YAML_LIMITS.characters) throw new YamlRefused("characters");
  if (UNPRINTABLE.test(text) || hasUncertainMark(text)) throw new YamlRefused("syntax");
  const parser = new YamlParser(text, YAML_LIMITS.depth);
  const node = parser.document();
  return node && { ...new Decoder(parser.targets, textMembers).document(node), more: parser.hasMore() };
}

const UNPRINTABLE = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]/u;

/** The parser may skip the wrong character if a byte order mark begins one of its buffers, which hold 512 bytes. */
function hasUncertainMark(text: string): boolean {
  const mark = text.lastIndexOf("\ufeff");
  if (mark <= 0) return false;
  return text.startsWith("\ufeff\ufeff") || mark >= text.length - 4 || Buffer.byteLength(text) >= 512;
}

/** A map before its keys become texts: integers as bigints, other numbers as numbers. */
type Members = Map<Key, Decoded>;
type Key = string | boolean | bigint | number | null;
type Decoded = Resolved | readonly Decoded[] | Members;

interface Cost {
  readonly values: number;
  readonly aliases: number;
  readonly levels: number;
}

/** Decodes a document (`decode.go`), and turns it into JSON (`yaml.go` of sigs.k8s.io/yaml). */
class Decoder {
  private readonly known = new Map<YamlNode, Cost & { readonly value: Decoded }>();
  private readonly open = new Set<YamlNode>();
  private values = 0;
  private aliases = 0;
  private inAliases = 0;
  private aliasDepth = 0;
  private deepest = 0;
  private inexact = false;
  private mergeReplaces = false;
  private repeats = false;

  constructor(
    private readonly targets: ReadonlySet<YamlNode>,
    private readonly textMembers: TextMembers | undefined,
  ) {}

  document(node: YamlNode): Omit<KubernetesDocument, "more"> {
    const value = this.json(this.decode(node, 0));
    return { value, inexact: this.inexact, mergeReplaces: this.mergeReplaces, repeats: this.repeats };
  }

  private decode(node: YamlNode, depth: number): Decoded {
    if (node.kind === "alias") return this.alias(node.target, depth);
    if (!this.targets.has(node)) return this.counted(node, depth);
    const known = this.known.get(node);
    if (known !== undefined) {
      this.count(known, depth + known.levels, node);
      return known.value;
    }
    if (this.open.has(node)) throw new YamlRefused("unknown-alias", node.at);
    this.open.add(node);
    const { values, aliases, deepest } = this;
    this.deepest = depth;
    const value = this.counted(node, depth);
    const cost = { values: this.values - values, aliases: this.aliases - aliases, levels: this.deepest - depth };
    this.known.set(node, { value, ...cost });
    this.deepest = Math.max(this.deepest, deepest);
    this.open.delete(node);
    return value;
  }

  private alias(target: YamlNode, depth: number): Decoded {
    this.count({ values: 0, aliases: 1 }, depth, target);
    this.aliasDepth += 1;
    const value = this.decode(target, depth);
    this.aliasDepth -= 1;
    return value;
  }

  private counted(node: Exclude<YamlNode, { kind: "alias" }>, depth: number): Decoded {
    this.count({ values: 1, aliases: 0 }, depth, node);
    switch (node.kind) {
      case "scalar":
        return resolveScalar(node);
      case "list":
        return node.items.map((item) => this.decode(item, depth + 1));
      case "map":
        return this.map(node.items, depth);
    }
  }

  private map(items: readonly YamlNode[], depth: number): Members {
    const members: Members = new Map();
    for (let index = 0; index + 1 < items.length; index += 2) {
      const [key, value] = items.slice(index, index + 2) as [YamlNode, YamlNode];
      if (isMerge(key)) this.merge(value, members, depth);
      else {
        const name = keyOf(this.decode(key, depth + 1), key.at);
        this.repeats ||= members.has(name);
        put(members, name, this.textOf(name, value) ?? this.decode(value, depth + 1));
      }
    }
    return members;
  }

  private textOf(name: unknown, value: YamlNode): string | undefined {
    if (typeof name !== "string" || this.textMembers?.has(name) !== true) return undefined;
    const scalar = value.kind === "alias" ? value.target : value;
    if (scalar.kind !== "scalar") return undefined;
    const resolved = resolveScalar(scalar);
    return resolved === null || typeof resolved === "string" ? undefined : scalar.text;
  }

  /** Merged members replace those before them; in a list of maps, the first one wins. */
  private merge(source: YamlNode, into: Members, depth: number): void {
    const maps = source.kind === "list" ? source.items : [source];
    const merged: Members = new Map();
    for (const one of maps.toReversed()) {
      const target = one.kind === "alias" ? one.target : one;
      if (target.kind !== "map") throw new YamlRefused("syntax", one.at);
      const members = this.decode(one, depth + 1);
      if (members instanceof Map) for (const [name, value] of members) put(merged, name, value);
    }
    for (const [name, value] of merged) {
      if (into.has(name) && into.get(name) !== value) this.mergeReplaces = true;
      put(into, name, value);
    }
  }

  private count({ values, aliases }: Omit<Cost, "levels">, depth: number, { at }: YamlNode): void {
    this.values += values;
    this.aliases += aliases;
    this.inAliases += this.aliasDepth > 0 ? values + aliases : 0;
    this.deepest = Math.max(this.deepest, depth);
    if (this.aliases > YAML_LIMITS.aliases || this.isExcessive()) throw new YamlRefused("aliases", at);
    if (this.values > YAML_LIMITS.values) throw new YamlRefused("values", at);
    if (depth > YAML_LIMITS.depth) throw new YamlRefused("depth", at);
  }

  /** The limit of the parser itself, for documents within the others. */
  private isExcessive(): boolean {
    const all = this.values + this.aliases;
    return this.inAliases > 100 && all > 1000 && this.inAliases / all > 0.99;
  }

  private json(value: Decoded): Json {
    if (value instanceof Map) return this.object(value);
    if (value instanceof YamlFloat) {
      if (!Number.isFinite(value.value)) throw new YamlRefused("syntax");
      return value.value;
    }
    if (typeof value === "bigint") {
      this.inexact = true;
      return Number(value);
    }
    return Array.isArray(value) ? (value as readonly Decoded[]).map((item) => this.json(item)) : (value as Json);
  }

  private object(members: Members): Json {
    const values = new Map<string, Decoded>();
    for (const [key, value] of members) {
      // A key without a text, or with the text of another key: the parser would keep either of the two.
      const name = nameOf(key);
      if (name === undefined || values.has(name)) throw new YamlRefused("collection-key");
      values.set(name, value);
    }
    return Object.fromEntries(Array.from(values, ([name, value]) => [name, this.json(value)]));
  }
}

function isMerge(key: YamlNode): boolean {
  return key.kind === "scalar" && key.text === "<<" && (key.implicit || key.tag === "tag:yaml.org,2002:merge");
}

/** No NaN equals another one for the parser, which keeps them all. */
function put(members: Members, key: Key, value: Decoded): void {
  if (Number.isNaN(key) && members.has(key)) throw new YamlRefused("collection-key");
  members.set(key, value);
}

function keyOf(key: Decoded, at: number): Key {
  if (typeof key === "number") return BigInt(key);
  if (key instanceof YamlFloat) {
    // A Map takes -0 for 0, but as texts the two differ.
    if (Object.is(key.value, -0)) throw new YamlRefused("collection-key", at);
    return key.value;
  }
  if (typeof key === "object" && key !== null) throw new YamlRefused("collection-key", at);
  return key;
}

function nameOf(key: Key): string | undefined {
  if (key === null || (typeof key === "bigint" && key > LARGEST)) return undefined;
  return typeof key === "number" ? floatKey(new YamlFloat(key)) : String(key);
}

/** A float as the key of a map: Go's shortest form for 32 bits. */
function floatKey({ value }: YamlFloat): string {
  const single = Math.fround(value);
  if (Number.isNaN(single)) return ".nan";
  if (!Number.isFinite(single)) return single > 0 ? ".inf" : "-.inf";
  if (single === 0) return Object.is(single, -0) ? "-0" : "0";
  const short = shortest(single);
  const exponent = Number(short.split("e")[1]);
  if (exponent >= -4 && exponent < 6) return String(Number(short));
  const [digits, power = ""] = short.split("e");
  return `${digits}e${power.replace(/^([-+])(\d)$/, "$10$2")}`;
}

/** The fewest digits that name a number of 32 bits, with an exponent. */
function shortest(single: number): string {
  for (let digits = 0; digits < 8; digits += 1) {
    const text = single.toExponential(digits);
    if (Math.fround(Number(text)) === single) return text;
  }
  return single.toExponential(8);
}
