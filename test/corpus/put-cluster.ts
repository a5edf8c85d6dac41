import type { ArgoCd } from "../../sandbox/argocd/argocd.js";
import { isObject, sortedText } from "../../sandbox/argocd/json.js";
import { keyOf, withAnnotation, type Manifest } from "../../sandbox/argocd/manifest.js";
import { lastAppliedAnnotation } from "../../sandbox/argocd/masking.js";
import { trackingAnnotation } from "../../sandbox/argocd/tracking.js";
import { merged, yamlObjects } from "./yaml-objects.js";

/** Registers the case's live Applications and ApplicationSets. */
export function putApplications(argocd: ArgoCd, text: string): void {
  for (const resource of yamlObjects(text)) {
    if (resource.kind === "ApplicationSet") argocd.addApplicationSet(resource);
    else argocd.addApplication(resource);
  }
}

/**
 * Writes the case's live objects. `applied_by` names the application that Argo CD applied an object for, and adds the marks
 * that this leaves; `live_only` is what others wrote into it since, so that no apply takes it away.
 */
export function putObjects(argocd: ArgoCd, text: string): void {
  for (const { applied_by: instance, live_only: more, ...object } of yamlObjects(text)) {
    const written = typeof instance === "string" ? asApplied(object, instance) : object;
    argocd.putLiveObject(isObject(more) ? merged(written, more) : written);
  }
}

function asApplied(object: Manifest, instance: string): Manifest {
  const { group, kind, namespace, name } = keyOf(object, "");
  const tracked = withAnnotation(object, trackingAnnotation, `${instance}:${group}/${kind}:${namespace}/${name}`);
  return withAnnotation(tracked, lastAppliedAnnotation, `${sortedText(tracked)}\n`);
}
