import { listAt, objectAt, stringAt, type JsonObject } from "./json.js";

/** One Kubernetes object. */
export type Manifest = JsonObject;

/** Identifies an object in a cluster. */
export interface ObjectKey {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** In another cluster, where Applications are objects like others. */
  readonly elsewhere?: boolean;
}

const clusterScoped = new Set([
  "Namespace",
  "CustomResourceDefinition",
  "ClusterRole",
  "ClusterRoleBinding",
  "PersistentVolume",
  "StorageClass",
  "PriorityClass",
  "IngressClass",
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
]);

export function groupOf(manifest: Manifest): string {
  const [group = "", version] = (stringAt(manifest, "apiVersion") ?? "").split("/");
  return version === undefined ? "" : group;
}

export function versionOf(manifest: Manifest): string {
  return (stringAt(manifest, "apiVersion") ?? "").split("/").at(-1) ?? "";
}

/** The key, with the default namespace filled in unless the kind is cluster-scoped. */
export function keyOf(manifest: Manifest, defaultNamespace: string): ObjectKey {
  const kind = stringAt(manifest, "kind") ?? "";
  const namespace = clusterScoped.has(kind) ? "" : (stringAt(manifest, "metadata", "namespace") ?? defaultNamespace);
  return { group: groupOf(manifest), kind, namespace, name: stringAt(manifest, "metadata", "name") ?? "" };
}

export function textOfKey(key: ObjectKey): string {
  return [key.group, key.kind, key.namespace, key.name].join("/");
}

export function annotation(manifest: Manifest, name: string): string | undefined {
  return stringAt(manifest, "metadata", "annotations", name);
}

export function withAnnotation(manifest: Manifest, name: string, value: string): Manifest {
  const metadata = objectAt(manifest, "metadata");
  return {
    ...manifest,
    metadata: { ...metadata, annotations: { ...objectAt(metadata, "annotations"), [name]: value } },
  };
}

export function withNamespace(manifest: Manifest, namespace: string): Manifest {
  const metadata = objectAt(manifest, "metadata");
  return namespace === "" ? manifest : { ...manifest, metadata: { ...metadata, namespace } };
}

/** Container images of a workload. */
export function imagesOf(manifest: Manifest): string[] {
  const pods = [objectAt(manifest, "spec", "template", "spec"), objectAt(manifest, "spec")];
  const containers = pods.flatMap((pod) => [...listAt(pod, "initContainers"), ...listAt(pod, "containers")]);
  return [...new Set(containers.flatMap((container) => stringAt(container, "image") ?? []))].sort();
}

const hookOfHelm: Readonly<Record<string, string>> = {
  "pre-install": "PreSync",
  "pre-upgrade": "PreSync",
  "post-install": "PostSync",
  "post-upgrade": "PostSync",
  "pre-delete": "PreDelete",
  "post-delete": "PostDelete",
};

const phasesOfArgo = ["PreSync", "Sync", "PostSync", "SyncFail", "Skip", "PreDelete", "PostDelete"];

/** The values between the commas of an annotation. Go trims U+0085 and no U+FEFF, JavaScript the other one of them. */
export function annotationValues(manifest: Manifest, name: string): string[] {
  const blank = /[^\S\ufeff]|\u0085/;
  return (annotation(manifest, name) ?? "").split(",").flatMap((written) => {
    let [from, to] = [0, written.length];
    while (from < to && blank.test(written.charAt(from))) from += 1;
    while (to > from && blank.test(written.charAt(to - 1))) to -= 1;
    return from === to ? [] : [written.slice(from, to)];
  });
}

/** Phases in which the object runs as a hook. Undefined: it is no hook. Empty, or only `Skip`: it is never applied. */
export function hookPhases(manifest: Manifest): string[] | undefined {
  const own = annotation(manifest, "argocd.argoproj.io/hook");
  const helm = annotation(manifest, "helm.sh/hook");
  if (own === undefined && (helm === undefined || helm === "crd-install")) return undefined;
  const phases = annotationValues(manifest, "argocd.argoproj.io/hook").filter((one) => phasesOfArgo.includes(one));
  if (phases.length > 0) return [...new Set(phases)];
  return [...new Set(annotationValues(manifest, "helm.sh/hook").flatMap((hook) => hookOfHelm[hook] ?? []))];
}
