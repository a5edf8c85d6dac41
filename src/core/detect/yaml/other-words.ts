import { YAML_LIMITS, YamlRefused } from "../../../config/bounded-yaml.js";
import type { Task } from "../../ports/compute.js";
import { YamlParser, type YamlNode } from "./parser.js";
import { resolveText, YamlFloat } from "./resolve-scalar.js";

/** A word or number without quotes that Kubernetes reads otherwise than YAML 1.2, which most people know, says. */
export interface OtherWord {
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
