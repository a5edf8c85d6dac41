import { isJsonObject, isList, type Json, type JsonObject, stringsIn } from "../model/json.js";
import { type ManifestIdentity, titleOf } from "./manifest-key.js";

/** `apps/Deployment`, and `Namespace` without a group. */
export function typeOf({ group, kind }: ManifestIdentity): string {
  return group === "" ? kind : `${group}/${kind}`;
}

export const CRD = "apiextensions.k8s.io/CustomResourceDefinition";

const TAKEN_ALONG: ReadonlyMap<string, string> = new Map([
  [CRD, "it deletes every object of that kind in the whole cluster"],
  ["Namespace", "it deletes everything in it, also what other applications have there"],
  ["PersistentVolume", "its data may be lost, as its reclaim policy says"],
  ["PersistentVolumeClaim", "its data is lost unless the volume's reclaim policy is Retain"],
  // Its policy does not hold for this: Kubernetes deletes what it owns.
  ["argoproj.io/ApplicationSet", "it deletes the Applications that the set generated"],
]);
/** Where Argo CD keeps a cluster, which the cluster generators of ApplicationSets read. */
const CLUSTER = "argocd.argoproj.io/secret-type=cluster";
const CLUSTER_GOES =
  "Argo CD no longer knows that cluster, and ApplicationSets delete the Applications that they generated for it";
const FINALIZER = "resources-finalizer.argocd.argoproj.io";
const RETENTION = "persistentVolumeClaimRetentionPolicy";
const DATA_GOES = `as its ${RETENTION} says, and their data is lost unless the volumes' reclaim policy is Retain`;

/** What goes with an object that is deleted, as the end of a sentence; undefined if nothing that matters does. */
export function takenAlong(identity: ManifestIdentity, object: JsonObject): string | undefined {
  const known = TAKEN_ALONG.get(typeOf(identity));
  if (known !== undefined) return known;
  if (typeOf(identity) === "Secret" && isLabelled(object, CLUSTER)) return CLUSTER_GOES;
  if (deletesClaims(identity, object, "whenDeleted")) return `its claims go with it, ${DATA_GOES}`;
  return cascades(identity, object) ? "it deletes everything that this Application deployed" : undefined;
}

/** What to do about a refused change of such an object. */
export const UNDO = "Undo the change, or give it another name: replacing it would delete what it holds";

/** What goes because a StatefulSet gets fewer replicas, as the end of a sentence; undefined if nothing does. */
export function takenByScaling(identity: ManifestIdentity, base: JsonObject, head: JsonObject): string | undefined {
  const [before, after] = [replicasOf(base), replicasOf(head)];
  if (!(after < before) || !deletesClaims(identity, head, "whenScaled")) return undefined;
  return `from ${before} to ${after} replicas: the claims of those that go are deleted, ${DATA_GOES}`;
}

/** What goes because a Secret is no longer a cluster's, as a danger and the end of a sentence; undefined if it stays one. */
export function takenWithLabel(identity: ManifestIdentity, base: JsonObject, head: JsonObject) {
  const isCluster = (side: JsonObject) => typeOf(identity) === "Secret" && isLabelled(side, CLUSTER);
  if (!isCluster(base) || isCluster(head)) return undefined;
  return { what: `takes the label ${CLUSTER} away from ${titleOf(identity)}`, why: CLUSTER_GOES };
}

function replicasOf(object: JsonObject): number {
  return Number(valueAt(object, "spec.replicas") ?? 1);
}

function deletesClaims(identity: ManifestIdentity, object: JsonObject, when: "whenDeleted" | "whenScaled"): boolean {
  const claims = valueAt(object, "spec.volumeClaimTemplates");
  const hasClaims = isList(claims) && claims.length > 0 && typeOf(identity) === "apps/StatefulSet";
  return hasClaims && valueAt(object, `spec.${RETENTION}.${when}`) === "Delete";
}

/** Whether an object has a label. @param label `<key>` or `<key>=<value>`. */
export function isLabelled({ metadata }: JsonObject, label: string): boolean {
  const labels = isJsonObject(metadata) && isJsonObject(metadata.labels) ? metadata.labels : {};
  const [key = "", value] = label.split("=");
  if (!Object.hasOwn(labels, key)) return false;
  return value === undefined || labels[key] === value;
}

function cascades(identity: ManifestIdentity, { metadata }: JsonObject): boolean {
  const finalizers = isJsonObject(metadata) ? stringsIn(metadata.finalizers) : [];
  return typeOf(identity) === "argoproj.io/Application" && finalizers.some((one) => one.startsWith(FINALIZER));
}

/** The member at a path such as `spec.replicas`. */
export function valueAt(object: JsonObject, path: string): Json | undefined {
  return path.split(".").reduce<Json | undefined>((at, key) => (isJsonObject(at) ? at[key] : undefined), object);
}
