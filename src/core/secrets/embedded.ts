import { gunzipSync } from "node:zlib";
import { YAML_LIMITS } from "../../config/bounded-yaml.js";
import { readYamlDocuments } from "../detect/tree/yaml-documents.js";
import { isList } from "../model/effect.js";
import { isJsonObject, isNestedDeeper, type Json, parseJson } from "../model/json.js";

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
    if (!mayHoldSecret(plain)) {
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
    .replace(/\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|U([0-9a-f]{8}))/gi, (_, ...digits: (string | undefined)[]) => {
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
  if (text.length > 2 * MAX_DECODED || !/^[A-Za-z0-9+/_-][A-Za-z0-9+/_\s-]*={0,2}\s*$/.test(text)) return undefined;
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
  if (COPY_NAME.test(name)) return true;
  if (typeof value !== "string" || value.length < SHORTEST) return false;
  if (COMPRESSED.test(value)) return true;
  return [value, decoded(value)].some((text) => text !== undefined && looksLikeObject(text));
}

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
