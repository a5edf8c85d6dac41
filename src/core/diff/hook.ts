import type { Manifest } from "../application.js";
import { isJsonObject } from "../json.js";

/**
 * Whether Argo CD runs it as a hook instead of keeping it in sync: by its own annotation, unless that says only `Skip`,
 * or else by Helm's, unless that is `crd-install` (Argo CD v3.5, gitops-engine `hook.IsHook`).
 */
export function isHook(manifest: Manifest): boolean {
  const metadata = manifest.metadata;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  if (!isJsonObject(annotations)) return false;
  const own = annotations["argocd.argoproj.io/hook"];
  if (typeof own === "string") return typesOf(own).join() !== "Skip";
  const helm = annotations["helm.sh/hook"];
  return typeof helm === "string" && typesOf(helm).join() !== "crd-install";
}

function typesOf(annotation: string): readonly string[] {
  return annotation
    .split(",")
    .map((type) => type.trim())
    .filter((type) => type !== "");
}
