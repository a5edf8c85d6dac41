import { parse } from "yaml";
import { unknown } from "../api-error.js";
import { isObject, mergePatch, type Json } from "../json.js";
import { repaired } from "../read-request.js";
import type { Source } from "../resource.js";
import { source as sourceSchema } from "../schemas/application-spec.js";
import type { Checkout } from "./checkout.js";
import { resolvePath } from "./paths.js";

/**
 * Applies `.argocd-source.yaml` and then `.argocd-source-<instance>.yaml` to the source. They cannot change its location.
 * https://argo-cd.readthedocs.io/en/release-3.1/user-guide/parameters/#store-overrides-in-git
 */
export async function withOverrides(checkout: Checkout, source: Source, instance: string): Promise<Source> {
  let merged: Json = source;
  for (const name of [".argocd-source.yaml", `.argocd-source-${instance}.yaml`]) {
    const text = await checkout.text(resolvePath(checkout.path, name));
    if (text === undefined) continue;
    const patch: unknown = parse(text);
    if (isObject(patch)) merged = mergePatch(merged, patch);
    else if (patch !== null) throw unknown(`error unmarshaling JSON: ${name}`);
  }
  const { chart, path, repoURL, targetRevision } = source;
  const parsed = repaired(sourceSchema, merged, "ApplicationSource", () => undefined) as Source;
  return { ...parsed, chart, path, repoURL, targetRevision };
}
