import type { Manifest, ApplicationSpec } from "../model/application.js";
import { isJsonObject, type JsonObject, type Json } from "../model/json.js";

const HELM_TYPES: Readonly<Record<string, string>> = {
  "pre-install": "PreSync",
  "pre-upgrade": "PreSync",
  "post-install": "PostSync",
  "post-upgrade": "PostSync",
};
const RUN_BY_A_SYNC = new Set(["PreSync", "Sync", "PostSync", "SyncFail"]);

/**
 * Whether Argo CD runs the object as a hook: by its own annotation, unless its only value is `Skip`, or else by Helm's,
 * unless that is `crd-install` (Argo CD v3.5, gitops-engine `hook.IsHook`).
 */
export function isHook(manifest: Manifest): boolean {
  const own = annotationOf(manifest, "argocd.argoproj.io/hook");
  if (own !== undefined) return !isNeverApplied(manifest);
  const helm = annotationOf(manifest, "helm.sh/hook");
  return helm !== undefined && typesOf(helm).join() !== "crd-install";
}

/** Whether a sync ignores the object, because its annotation is only `Skip` (gitops-engine `hook.Skip`). */
export function isNeverApplied(manifest: Manifest): boolean {
  const own = annotationOf(manifest, "argocd.argoproj.io/hook");
  return own !== undefined && typesOf(own).join() === "Skip";
}

/** When a sync runs this hook: `PreSync`, `Sync`, `PostSync`, `SyncFail`. Empty if no sync runs it, as Helm's `test`. */
export function syncHookTypes(manifest: Manifest): readonly string[] {
  const own = annotationOf(manifest, "argocd.argoproj.io/hook");
  const helm = annotationOf(manifest, "helm.sh/hook") ?? "";
  const types = own === undefined ? typesOf(helm).map((type) => HELM_TYPES[type] ?? "") : typesOf(own);
  return [...new Set(types)].filter((type) => RUN_BY_A_SYNC.has(type));
}

function typesOf(annotation: string): readonly string[] {
  return annotation
    .split(",")
    .map((type) => type.trim())
    .filter((type) => type !== "");
}

export function annotationOf(manifest: JsonObject | undefined, name: string): string | undefined {
  const metadata = manifest?.metadata;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  const value = isJsonObject(annotations) ? annotations[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

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
