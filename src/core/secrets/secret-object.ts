import { isList } from "../model/effect.js";
import { isJsonObject, type Json, type JsonObject } from "../model/json.js";

/** Whether Argo CD masks the values of this object: only of Kubernetes' own Secrets. */
export function isSecret({ group, kind }: { readonly group: string; readonly kind: string }): boolean {
  return group === "" && kind === "Secret";
}

/** Whether a `kind` names a Secret, of whatever group: a list of them too, and spellings that only some tools accept. */
export function isSecretKind(kind: Json | undefined): boolean {
  return typeof kind === "string" && /^\s*secret(?:list)?\s*$/i.test(kind);
}

/**
 * Whether an object with maps like `data` makes up a Secret although its kind is another one or absent: the template of
 * an ExternalSecret, a ClusterSecret, an object with the type of a Secret.
 */
export function makesSecret({ kind, type }: JsonObject): boolean {
  if (typeof kind === "string" && /secret/i.test(kind) && !/^sealed/i.test(kind)) return true;
  return typeof type === "string" && SECRET_TYPE.test(type);
}

/** The types of Kubernetes itself (https://kubernetes.io/docs/concepts/configuration/secret/#secret-types), and Helm's. */
const SECRET_TYPE = /^(?:Opaque|(?:kubernetes\.io|bootstrap\.kubernetes\.io|helm\.sh)\/.*)$/;

/** Members of a Secret that hold no values, and those of a reference to one (`valuesFrom: [{kind: Secret, name: db}]`). */
const OPEN_MEMBERS = new Set([
  ...["apiVersion", "kind", "type", "immutable"],
  ...["name", "namespace", "apiGroup", "group", "version", "key", "valuesKey", "targetPath", "optional", "fieldPath"],
  ...["uid", "resourceVersion", "controller", "blockOwnerDeletion"],
]);
/** What `ignoreDifferences` says of Secrets. */
const OPEN_LISTS = new Set(["jsonPointers", "jqPathExpressions", "managedFieldsManagers"]);

/** Whether a member of an object of the kind Secret is shown as it is. */
export function isOpenMember(name: string, value: Json): boolean {
  if (isList(value)) return OPEN_LISTS.has(name) && value.every((item) => typeof item === "string");
  return OPEN_MEMBERS.has(name) && !isJsonObject(value);
}

const OPEN_METADATA = new Set([
  ...["name", "namespace", "generateName", "labels", "annotations", "finalizers", "ownerReferences"],
  ...["creationTimestamp", "deletionTimestamp", "generation", "resourceVersion", "uid", "managedFields", "selfLink"],
]);

/** Whether Kubernetes knows a member of `metadata`. */
export function isOpenMetadata(name: string): boolean {
  return OPEN_METADATA.has(name);
}

/** Kubernetes accepts no other names. Anything else in their place may be the value. */
export function isDataKey(name: string): boolean {
  return /^[-._a-zA-Z0-9]{1,253}$/.test(name);
}
