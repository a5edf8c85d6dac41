import {
  Composer,
  isAlias,
  isScalar,
  Parser,
  visit,
  type Document,
  type DocumentOptions,
  type ParseOptions,
  type SchemaOptions,
} from "yaml";
import { isNestedDeeper } from "../../../config/yaml-nesting.js";
import type { Json } from "../../model/json.js";

/** What a text of YAML documents says. A broken document spoils only itself. */
export interface YamlDocuments {
  readonly values: readonly Json[];
  /** Why documents (or the rest of the text) could not be read; the text of each is safe, its content is not quoted. */
  readonly problems: readonly string[];
}

/** A file with more documents than this to look into is read no further. */
export const MAX_DOCUMENTS = 1000;
/** In characters; parsing takes some seconds per megabyte. */
const MAX_DOCUMENT = 256 * 1024;
const MAX_NODES = 100_000;
const MAX_DEPTH = 100;

/**
 * Reads a text of YAML documents as plain JSON; `wanted` looks at a document's text before it is parsed, which is what
 * makes a file of thousands of other documents cheap. Hostile texts (alias bombs, endless nesting) are problems.
 */
export function readYamlDocuments(text: string, wanted: (document: string) => boolean = () => true): YamlDocuments {
  const values: Json[] = [];
  const problems: string[] = [];
  // A line that begins with `---` is a document's start wherever it stands (YAML 1.2, section 9.1.2).
  const texts = text.split(/^---(?=\s|$)/m).filter((part) => part.trim() !== "" && wanted(part));
  for (const part of texts.slice(0, MAX_DOCUMENTS)) {
    try {
      if (part.length > MAX_DOCUMENT) throw new Unreadable(TOO_LARGE);
      const tokens = [...new Parser().parse(part)];
      if (tokens.some((token) => isNestedDeeper(token, MAX_DEPTH))) throw new Unreadable(TOO_LARGE);
      for (const document of new Composer(PARSE_OPTIONS).compose(tokens)) values.push(readDocument(document));
    } catch (error) {
      problems.push(problemOf(error, part));
    }
  }
  if (texts.length > MAX_DOCUMENTS) problems.push(`it has more than ${MAX_DOCUMENTS} documents to look into`);
  return { values, problems };
}

const PARSE_OPTIONS: ParseOptions & DocumentOptions & SchemaOptions = {
  logLevel: "silent",
  prettyErrors: false,
  // As in Kubernetes the last of two equal keys wins.
  uniqueKeys: false,
  merge: true,
};

class Unreadable extends Error {}
const TOO_LARGE = "it is too large or nested too deeply";

function readDocument(document: Document.Parsed): Json {
  const [error] = document.errors;
  if (error !== undefined) throw error;
  keepRevisionTexts(document);
  let nodes = 0;
  return toJson(document.toJS({ maxAliasCount: 100 }), 0);

  function toJson(value: unknown, depth: number): Json {
    nodes += 1;
    // Aliases share what they stand for, so a small text can be a huge value.
    if (nodes > MAX_NODES || depth > MAX_DEPTH) throw new Unreadable(TOO_LARGE);
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
    if (Array.isArray(value)) return value.map((item: unknown) => toJson(item, depth + 1));
    if (typeof value !== "object") return null;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toJson(member, depth + 1)]));
  }
}

const REVISION_KEYS = new Set(["targetRevision", "revision", "targetBranch"]);

/** `targetRevision: 1.10` is a name and no number: it stays `1.10`. */
function keepRevisionTexts(document: Document.Parsed): void {
  visit(document, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || typeof key.value !== "string" || !REVISION_KEYS.has(key.value)) return;
      const scalar = isAlias(value) ? value.resolve(document) : value;
      if (
        isScalar(scalar) &&
        typeof scalar.value !== "string" &&
        scalar.value !== null &&
        scalar.source !== undefined
      ) {
        scalar.value = scalar.source;
      }
    },
  });
}

function problemOf(error: unknown, text: string): string {
  if (error instanceof Unreadable) return error.message;
  if (text.includes("{{")) return "it is a template";
  if (error instanceof ReferenceError) return "its aliases cannot be resolved";
  return "it is no valid YAML";
}
