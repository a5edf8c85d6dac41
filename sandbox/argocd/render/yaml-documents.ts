import { failedPrecondition } from "../api-error.js";
import { isObject, listAt, type JsonObject } from "../json.js";
import type { Manifest } from "../manifest.js";
import { readYamlDocuments } from "../yaml.js";

/** Every object of a YAML stream, without empty documents. */
export function readObjects(text: string): JsonObject[] {
  const objects: JsonObject[] = [];
  for (const value of readYamlDocuments(text)) {
    if (value === null || value === undefined) continue;
    if (!isObject(value)) {
      throw new Error("error unmarshaling JSON: while decoding JSON: json: cannot unmarshal into map");
    }
    objects.push(value);
  }
  return objects;
}

/** Manifests of a file, with `List` kinds expanded. @throws {ApiError} code 9 naming the file, as the repo-server does. */
export function readManifests(file: string, text: string): Manifest[] {
  let objects: JsonObject[];
  try {
    objects = readObjects(text);
  } catch (error) {
    throw failedPrecondition(`Failed to unmarshal "${file}": ${error instanceof Error ? error.message : ""}`);
  }
  return objects.flatMap((object) =>
    typeof object.kind === "string" && object.kind.endsWith("List") && Array.isArray(object.items)
      ? listAt(object, "items").filter(isObject)
      : [object],
  );
}
