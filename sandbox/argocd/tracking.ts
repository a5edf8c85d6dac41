import { copy, objectAt, stringAt, type JsonObject } from "./json.js";
import { keyOf, type Manifest, type ObjectKey } from "./manifest.js";

export type TrackingMethod = "annotation" | "label" | "annotation+label";

export interface Tracking {
  method: TrackingMethod;
  labelKey: string;
}

export const trackingAnnotation = "argocd.argoproj.io/tracking-id";

/** Marks an object as belonging to an application. https://argo-cd.readthedocs.io/en/release-3.1/user-guide/resource_tracking/ */
export function tracked(manifest: Manifest, instance: string, defaultNamespace: string, tracking: Tracking): Manifest {
  const metadata: JsonObject = { ...objectAt(manifest, "metadata") };
  if (tracking.method !== "label" && manifest.kind !== "CustomResourceDefinition") {
    const annotations = {
      ...objectAt(metadata, "annotations"),
      [trackingAnnotation]: trackingId(manifest, instance, defaultNamespace),
    };
    metadata.annotations = annotations;
  }
  if (tracking.method !== "annotation") {
    const value = tracking.method === "label" ? instance : instance.slice(0, 63);
    metadata.labels = { ...objectAt(metadata, "labels"), [tracking.labelKey]: value };
  }
  return { ...copy(manifest), metadata };
}

/** Includes the namespace of cluster-scoped objects too: the renderer does not know scopes. */
function trackingId(manifest: Manifest, instance: string, defaultNamespace: string): string {
  const { group, kind, name } = keyOf(manifest, defaultNamespace);
  const namespace = stringAt(manifest, "metadata", "namespace") ?? defaultNamespace;
  return `${instance}:${group}/${kind}:${namespace}/${name}`;
}

/** The instance that a live object is tracked as part of. */
export function trackedBy(live: Manifest, key: ObjectKey, tracking: Tracking): string | undefined {
  if (tracking.method === "label") return stringAt(live, "metadata", "labels", tracking.labelKey);
  const id = stringAt(live, "metadata", "annotations", trackingAnnotation);
  const [, instance, group, kind, name] = /^([^:]+):([^/]*)\/([^:]+):[^/]*\/(.+)$/.exec(id ?? "") ?? [];
  return group === key.group && kind === key.kind && name === key.name ? instance : undefined;
}
