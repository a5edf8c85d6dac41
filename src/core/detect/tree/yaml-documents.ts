import { isAlias, isScalar, visit, type Document, type Scalar } from "yaml";
import { composeYaml, YAML_LIMITS, YamlRefused } from "../../../config/bounded-yaml.js";
import { yamlValue } from "../../../config/yaml-values.js";
import type { Json } from "../../model/json.js";

/** The documents of a YAML text. A broken document does not affect the others. */
export interface YamlDocuments {
  readonly values: readonly Json[];
  /** Why documents, or the rest of the text, could not be read. Quotes nothing of the text. */
  readonly problems: readonly string[];
}

/** The rest of a file with more documents is not read. */
export const MAX_DOCUMENTS = YAML_LIMITS.documents;

/**
 * Reads the YAML documents of a text as plain JSON. `wanted` sees the text of each document before it is parsed, so that
 * a file with thousands of other documents stays cheap.
 */
export function readYamlDocuments(text: string, wanted: (document: string) => boolean = () => true): YamlDocuments {
  const values: Json[] = [];
  const problems: string[] = [];
  // A line that begins with `---` always starts a document (YAML 1.2, section 9.1.2).
  const texts = text.split(/^---(?=\s|$)/m).filter((part) => part.trim() !== "" && wanted(part));
  for (const part of texts.slice(0, MAX_DOCUMENTS)) {
    try {
      for (const document of composeYaml(part)) {
        keepRevisionTexts(document);
        values.push(yamlValue(document));
      }
    } catch (error) {
      problems.push(problemOf(error, part));
    }
  }
  if (texts.length > MAX_DOCUMENTS) problems.push(`it has more than ${MAX_DOCUMENTS} documents to look into`);
  return { values, problems };
}

const REVISION_KEYS = new Set(["targetRevision", "revision", "targetBranch"]);

/** Keeps `targetRevision: 1.10` as the name `1.10`, which YAML reads as the number 1.1. */
function keepRevisionTexts(document: Document.Parsed): void {
  const anchored = new Map<string, Scalar>();
  visit(document, {
    Scalar(_, scalar) {
      if (scalar.anchor !== undefined) anchored.set(scalar.anchor, scalar);
    },
    Pair(_, { key, value }) {
      if (!isScalar(key) || typeof key.value !== "string" || !REVISION_KEYS.has(key.value)) return;
      const scalar = isAlias(value) ? anchored.get(value.source) : value;
      if (isScalar(scalar) && typeof scalar.value !== "string" && scalar.value !== null) {
        scalar.value = scalar.source ?? scalar.value;
      }
    },
  });
}

function problemOf(error: unknown, text: string): string {
  const reason = error instanceof YamlRefused ? error.reason : "syntax";
  switch (reason) {
    case "characters":
    case "depth":
    case "documents":
    case "values":
      return "it is too large or nested too deeply";
    case "aliases":
      return text.includes("{{") ? "it is a template" : "its aliases cannot be resolved";
    case "collection-key":
    case "syntax":
      return text.includes("{{") ? "it is a template" : "it is no valid YAML";
  }
}
