import { stringify } from "yaml";
import { isObject, sortedText, type Json } from "../json.js";

/** The functions of Go templates, of Sprig and of Helm that the sandbox knows. */
export type TemplateFunction = (...values: Json[]) => Json;

export function textOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return `[${value.map(textOf).join(" ")}]`;
  if (isObject(value)) {
    const members = Object.keys(value).sort();
    return `map[${members.map((key) => `${key}:${textOf(value[key])}`).join(" ")}]`;
  }
  return String(value);
}

/** Empty in the sense of Go templates. */
export function isTruthy(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

function indent(width: Json | undefined, text: Json | undefined): string {
  const pad = " ".repeat(Number(width));
  return textOf(text)
    .split("\n")
    .map((line) => pad + line)
    .join("\n");
}

function yaml(value: Json | undefined): string {
  return stringify(value ?? null, { lineWidth: 0 }).replace(/\n$/, "");
}

function normalize(value: Json | undefined): string {
  return textOf(value)
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, "-")
    .slice(0, 253)
    .replace(/^[-.]+|[-.]+$/g, "");
}

/** `%s`, `%d`, `%v`, `%q`. */
function printf(format: Json | undefined, ...values: Json[]): string {
  let next = 0;
  return textOf(format).replace(/%[sdvq%]/g, (verb) => {
    if (verb === "%%") return "%";
    const value = textOf(values[next++]);
    return verb === "%q" ? JSON.stringify(value) : value;
  });
}

function compare(left: Json | undefined, right: Json | undefined): number {
  return Number(left) - Number(right);
}

/* prettier-ignore */
export const functions: Readonly<Record<string, TemplateFunction>> = {
  add: (...values) => values.reduce<number>((sum, value) => sum + Number(value), 0),
  and: (...values) => values.find((value) => !isTruthy(value)) ?? values.at(-1) ?? null,
  b64enc: (value) => Buffer.from(textOf(value)).toString("base64"),
  contains: (part, text) => textOf(text).includes(textOf(part)),
  default: (fallback, value) => (isTruthy(value) ? (value ?? null) : (fallback ?? null)),
  dict: (...pairs) => Object.fromEntries(pairs.flatMap((key, at) => (at % 2 === 0 ? [[textOf(key), pairs[at + 1] ?? null]] : []))),
  eq: (first, ...others) => others.some((other) => sortedText(first) === sortedText(other)),
  ge: (left, right) => compare(left, right) >= 0,
  get: (map, key) => (isObject(map) ? (map[textOf(key)] ?? "") : ""),
  gt: (left, right) => compare(left, right) > 0,
  hasKey: (map, key) => isObject(map) && textOf(key) in map,
  hasPrefix: (prefix, text) => textOf(text).startsWith(textOf(prefix)),
  hasSuffix: (suffix, text) => textOf(text).endsWith(textOf(suffix)),
  indent,
  index: (holder, ...keys) => keys.reduce<Json>((at, key) => (Array.isArray(at) ? at[Number(key)] : isObject(at) ? at[textOf(key)] : null) ?? null, holder ?? null),
  int: (value) => Math.trunc(Number(value)),
  kebabcase: (value) => textOf(value).replace(/([a-z\d])([A-Z])/g, "$1-$2").replace(/[\s_]+/g, "-").toLowerCase(),
  le: (left, right) => compare(left, right) <= 0,
  len: (value) => (Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : textOf(value).length),
  list: (...values) => values,
  lower: (value) => textOf(value).toLowerCase(),
  lt: (left, right) => compare(left, right) < 0,
  ne: (left, right) => sortedText(left) !== sortedText(right),
  nindent: (width, text) => `\n${indent(width, text)}`,
  normalize,
  not: (value) => !isTruthy(value),
  or: (...values) => values.find((value) => isTruthy(value)) ?? values.at(-1) ?? null,
  printf,
  quote: (...values) => values.map((value) => JSON.stringify(textOf(value))).join(" "),
  replace: (from, to, text) => textOf(text).replaceAll(textOf(from), textOf(to)),
  required: (message, value) => {
    if (value === null || value === "") throw new Error(textOf(message));
    return value;
  },
  slugify: normalize,
  splitList: (separator, text) => textOf(text).split(textOf(separator)),
  squote: (...values) => values.map((value) => `'${textOf(value)}'`).join(" "),
  ternary: (yes, no, condition) => (isTruthy(condition) ? (yes ?? null) : (no ?? null)),
  toJson: (value) => sortedText(value),
  toString: (value: Json | undefined) => textOf(value),
  toYaml: yaml,
  trim: (value) => textOf(value).trim(),
  trimPrefix: (prefix, text) => (textOf(text).startsWith(textOf(prefix)) ? textOf(text).slice(textOf(prefix).length) : textOf(text)),
  trimSuffix: (suffix, text) => (textOf(text).endsWith(textOf(suffix)) ? textOf(text).slice(0, textOf(text).length - textOf(suffix).length) : textOf(text)),
  trunc: (width, text) => textOf(text).slice(0, Number(width)),
  upper: (value) => textOf(value).toUpperCase(),
};
