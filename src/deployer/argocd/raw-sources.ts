import type { ApplicationSpec } from "../../core/model/application.js";
import { isJsonObject } from "../../core/model/json.js";
import type { JsonObject } from "../../core/model/json.js";

/** The sources that are rendered, whole and in the order of their positions; of a hydrated application its dry source. */
export function rawSources(spec: ApplicationSpec): readonly JsonObject[] {
  const { sourceHydrator: hydrator, sources, source } = spec;
  if (isJsonObject(hydrator)) return isJsonObject(hydrator.drySource) ? [hydrator.drySource] : [];
  if (Array.isArray(sources) && sources.length > 0) {
    return sources.map((one: unknown) => (isJsonObject(one) ? one : {}));
  }
  return isJsonObject(source) ? [source] : [];
}
