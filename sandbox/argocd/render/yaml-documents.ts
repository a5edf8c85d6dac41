import { parseAllDocuments } from "yaml";
import { failedPrecondition } from "../api-error.js";
import { isObject, listAt, type JsonObject } from "../json.js";
import type { Manifest } from "../manifest.js";

/** Every object of a YAML stream, without empty documents. */
export function readObjects(text: string): JsonObject[] {
  const objects: JsonObject[] = [];
  for (const document of parseAllDocuments(text, { uniqueKeys: false, maxAliasCount: 100 } as object)) {
    if (document.errors[0] !== undefined) throw new Error(document.errors[0].message.split("\n")[0]);
    const value: unknown = document.toJS();
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
