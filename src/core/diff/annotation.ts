import { isJsonObject, type JsonObject } from "../model/json.js";

/** The value of an annotation; undefined if it is missing or not a string. */
export function annotationOf(manifest: JsonObject | undefined, name: string): string | undefined {
  const metadata = manifest?.metadata;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  const value = isJsonObject(annotations) ? annotations[name] : undefined;
  return typeof value === "string" ? value : undefined;
}
