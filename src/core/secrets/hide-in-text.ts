import { gunzipSync } from "node:zlib";
import { stringify } from "yaml";
import { YAML_LIMITS } from "../../config/bounded-yaml.js";
import { readYamlDocuments } from "../detect/tree/yaml-documents.js";
import { mapMembers } from "../model/effect.js";
import {
  canonicalJson,
  isJsonObject,
  isList,
  isNestedDeeper,
  type Json,
  type JsonObject,
  parseJson,
} from "../model/json.js";

const HIDDEN = "(hidden)";

/**
 * A message of another program without the values that it may quote: of the data of an object, however it is printed (Go's
 * `map[data:map[…]]` and `map[string]interface {}{…}`, JSON, also inside a string, YAML, a JSON patch, a rejected field), of
 * credentials in addresses and headers, and of parameters of Helm that are named like a secret. After a printed map
 * everything is left out: a value may contain any character, and the message may have been cut.
 */
export function hideInMessage(message: string): string {
  const open = message.replace(QUOTES, '"').replace(AUTHORIZATION, `$1${HIDDEN}`);
  const pairs = [...open.matchAll(HELM_PARAMETER)].map(([, , pair = ""]) => unquoted(pair).split("=", 2));
  const named = new Set(pairs.flatMap(([name, value]) => namedBeside(name, value)));
  const text = open.replace(HELM_PARAMETER, (_, option: string, pair: string) => option + withoutValue(pair, named));
  if (!/data/i.test(text)) return withoutCredentials(text, "every");
  const patched = PATCHED_DATA.test(text) ? text.replace(PATCHED_VALUE, `$1${HIDDEN}`) : text;
  const fields = patched.replace(REJECTED_FIELD, `$1${HIDDEN}`);
  return withoutCredentials(withoutData(fields), "every");
}

/** Quotes as HTML and JSON encoders escape them. */
const QUOTES = /\\{1,8}u0022|&#34;|&quot;/g;
const AUTHORIZATION =
  /(authorization["'\\]{0,4}[ \t]{0,4}[:=][ \t]{0,4}["'\\]{0,4}(?:[a-z]{1,20} )?)[^\s"',;]{1,4096}/gi;
/**
 * Argo CD quotes the command that failed, with the parameters of the Application: one with a blank as Go's `strconv.Quote` does,
 * and any other as it is, quotes in it included (`GetCommandArgsToLog`).
 */
const HELM_PARAMETER = /(--set(?:-[a-z]{1,10})?[= ])("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'|\S+)/g;

function withoutValue(pair: string, named: ReadonlySet<string>): string {
  const [name = ""] = pair.split("=", 1);
  return SENSITIVE.test(name) || named.has(unquoted(name)) ? `${name}=${HIDDEN}` : pair;
}

function unquoted(text: string): string {
  return text.replace(/^["']|["']$/g, "");
}

/** The key of a Secret's or ConfigMap's values, and what begins after it: a map of Go, of JSON, or of YAML. */
const DATA_KEY = /(?:(?<![a-z])|(?<=\\[nrt]))(?:string|binary)?data["'`\\]{0,8}[ \t]{0,4}[:=]/gi;
/** What follows is left out whole. */
const MAX_BLOCKS = 20;
const EMPTY = /^[ \t]{0,4}(?:map\[\]|\{\})(?![\w{[])/;
const OPENS_MAP = /^[ \t]{0,4}(?:[&*(]{0,2}map\[|\(?map\[\w{1,20}\]|\{|\(map)/i;
const OPENS_BLOCK = /^[ \t]{0,4}(?:[|>][-+\d]{0,2}|&\w{1,20}|!!\w{1,10})?[ \t]{0,4}(?:#[^\n]*)?(?:\r?\n|\\+r?\\*n|$)/;

function withoutData(text: string, blocks = 0): string {
  for (const { index, 0: key } of text.matchAll(DATA_KEY)) {
    const from = index + key.length;
    const rest = text.slice(from);
    if (EMPTY.test(rest)) continue;
    // Hides everything to the end: a value may contain any bracket, and the message may have been cut.
    if (OPENS_MAP.test(rest)) return `${text.slice(0, from)}${HIDDEN}`;
    if (OPENS_BLOCK.test(rest)) {
      const before = text.slice(text.lastIndexOf("\n", index) + 1, index);
      const after = blocks < MAX_BLOCKS ? withoutData(afterBlock(rest, before), blocks + 1) : "";
      return `${text.slice(0, from)} ${HIDDEN}${after}`;
    }
  }
  return text;
}

/** The lines after a block of YAML: those that are not indented more than its key. A block on one line has no end. */
function afterBlock(rest: string, before: string): string {
  const [, ...lines] = rest.split("\n");
  if (!/^[ \t]*$/.test(before)) return "";
  const end = lines.findIndex((line) => line.trim() !== "" && indentOf(line) <= before.length && !/^\s*-/.test(line));
  return end === -1 ? "" : `\n${lines.slice(end).join("\n")}`;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** `Secret "db" is invalid: data[token]: Invalid value: "hunter2": must be …` */
const REJECTED_FIELD =
  /((?:string|binary)?data(?:\[[^\]\n]{0,300}\]|\.[\w.-]{1,300}){0,5}["']?:[ \t]{0,4}(?:invalid|unsupported|duplicate|forbidden) value:[ \t]{0,4})(?:".*"|[^\n]*)/gi;
const PATCHED_DATA = /\/(?:string|binary)?data(?:\/|["\\])/i;
/** Up to the end of the text, since the end of the last value is not marked. */
const PATCHED_VALUE = /(\\*"value\\*":\s{0,8})[^]*/i;

/** An address up to a blank, a quote or the next address. */
const ADDRESS = /(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,15}):\/\/((?:(?![a-z][a-z0-9+.-]{0,15}:\/\/)[^\s'"<>])+)/gi;
/** Schemes of addresses that are not secret as a whole. A database's address is. */
const OPEN_SCHEME = /^(?:https?|git|ssh|ftps?|sftp|oci|git\+https?|git\+ssh)$/i;
const PARAMETER = /([?&;][\w.-]{0,40}(?:token|secret|passw(?:or)?d|signature|credential|api_?key|sig)=)[^&;#]{1,}/gi;

/**
 * Cuts out credentials in addresses: user and password before the host, and parameters that are named like a secret.
 * @param schemes `addresses` leaves those of databases and the like alone, and marks where something was; `every` does neither.
 */
export function withoutCredentials(text: string, schemes: "addresses" | "every"): string {
  if (!text.includes("://")) return text;
  const hidden = text.replace(ADDRESS, (whole, scheme: string, rest: string) => {
    if (schemes === "addresses" && !OPEN_SCHEME.test(scheme)) return whole;
    const end = endOfUserinfo(rest);
    const mark = end === 0 || schemes === "every" ? "" : `${HIDDEN}@`;
    return `${scheme}://${mark}${rest.slice(end).replace(PARAMETER, `$1${HIDDEN}`)}`;
  });
  // Plans keep the address of each source: the one of its definition costs nothing.
  return hidden === text ? text : hidden;
}

/**
 * Where user and password end. Passwords may contain `@` and other characters that should have been encoded: if the
 * colon is not followed by a port number, everything up to the last `@` counts. `ssh://git@` names nobody.
 */
function endOfUserinfo(rest: string): number {
  const authority = /^[^/?#]*/.exec(rest)?.[0] ?? "";
  const name = /^[^@:]*/.exec(rest)?.[0] ?? "";
  const password = rest.startsWith(":", name.length) && !/^:\d{0,5}(?:$|[/?#,;)\]])/.test(rest.slice(name.length));
  const end = password ? rest.lastIndexOf("@") : authority.lastIndexOf("@");
  return end === -1 || rest.slice(0, end) === "git" ? 0 : end + 1;
}

/** Names of parameters that usually hold secrets; only the last part of a dotted name counts. */
const SENSITIVE = /(?:pass|secret|token|credential|key)[^.]*$|(?:^|[.\]])(?:string|binary)?data[.[]/i;
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Whether an object carries parameters of other programs in plain text (Helm values, environments of plugins). */
export function carriesParameters({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return group === "argoproj.io" && (kind === "Application" || kind === "ApplicationSet");
}

/** Replaces each value that looks secret by a number, equal ones by equal numbers, so that a change stays visible. */
export function hideParameters(
  base: JsonObject | undefined,
  head: JsonObject | undefined,
): { readonly base: JsonObject | undefined; readonly head: JsonObject | undefined } {
  const numbers = new Map<string, number>();
  const mark = (value: Json): string => {
    const text = canonicalJson(value);
    const number = numbers.get(text) ?? numbers.size + 1;
    numbers.set(text, number);
    return `(hidden, value ${number})`;
  };
  return { base: base && hidden(base, mark), head: head && hidden(head, mark) };
}

type Mark = (value: Json) => string;

function hidden(manifest: JsonObject, mark: Mark): JsonObject {
  return mapMembers(manifest, (member, name) => hiddenMember(member, name, mark));
}

function hiddenMember(value: Json, name: string, mark: Mark): Json {
  if (name === LAST_APPLIED || SENSITIVE.test(name)) return allHidden(value, mark);
  if (TEXTS.has(name) && typeof value === "string") return hiddenText(value, mark);
  return hiddenValue(value, mark);
}

function hiddenValue(value: Json, mark: Mark, holding: ReadonlySet<string> = NO_NAMES): Json {
  if (isList(value)) {
    const named = new Set(value.flatMap((item) => (isJsonObject(item) ? namedBeside(item.name, item.value) : [])));
    return value.map((item) => hiddenValue(item, mark, named));
  }
  if (!isJsonObject(value)) return value;
  // A parameter or an environment variable has its name beside its value, and a JSON patch its path.
  const at = typeof value.op === "string" && typeof value.path === "string" ? value.path.replaceAll("/", ".") : "";
  const names = [value.name, value.key, at, `${at}.`].filter((name) => typeof name === "string");
  const named = names.some((name) => SENSITIVE.test(name) || holding.has(name));
  return mapMembers(value, (member, name) =>
    named && /^(?:value|string|array|map)$/.test(name) ? allHidden(member, mark) : hiddenMember(member, name, mark),
  );
}

/** The parameter of Helm that holds what this one names: `env[0].value` beside `env[0].name` or `.key`, if that is `DB_PASSWORD`. */
function namedBeside(name: Json | undefined, value: Json | undefined): readonly string[] {
  const names = typeof name === "string" && BESIDE.test(name) && typeof value === "string" && SENSITIVE.test(value);
  return names ? [name.replace(BESIDE, ".value")] : [];
}

const BESIDE = /\.(?:name|key)$/;
const NO_NAMES: ReadonlySet<string> = new Set();

/** Members that are YAML in one text: Helm values, Kustomize's patches, and what a set patches its template with or generates from. */
const TEXTS = new Set(["values", "patch", "templatePatch", "elementsYaml"]);

/** At the end, the path of a JSON patch that writes all of an object's data. */
const MAY_NAME_SECRET =
  /pass|secret|token|credential|key|(?<![a-z])(?:string|binary)?data[.[/]|(?<![a-z])path["']?\s*:\s*["']?\/(?:string|binary)?data\b/i;

/** A template, and what cannot be read, is hidden whole. */
function hiddenText(text: string, mark: Mark): Json {
  if (!MAY_NAME_SECRET.test(text)) return text;
  const { values, problems, repeats } = readYamlDocuments(text);
  const [value, ...others] = problems.length > 0 || repeats ? [] : values;
  const isRead = others.length === 0 && (isJsonObject(value) || isList(value));
  return isRead ? stringify(hiddenValue(value, mark), { lineWidth: 0 }) : mark(text);
}

function allHidden(value: Json, mark: Mark): Json {
  if (isList(value)) return value.map((item) => allHidden(item, mark));
  return isJsonObject(value) ? mapMembers(value, (member) => allHidden(member, mark)) : mark(value);
}

/** What a text in a manifest holds. */
type Embedded =
  /** Nothing that could be a Secret. */
  | { readonly kind: "text" }
  /** Perhaps a Secret, in a form that cannot be taken apart: the whole text must be hidden. */
  | { readonly kind: "opaque" }
  /** `named`: the text spells out a kind Secret. If no document is one, a comment or a script is. */
  | { readonly kind: "documents"; readonly documents: readonly Json[]; readonly named: boolean };

/** Characters of texts that are parsed for one application; those beyond are hidden whole if they may hold a Secret. */
const MAX_PARSED = 4 * 1024 * 1024;
const MAX_DECODED = 1024 * 1024;
const TEXT: Embedded = { kind: "text" };
const OPAQUE: Embedded = { kind: "opaque" };

/** Reads the texts inside the manifests of one application. */
export class EmbeddedTexts {
  readonly #known = new Map<string, Embedded>();
  #left = MAX_PARSED;

  /** Looks for documents of YAML or JSON in which an object of the kind Secret may stand, also in base64 and gzip. */
  read(text: string): Embedded {
    if (text.length < SHORTEST) return TEXT;
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const embedded = this.#read(text);
    this.#known.set(text, embedded);
    return embedded;
  }

  #read(text: string): Embedded {
    const plain = withoutEscapes(text);
    if (NAME_OR_PATH.test(text) || !mayHoldSecret(plain)) {
      const inner = decoded(text);
      return inner !== undefined && mayHoldSecret(withoutEscapes(inner)) ? OPAQUE : TEXT;
    }
    const named = NAMES_SECRET.test(plain);
    this.#left -= text.length;
    if (this.#left < 0) return OPAQUE;
    const documents = readDocuments(text);
    if (documents !== undefined) return { kind: "documents", documents, named };
    return NAMES_MAKER.test(plain) || HAS_STRING_DATA.test(plain) ? OPAQUE : TEXT;
  }
}

/** No notation has a member with a value in such a text, but base64: it is an image, a host or a path, whatever words it is made of. */
const NAME_OR_PATH = /^[\w./:@*-]+$/;
/** No shorter text is a Secret with a value. */
const SHORTEST = 24;
const HAS_STRING_DATA = /stringdata/i;
const NAMES_SECRET = /\bkind\b[^\w]{1,20}(?:!!?\w{1,10}\s+|&\w{1,20}\s+)?["'\\]{0,4}secret(?:list)?\b/i;
/** Also kinds that make up a Secret, such as ClusterSecret and SecretProviderClass. */
const NAMES_MAKER = /\bkind\b[^\w]{1,20}(?:!!?\w{1,10}\s+|&\w{1,20}\s+)?["'\\]{0,4}(?!sealed)\w{0,60}?secret/i;

function mayHoldSecret(plain: string): boolean {
  return (/kind/i.test(plain) && /secret/i.test(plain)) || HAS_STRING_DATA.test(plain);
}

/** The text with what JSON and YAML can write in another way: `\u0053ecret`, and a word across two lines. */
function withoutEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return text
    .replace(/(?<!\\)\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|U([0-9a-f]{8}))/gi, (_, ...digits: (string | undefined)[]) => {
      const point = Number.parseInt(digits.slice(0, 3).join(""), 16);
      return point <= 0x10ffff ? String.fromCodePoint(point) : "";
    })
    .replace(/\\\r?\n[ \t]*/g, "");
}

/** The documents of a text of JSON or YAML; undefined if it is none, or says more than its documents. */
function readDocuments(text: string): readonly Json[] | undefined {
  const json = parseJson(text);
  if (json !== undefined) return isNestedDeeper(YAML_LIMITS.depth, json) ? undefined : [json as Json];
  const { values, problems, repeats } = readYamlDocuments(text);
  return problems.length > 0 || repeats ? undefined : values;
}

/** The text behind base64, unpacked if it was compressed; undefined if there is none. */
function decoded(text: string): string | undefined {
  const isBase64 = /^[A-Za-z0-9+/_-][A-Za-z0-9+/_\s-]*={0,2}$/;
  if (text.length > 2 * MAX_DECODED || !isBase64.test(text.trimEnd())) return undefined;
  const bytes = Buffer.from(text, "base64");
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.toString("utf8");
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_DECODED }).toString("utf8");
  } catch {
    return undefined;
  }
}

/**
 * Whether an annotation carries a copy of an object, as tools leave it behind that compare with what they applied last:
 * kubectl, kapp, Rancher (`objectset.rio.cattle.io/applied`), Kopf, operators with k8s-objectmatcher, and others.
 */
export function isObjectCopy(name: string, value: Json): boolean {
  if (READ_BY_SYNCS.test(name)) return false;
  if (COPY_NAME.test(name)) return true;
  if (typeof value !== "string" || value.length < SHORTEST) return false;
  if (COMPRESSED.test(value)) return true;
  return [value, decoded(value)].some((text) => text !== undefined && looksLikeObject(text));
}

/** Argo CD takes its options out of any text between commas, which may look like an object beside them. */
const READ_BY_SYNCS = /^(?:argocd\.argoproj\.io|helm\.sh)\//;
const COPY_NAME =
  /last-?(?:applied|handled|known)|[/._-](?:applied|original)(?:[._-]?(?:config(?:uration)?|manifest|object|resource|spec|state|diff))?$/i;
/** Base64 of gzip and zip. */
const COMPRESSED = /^(?:H4sI|UEsDB)/;

function looksLikeObject(text: string): boolean {
  if (!/^\s*["[{]|\n/.test(text) || !/kind|data|spec/i.test(withoutEscapes(text))) return false;
  return (readDocuments(text) ?? []).some((value) =>
    typeof value === "string" && value !== text ? looksLikeObject(value) : holdsObject(value),
  );
}

function holdsObject(value: Json): boolean {
  if (isList(value)) return value.some(holdsObject);
  if (!isJsonObject(value)) return false;
  if (value.kind !== undefined && ["apiVersion", "metadata", "spec", "data"].some((name) => name in value)) return true;
  if (isJsonObject(value.data) || value.stringData !== undefined) return true;
  return isJsonObject(value.spec) || Object.values(value).some((member) => member !== undefined && holdsObject(member));
}
