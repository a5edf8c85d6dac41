import { parseAllDocuments } from "yaml";
import { isObject, type JsonObject } from "../../sandbox/argocd/json.js";
import type { Manifest } from "../../sandbox/argocd/manifest.js";

/** The objects of a YAML text with several documents, empty ones left out. @throws {Error} for anything else. */
export function yamlObjects(text: string): readonly Manifest[] {
  const documents = parseAllDocuments(text);
  return ("empty" in documents ? [] : documents).flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    const value: unknown = document.toJS();
    if (value === null) return [];
    if (!isObject(value)) throw new Error("a document is no object");
    return [value];
  });
}

/** Members of the second laid over those of the first, objects member by member. */
export function merged(under: JsonObject, over: JsonObject): JsonObject {
  const members = Object.entries(over).map(([key, value]) => {
    const below = under[key];
    return [key, isObject(below) && isObject(value) ? merged(below, value) : value] as const;
  });
  return { ...under, ...Object.fromEntries(members) };
}
