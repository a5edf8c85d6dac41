import { isUtf8 } from "node:buffer";
import { YAML_LIMITS, YamlRefused } from "../../../config/bounded-yaml.js";
import type { Task } from "../../ports/compute.js";
import { type YamlNode, YamlParser, type YamlScalar } from "./parser.js";

/** A number that was written with a point or an exponent, or that is too large for an integer. */
export class YamlFloat {
  constructor(readonly value: number) {}
}

/** A scalar as Kubernetes' parser reads it. Integers beyond those that a number holds exactly are bigints. */
export type Resolved = null | boolean | string | number | bigint | YamlFloat;

const STANDARD = "tag:yaml.org,2002:";
const TYPED = new Set(["str", "bool", "int", "float", "null", "timestamp"]);

const WORDS: ReadonlyMap<string, Resolved> = new Map<string, Resolved>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, new YamlFloat(Number.NaN)] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, new YamlFloat(Infinity)] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, new YamlFloat(-Infinity)] as const),
]);

/** The value of a scalar (`resolve.go`). @throws {YamlRefused} if its tag says otherwise. */
export function resolveScalar({ text, tag, implicit, at }: YamlScalar): Resolved {
  if (tag === "") return implicit ? resolveText(text) : text;
  if (!tag.startsWith(STANDARD)) return text;
  const type = tag.slice(STANDARD.length);
  if (type === "binary") return decodeBinary(text, at);
  if (type === "str" || !TYPED.has(type)) return text;
  if (type === "timestamp") {
    if (!isTimestamp(text)) throw new YamlRefused("syntax", at);
    return text;
  }
  const value = resolveText(text);
  // Not for integers beyond 64 bits with a sign.
  const isInteger = typeof value === "number" || (typeof value === "bigint" && value <= LARGEST);
  if (type === "float" && isInteger) return new YamlFloat(Number(value));
  if (typeOf(value) !== type) throw new YamlRefused("syntax", at);
  return value;
}

function typeOf(value: Resolved): string {
  if (value === null) return "null";
  if (value instanceof YamlFloat) return "float";
  if (typeof value === "boolean") return "bool";
  return typeof value === "string" ? "str" : "int";
}

/** The value of a text without quotes and without a tag. */
function resolveText(text: string): Resolved {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (/^[\d+-]/.test(text)) return numberOf(text.replaceAll("_", "")) ?? text;
  // Go's `ParseFloat` allows `_` between digits.
  if (!/^\.\d(?:_?\d)*(?:[eE][-+]?\d(?:_?\d)*)?$/.test(text)) return text;
  return floatOf(text.replaceAll("_", "")) ?? text;
}

function numberOf(plain: string): Resolved | undefined {
  if (/^[-+]?(?:0|[1-9]\d{0,14})$/.test(plain)) return Number(plain) + 0;
  const integer = INTEGER.exec(plain);
  const read = integer === null ? undefined : integerOf(integer);
  if (read !== undefined) return read;
  if (/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(plain)) return floatOf(plain);
  // The parser strips `0b` and then reads a sign.
  const binary = /^(0[b])([-+])([01]+)$/.exec(plain);
  return binary === null ? undefined : signed(BigInt(`0b${binary[3]}`), binary[2] === "-", true);
}

/** `ParseInt` of Go with base 0. */
const INTEGER = /^([-+]?)(0[xX](?=[\dA-Fa-f])|0[bB](?=[01])|0[oO](?=[0-7])|0(?=[0-7])|(?=[1-9]))0*(?!0)([\dA-Fa-f]*)$/;
const DIGITS: Readonly<Record<string, RegExp>> = { x: /^[\dA-F]*$/i, b: /^[01]*$/, o: /^[0-7]*$/, d: /^\d*$/ };
export const LARGEST = 2n ** 63n - 1n;

function integerOf([, sign, prefix = "", digits = ""]: RegExpExecArray): number | bigint | undefined {
  const base = prefix === "0" ? "o" : (prefix[1] ?? "d").toLowerCase();
  // No longer text is an integer of 64 bits.
  if (digits.length > 64 || DIGITS[base]?.test(digits) !== true) return undefined;
  const magnitude = BigInt(base === "d" ? digits || "0" : `0${base}${digits || "0"}`);
  return signed(magnitude, sign === "-", sign !== "");
}

/** Only an integer without a sign may have 64 bits of its own. */
function signed(magnitude: bigint, negative: boolean, hasSign: boolean): number | bigint | undefined {
  const value = negative ? -magnitude : magnitude;
  if (value < -LARGEST - 1n || value > (hasSign ? LARGEST : 2n ** 64n - 1n)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Returns undefined if the number is too large: the scalar then stays text. */
function floatOf(text: string): YamlFloat | undefined {
  const value = Number(text);
  return Number.isFinite(value) ? new YamlFloat(value) : undefined;
}

function decodeBinary(text: string, at: number): string {
  const packed = text.replace(/[\r\n]/g, "");
  const bytes = Buffer.from(packed, "base64");
  if (!/^[A-Za-z\d+/]*={0,2}$/.test(packed) || packed.length % 4 !== 0) throw new YamlRefused("syntax", at);
  return isUtf8(bytes) ? bytes.toString("utf8") : bytes.toString("latin1").replace(CHARACTER, character);
}

/** A character of UTF-8, or a byte that belongs to none, of which each becomes one `U+FFFD`. */
const CHARACTER = new RegExp(
  [
    "[\\xc2-\\xdf][\\x80-\\xbf]|\\xe0[\\xa0-\\xbf][\\x80-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}",
    "\\xed[\\x80-\\x9f][\\x80-\\xbf]|\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf1-\\xf3][\\x80-\\xbf]{3}",
    "\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}|[\\x80-\\xff]",
  ].join("|"),
  "g",
);

function character(bytes: string): string {
  return bytes.length === 1 ? "\ufffd" : Buffer.from(bytes, "latin1").toString("utf8");
}

const DATE = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt](?=.*(?:Z|[-+]\d\d:\d\d)$)(.*?)(Z|[-+]\d\d:\d\d)| +(.*))?$/;

/** The dates and times that Go's `time.Parse` takes in the formats of the parser. */
function isTimestamp(text: string): boolean {
  const [, year, month, day, zoned, zone, local] = DATE.exec(text) ?? [];
  if (year === undefined) return false;
  const days = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate();
  if (Number(month) < 1 || Number(month) > 12 || Number(day) < 1 || Number(day) > days) return false;
  const time = zoned ?? local;
  return time === undefined || (isTime(time) && isZone(zone ?? "Z"));
}

function isTime(time: string): boolean {
  const [, hour, minute, second] = /^(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?$/.exec(time) ?? [];
  return hour !== undefined && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
}

function isZone(zone: string): boolean {
  return zone === "Z" || (Number(zone.slice(1, 3)) <= 24 && Number(zone.slice(4)) <= 60);
}

/** A word or number without quotes that Kubernetes reads otherwise than YAML 1.2, which most people know, says. */
interface OtherWord {
  readonly word: string;
  readonly line: number;
  /** `true`, `15`, `a text`. */
  readonly meaning: string;
}

/** The first place of each such word in some texts. What Kubernetes cannot read has none. */
export const otherWordsTask: Task<readonly string[], readonly (readonly OtherWord[])[]> = {
  name: "other-words",
  run: (texts) => texts.map(otherWords),
};

export function otherWords(text: string): readonly OtherWord[] {
  const found = new Map<string, OtherWord>();
  let line = 1;
  for (const part of text.split(/^---(?=\s)/m)) {
    for (const { text: word, at } of plainScalars(part)) {
      const meaning = found.has(word) ? undefined : otherMeaning(word);
      if (meaning !== undefined) found.set(word, { word, line: line + lineEnds(part.slice(0, at)), meaning });
    }
    line += lineEnds(part);
  }
  return [...found.values()];
}

function lineEnds(text: string): number {
  return text.split("\n").length - 1;
}

function plainScalars(text: string): readonly { readonly text: string; readonly at: number }[] {
  if (text.length > YAML_LIMITS.characters) return [];
  try {
    const root = new YamlParser(text, YAML_LIMITS.depth).document();
    return root === undefined ? [] : below(root);
  } catch (error) {
    if (error instanceof YamlRefused) return [];
    throw error;
  }
}

function below(node: YamlNode): readonly { readonly text: string; readonly at: number }[] {
  if (node.kind === "alias") return [];
  if (node.kind === "scalar") return node.tag === "" && node.implicit && node.text !== "" ? [node] : [];
  return node.items.flatMap(below);
}

function otherMeaning(word: string): string | undefined {
  const resolved = resolveText(word);
  const kubernetes = resolved instanceof YamlFloat ? resolved.value : resolved;
  const number = typeof kubernetes === "bigint" ? Number(kubernetes) : kubernetes;
  const standard = standardValue(word);
  // An infinite number is refused, or a text, and nobody means it as one.
  if (number === standard || (typeof standard === "number" && !Number.isFinite(standard))) return undefined;
  return typeof kubernetes === "string" ? "a text" : String(kubernetes);
}

/** The core schema of YAML 1.2, https://yaml.org/spec/1.2.2/#103-core-schema. */
function standardValue(word: string): string | number | boolean | null {
  if (/^(?:~|null|Null|NULL)$/.test(word)) return null;
  if (/^(?:true|True|TRUE|false|False|FALSE)$/.test(word)) return /^t/i.test(word);
  if (/^[-+]?(?:\.inf|\.Inf|\.INF)$|^\.(?:nan|NaN|NAN)$/.test(word)) return Number.NaN;
  const isNumber = /^0o[0-7]+$|^0x[\da-fA-F]+$|^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(word);
  return isNumber ? Number(word) : word;
}
