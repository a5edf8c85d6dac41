import { isJsonObject, isList, type Json } from "../model/json.js";

/** Shorter values would garble messages, and are too weak to be secrets. */
const LEAST_LENGTH = 6;
const MOST_FORMS = 50_000;
const HIDDEN = "(hidden)";

/** Replaces values of Secrets in a text, also where they are encoded, escaped, or one line of a longer value. */
export type Scrub = (text: string) => string;

export function scrubberOf(values: readonly Json[]): Scrub {
  const forms = new Set<string>();
  for (const text of values.flatMap(textsOf)) {
    for (const form of [...formsOf(text), ...(fromBase64(text) === undefined ? [] : formsOf(fromBase64(text) ?? ""))]) {
      if (form.length >= LEAST_LENGTH && forms.size < MOST_FORMS) forms.add(form);
    }
  }
  const longestFirst = [...forms].sort((left, right) => right.length - left.length);
  return (text) => {
    const whole = longestFirst.reduce((left, form) => left.replaceAll(form, HIDDEN), text);
    return withoutCutEnd(whole, longestFirst);
  };
}

const TAIL = 4096;

/** Long messages are cut, perhaps inside a value. */
function withoutCutEnd(text: string, forms: readonly string[]): string {
  const [, kept = "", dots = ""] = /^([^]*?)(…?)$/.exec(text) ?? [];
  const tail = kept.slice(-TAIL);
  let from = tail.length;
  for (const form of forms) {
    const start = form.slice(0, LEAST_LENGTH);
    const found = tail.indexOf(start);
    for (let at = found; at !== -1 && at < from; at = tail.indexOf(start, at + 1)) {
      if (form.startsWith(tail.slice(at))) from = at;
    }
  }
  return from === tail.length ? text : `${kept.slice(0, kept.length - tail.length + from)}${HIDDEN}${dots}`;
}

function textsOf(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (isList(value)) return value.flatMap(textsOf);
  return isJsonObject(value) ? Object.values(value).flatMap((one) => (one === undefined ? [] : textsOf(one))) : [];
}

/** A value and its lines as they are, in base64, and as JSON, YAML and addresses escape them. */
function formsOf(text: string): readonly string[] {
  const parts = text.includes("\n") ? [text, ...text.split(/\r?\n/)] : [text];
  return parts.flatMap((part) => {
    const value = part.trim();
    if (value.length < LEAST_LENGTH) return [];
    const bytes = Buffer.from(value);
    return [
      value,
      JSON.stringify(value).slice(1, -1),
      JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1),
      value.replaceAll("'", "''"),
      encoded(value),
      bytes.toString("hex"),
      ...base64Forms(bytes),
      ...base64Forms(Buffer.from(`${value}\n`)),
    ];
  });
}

/** With and without padding, in both alphabets. */
function base64Forms(bytes: Buffer): readonly string[] {
  const standard = bytes.toString("base64");
  return [standard, standard.replace(/=+$/, ""), bytes.toString("base64url")];
}

/** Half a surrogate pair cannot be written in an address. */
function encoded(value: string): string {
  return encodeURIComponent(Buffer.from(value).toString("utf8"));
}

/** The readable text that a value of `data` stands for. */
function fromBase64(value: string): string | undefined {
  if (!/^[A-Za-z0-9+/\s]{8,}={0,2}$/.test(value.trimEnd())) return undefined;
  const text = Buffer.from(value, "base64").toString("utf8");
  return /[\ufffd\u0000-\u0008]/.test(text) ? undefined : text;
}
