import type { ApplicationSpec } from "../model/application.js";
import { isJsonObject, type Json, type JsonObject } from "../model/json.js";
import { annotationOf } from "./annotation.js";

/** `spec.syncPolicy.syncOptions`, which apply to every object of the application. */
export function applicationSyncOptions({ syncPolicy }: ApplicationSpec): readonly string[] {
  const options = isJsonObject(syncPolicy) ? syncPolicy.syncOptions : undefined;
  if (!Array.isArray(options)) return [];
  return (options as readonly Json[]).flatMap((option) => (typeof option === "string" ? [option.trim()] : []));
}

/** Whether an option such as `Replace=true` applies to an object, from its own annotation or from the application. */
export function hasSyncOption(
  manifest: JsonObject | undefined,
  option: string,
  ofApplication: readonly string[],
): boolean {
  const own = annotationOf(manifest, "argocd.argoproj.io/sync-options") ?? "";
  const [name] = option.split("=");
  const options = own.split(",").map((text) => text.trim());
  // The object's own value overrides the application's.
  const overridden = options.some((text) => text.startsWith(`${name ?? ""}=`));
  return overridden ? options.includes(option) : ofApplication.includes(option);
}
