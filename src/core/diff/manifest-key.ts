import type { ApplicationSpec, Manifest } from "../model/application.js";
import { isJsonObject, isList, type Json, type JsonObject, objectsIn, stringsIn } from "../model/json.js";

/** Identifies an object on both sides, and names it for users. */
export interface ManifestIdentity {
  readonly group: string;
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  /** Empty for a generated name. */
  readonly name: string;
  /** The beginning of a generated name. Beside a name it has no effect. */
  readonly generateName: string;
}

/** Cluster-scoped kinds of Kubernetes itself: `+genclient:nonNamespaced` among the types of its API (k8s.io/api). */
const CLUSTER_KINDS = new Set([
  "/Namespace",
  "/Node",
  "/PersistentVolume",
  "admissionregistration.k8s.io/MutatingAdmissionPolicy",
  "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
  "admissionregistration.k8s.io/MutatingWebhookConfiguration",
  "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
  "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
  "apiextensions.k8s.io/CustomResourceDefinition",
  "apiregistration.k8s.io/APIService",
  "certificates.k8s.io/CertificateSigningRequest",
  "certificates.k8s.io/ClusterTrustBundle",
  "flowcontrol.apiserver.k8s.io/FlowSchema",
  "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
  "networking.k8s.io/IPAddress",
  "networking.k8s.io/IngressClass",
  "networking.k8s.io/ServiceCIDR",
  "node.k8s.io/RuntimeClass",
  "policy/PodSecurityPolicy",
  "rbac.authorization.k8s.io/ClusterRole",
  "rbac.authorization.k8s.io/ClusterRoleBinding",
  "resource.k8s.io/DeviceClass",
  "resource.k8s.io/DeviceTaintRule",
  "resource.k8s.io/ResourceSlice",
  "scheduling.k8s.io/PriorityClass",
  "storage.k8s.io/CSIDriver",
  "storage.k8s.io/CSINode",
  "storage.k8s.io/StorageClass",
  "storage.k8s.io/VolumeAttachment",
  "storage.k8s.io/VolumeAttributesClass",
  "storagemigration.k8s.io/StorageVersionMigration",
]);

/** No namespace means the destination's. Custom kinds may be cluster-scoped, which does not matter for identification. */
export function identify(manifest: Manifest, destinationNamespace: string): ManifestIdentity {
  const metadata = isJsonObject(manifest.metadata) ? manifest.metadata : {};
  const apiVersion = text(manifest.apiVersion);
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  const kind = text(manifest.kind);
  const name = text(metadata.name);
  return {
    group,
    kind,
    namespace: CLUSTER_KINDS.has(`${group}/${kind}`) ? "" : text(metadata.namespace) || destinationNamespace,
    name,
    generateName: name === "" ? text(metadata.generateName) : "",
  };
}

/** Whether Argo CD marks the object with its application. Definitions of custom resources keep the mark of their manifest. */
export function isTracked(manifest: Manifest): boolean {
  const { group, kind } = identify(manifest, "");
  return group !== "apiextensions.k8s.io" || kind !== "CustomResourceDefinition";
}

/** One text per identity. Objects with a generated name are numbered in their order. */
export function keyOf({ group, kind, namespace, name, generateName }: ManifestIdentity, occurrence = 0): string {
  return JSON.stringify([group, kind, namespace, name, generateName, name === "" ? occurrence : 0]);
}

/** `apps/Deployment guestbook/web`, without the group for core kinds and without the namespace for cluster-scoped ones. */
export function titleOf({ group, kind, namespace, name, generateName }: ManifestIdentity): string {
  const called = name || (generateName === "" ? "(without a name)" : `${generateName}(generated)`);
  const type = group === "" ? kind || "(without a kind)" : `${group}/${kind}`;
  return namespace === "" ? `${type} ${called}` : `${type} ${namespace}/${called}`;
}

interface Identified {
  readonly identity: ManifestIdentity;
  readonly manifest: Manifest;
  /** How many manifests up to this one have its identity. */
  readonly times: number;
}

/** The namespaces in which a change of these objects changes something: of a Namespace, all that is in it. */
export function namespacesOf(objects: readonly ManifestIdentity[]): readonly string[] {
  const isWhole = ({ group, kind }: ManifestIdentity) => group === "" && kind === "Namespace";
  return [...new Set(objects.map((one) => (isWhole(one) ? one.name : one.namespace)))].filter((one) => one !== "");
}

/**
 * The manifests by identity. Of equal ones the last wins, as in Argo CD, which takes the place in the list for the end of a generated
 * name there (`DeduplicateTargetObjects`). Those with a generated name are numbered.
 */
export function byIdentity(
  manifests: readonly Manifest[],
  destinationNamespace: string,
): ReadonlyMap<string, Identified> {
  const found = new Map<string, Identified>();
  const occurrences = new Map<string, number>();
  for (const [at, manifest] of manifests.flatMap((one) => flattened(one, 0)).entries()) {
    const identity = identify(manifest, destinationNamespace);
    const key = keyOf(identity);
    const { name, generateName } = identity;
    if (name === "" && generateName !== "") {
      found.delete(keyOf({ ...identity, name: `${generateName}${at}`, generateName: "" }));
    }
    const occurrence = occurrences.get(key) ?? 0;
    occurrences.set(key, occurrence + 1);
    found.set(keyOf(identity, occurrence), { identity, manifest, times: occurrence + 1 });
  }
  return found;
}

export function hasNamespace({ metadata }: Manifest): boolean {
  return isJsonObject(metadata) && (metadata.namespace ?? "") !== "";
}

/** The manifest with this namespace in its metadata, or without any. */
export function inNamespace(manifest: Manifest, namespace: string | undefined): Manifest {
  const { metadata } = manifest;
  if (namespace === undefined && !isJsonObject(metadata)) return manifest;
  return { ...manifest, metadata: { ...(isJsonObject(metadata) ? metadata : {}), namespace } };
}

const MAX_LISTS = 4;

/** Argo CD usually unpacks lists itself; a Secret must not hide in one that it left. */
function flattened(manifest: Manifest, depth: number): readonly Manifest[] {
  const { kind, items } = manifest;
  const hasItems = typeof kind === "string" && kind.endsWith("List") && isList(items);
  if (!hasItems || depth > MAX_LISTS) return [manifest];
  // Items of a typed list may leave out what the list says of all of them.
  const each = kind === "List" ? {} : { apiVersion: manifest.apiVersion, kind: kind.slice(0, -"List".length) };
  return objectsIn(items).flatMap((item) => flattened({ ...each, ...item }, depth + 1));
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

const HELM_TYPES: Readonly<Record<string, string>> = {
  "pre-install": "PreSync",
  "pre-upgrade": "PreSync",
  "post-install": "PostSync",
  "post-upgrade": "PostSync",
};
const SKIP = "Skip";
const RUN_BY_A_SYNC = new Set(["PreSync", "Sync", "PostSync", "SyncFail"]);

/**
 * Whether Argo CD runs the object as a hook: by its own annotation, unless its only value is `Skip`, or else by Helm's,
 * unless that is `crd-install` (Argo CD v3.5, gitops-engine `hook.IsHook`).
 */
export function isHook(manifest: Manifest): boolean {
  if (annotationOf(manifest, "argocd.argoproj.io/hook") !== undefined) return !isSkipped(manifest);
  const helm = annotationOf(manifest, "helm.sh/hook");
  return helm !== undefined && helm !== "crd-install";
}

/** Whether every version of Argo CD takes the object in the cluster for a hook, which no sync prunes. */
export function isSurelyHook(manifest: Manifest): boolean {
  return isHook(manifest) && isSureOfAnnotations(manifest);
}

/** Whether a sync ignores the object, because its annotation is only `Skip` (gitops-engine `hook.Skip`). */
export function isNeverApplied(manifest: Manifest): boolean {
  return isSkipped(manifest) && isSureOfAnnotations(manifest);
}

function isSkipped(manifest: Manifest): boolean {
  return ownTypes(manifest).join() === SKIP;
}

/**
 * Whether every version of Argo CD sees the annotations of an object. Beside one that is null, those before 3.1 see none, and drop
 * them all when they apply it (Kubernetes pull request 129257).
 */
export function isSureOfAnnotations({ metadata }: JsonObject): boolean {
  const annotations = isJsonObject(metadata) && isJsonObject(metadata.annotations) ? metadata.annotations : {};
  return Object.values(annotations).every((value) => typeof value === "string");
}

/** When a sync runs this hook: `PreSync`, `Sync`, `PostSync`, `SyncFail`. Empty if no sync runs it. */
export function syncHookTypes(manifest: Manifest): readonly string[] {
  const own = ownTypes(manifest);
  const helm = valuesIn(manifest, "helm.sh/hook").map((type) => HELM_TYPES[type] ?? "");
  return [...new Set(own.length > 0 ? own : helm)].filter((type) => RUN_BY_A_SYNC.has(type));
}

/** The types of Argo CD's own annotation, without what it does not know, as `PostDelete`, which is not about syncs. */
function ownTypes(manifest: Manifest): readonly string[] {
  const types = valuesIn(manifest, "argocd.argoproj.io/hook");
  return [...new Set(types)].filter((type) => type === SKIP || RUN_BY_A_SYNC.has(type));
}

const DELETE_POLICIES = [
  ["BeforeHookCreation", "before-hook-creation"],
  ["HookSucceeded", "hook-succeeded"],
  ["HookFailed", "hook-failed"],
] as const;

/**
 * When Argo CD deletes a hook, by its own annotation and Helm's (gitops-engine `hook.DeletePolicies`). What it does not know is
 * no policy, and only the newest knows `Never`.
 */
export function deletePoliciesOf(hook: Manifest): readonly string[] {
  const [own = [], helm = []] = ["argocd.argoproj.io/hook-delete-policy", "helm.sh/hook-delete-policy"].map((name) =>
    valuesIn(hook, name),
  );
  const found = DELETE_POLICIES.filter(([policy, ofHelm]) => own.includes(policy) || helm.includes(ofHelm));
  return found.length === 0 ? ["BeforeHookCreation"] : found.map(([policy]) => policy);
}

/**
 * The values between the commas of an annotation, as Argo CD compares them with words that it knows (gitops-engine
 * `GetAnnotationCSVs`): for Go, U+0085 is a blank and U+FEFF is none.
 */
export function valuesIn(manifest: JsonObject | undefined, name: string): readonly string[] {
  const written = (annotationOf(manifest, name) ?? "").replaceAll("\u0085", " ").replaceAll("\ufeff", "?");
  return written
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

/** A null is an empty text, as it is for Argo CD since 3.1. */
export function annotationOf(manifest: JsonObject | undefined, name: string): string | undefined {
  const metadata = manifest?.metadata;
  const annotations = isJsonObject(metadata) ? metadata.annotations : undefined;
  const value = isJsonObject(annotations) ? annotations[name] : undefined;
  return value === null ? "" : typeof value === "string" ? value : undefined;
}

/**
 * `spec.syncPolicy.syncOptions`, which apply to every object of the application: as they stand there, since Argo CD knows none with
 * blanks around it (`SyncOptions.HasOption`).
 */
export function applicationSyncOptions({ syncPolicy }: ApplicationSpec): readonly string[] {
  return isJsonObject(syncPolicy) ? stringsIn(syncPolicy.syncOptions) : [];
}

/** Whether an option such as `Replace=true` applies to an object, from its own annotation or from the application. */
export function hasSyncOption(
  manifest: JsonObject | undefined,
  option: string,
  ofApplication: readonly string[],
): boolean {
  const name = option.slice(0, option.indexOf("=") + 1);
  const own = valuesIn(manifest, "argocd.argoproj.io/sync-options").filter((text) => text.startsWith(name));
  const inherited = ofApplication.filter((text) => text.startsWith(name));
  if (!OVERRIDING.has(name)) return own.includes(option) || inherited.includes(option);
  return (own.length > 0 ? own : inherited)[0] === option;
}

/**
 * Options of which an object's own value overrides the application's. Of several values Argo CD reads the first one
 * (`GetOptionValue`, v3.5). No object can take back any other option of its application (`applyObject`).
 */
const OVERRIDING = new Set(["Prune=", "Delete=", "ServerSideApply="]);

/**
 * Whether a sync replaces or forces an object: Argo CD also does what the object in the cluster says, and so what git said of it
 * before (gitops-engine `applyObject`, v3.5). Of an application it reads `Replace=true` alone (`controller/sync.go`).
 */
export function isSyncedWith(
  option: "Replace=true" | "Force=true",
  { base, head }: { readonly base: JsonObject | undefined; readonly head: JsonObject },
  ofApplication: readonly string[],
): boolean {
  const inherited = option === "Force=true" ? [] : ofApplication;
  return hasSyncOption(head, option, inherited) || hasSyncOption(base, option, []);
}
