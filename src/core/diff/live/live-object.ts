import type { Manifest } from "../../model/application.js";
import { isJsonObject, type Json, type JsonObject } from "../../model/json.js";
import { isSecret } from "../../secrets/secret-object.js";
import type { ManifestIdentity } from "../manifest-key.js";
import { normalise } from "../normalise.js";

/** Members of `metadata` that Kubernetes maintains; manifests do not contain them. */
const KEPT_BY_KUBERNETES = [
  "creationTimestamp",
  "deletionGracePeriodSeconds",
  "deletionTimestamp",
  "generation",
  "managedFields",
  "resourceVersion",
  "selfLink",
  "uid",
];
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** A live object, or what was last applied to it, in the form that `normalise` gives a rendered one. */
export function normaliseLive(manifest: Manifest): JsonObject {
  const { metadata } = manifest;
  if (!isJsonObject(metadata)) return normalise(manifest, undefined);
  const { annotations, ...rest } = metadata;
  const members = Object.entries(rest).filter(([member]) => !KEPT_BY_KUBERNETES.includes(member));
  const kept = isJsonObject(annotations)
    ? Object.fromEntries(Object.entries(annotations).filter(([name]) => name !== LAST_APPLIED))
    : annotations;
  const cleaned: Json = { ...Object.fromEntries(members), ...(kept === undefined ? {} : { annotations: kept }) };
  return normalise({ ...manifest, metadata: cleaned }, undefined);
}

const MASK = "++++++++";

/**
 * A Secret with one mask for every value: Argo CD masks the values of each call separately, so masks of a render and of
 * the cluster must never be compared. Other objects are returned unchanged.
 */
export function withEqualMasks(identity: ManifestIdentity, object: JsonObject): JsonObject {
  if (!isSecret(identity)) return object;
  const { data, stringData, ...rest } = object;
  const keys = [data, stringData].flatMap((values) => (isJsonObject(values) ? Object.keys(values) : []));
  if (keys.length === 0) return rest;
  return { ...rest, data: Object.fromEntries([...new Set(keys)].sort().map((key) => [key, MASK])) };
}
