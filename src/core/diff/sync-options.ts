import type { ApplicationSpec } from "../model/application.js";
import { isJsonObject, type Json, type JsonObject } from "../model/json.js";
import { annotationOf } from "./annotation.js";

/** `spec.syncPolicy.syncOptions`: they hold for every object of the application. */
export function applicationSyncOptions({ syncPolicy }: ApplicationSpec): readonly string[] {
  const options = isJsonObject(syncPolicy) ? syncPolicy.syncOptions : undefined;
  if (!Array.isArray(options)) return [];
  return (options as readonly Json[]).flatMap((option) => (typeof option === "string" ? [option.trim()] : []));
}

/** Whether an option such as `Replace=true` holds for an object: from its own annotation or from the application. */
export function hasSyncOption(
  manifest: JsonObject | undefined,
  option: string,
  ofApplication: readonly string[],
): boolean {
  const own = annotationOf(manifest, "argocd.argoproj.io/sync-options") ?? "";
  const [name] = option.split("=");
  const options = own.split(",").map((text) => text.trim());
  // What the object itself says beats what the application says.
  const said = options.some((text) => text.startsWith(`${name ?? ""}=`));
  return said ? options.includes(option) : ofApplication.includes(option);
}
