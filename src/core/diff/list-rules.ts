import { isJsonObject, type Json } from "../model/json.js";
import type { ManifestIdentity } from "./manifest-key.js";

/** Where a value is in its object: names of members, and `[]` for "in each element". */
export type ValuePath = readonly string[];

/** How Kubernetes identifies the elements of a list. */
export interface ListRule {
  /** Members that together name an element; empty where elements have no name. */
  readonly keys: readonly string[];
  /** False only where the order is known to have no effect at all. */
  readonly ordered: boolean;
}

/** Path above the Pod's own `metadata` and `spec`, by group and kind. */
const POD_AT: ReadonlyMap<string, string> = new Map([
  ["/Pod", ""],
  ["/PodTemplate", "template."],
  ["/ReplicationController", "spec.template."],
  ["apps/DaemonSet", "spec.template."],
  ["apps/Deployment", "spec.template."],
  ["apps/ReplicaSet", "spec.template."],
  ["apps/StatefulSet", "spec.template."],
  ["batch/CronJob", "spec.jobTemplate.spec.template."],
  ["batch/Job", "spec.template."],
]);

const POD_LISTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["spec.volumes", ["name"]],
  ["spec.containers", ["name"]],
  ["spec.initContainers", ["name"]],
  ["spec.ephemeralContainers", ["name"]],
  ["spec.imagePullSecrets", ["name"]],
  ["spec.hostAliases", ["ip"]],
  ["spec.topologySpreadConstraints", ["topologyKey", "whenUnsatisfiable"]],
]);

const CONTAINER_LISTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["env", ["name"]],
  ["ports", ["containerPort", "protocol"]],
  ["volumeMounts", ["mountPath"]],
  ["volumeDevices", ["devicePath"]],
]);
const IN_CONTAINER = /^spec\.(?:containers|initContainers|ephemeralContainers)\.\[\]\.(\w+)$/;

/** Other lists: those of a webhook configuration are called in their order. */
const OTHER_LISTS: ReadonlyMap<string, ListRule> = new Map([
  ["/Service spec.ports", { keys: ["port", "protocol"], ordered: false }],
  ["/ServiceAccount secrets", { keys: ["name"], ordered: false }],
  ["/ServiceAccount imagePullSecrets", { keys: ["name"], ordered: false }],
  ["rbac.authorization.k8s.io/Role rules", { keys: [], ordered: false }],
  ["rbac.authorization.k8s.io/ClusterRole rules", { keys: [], ordered: false }],
  ["rbac.authorization.k8s.io/RoleBinding subjects", { keys: [], ordered: false }],
  ["rbac.authorization.k8s.io/ClusterRoleBinding subjects", { keys: [], ordered: false }],
  ["admissionregistration.k8s.io/MutatingWebhookConfiguration webhooks", { keys: ["name"], ordered: true }],
  ["admissionregistration.k8s.io/ValidatingWebhookConfiguration webhooks", { keys: ["name"], ordered: true }],
]);

/**
 * The rule of a list of Kubernetes itself; undefined for every other list, which is compared by position.
 *
 * The keys are the "patch merge key" and "list map keys" of the API reference (strategic merge patch,
 * https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/). Order has no effect in a
 * Service's ports, a ServiceAccount's lists, and RBAC rules and subjects. Inside a Pod template every order counts: init
 * containers run in it, `env` refers backwards, and any difference gives the template another hash, which rolls the Pods.
 */
export function listRule(identity: ManifestIdentity, path: ValuePath): ListRule | undefined {
  const inPod = podPath(identity, path);
  if (inPod === undefined) return OTHER_LISTS.get(`${identity.group}/${identity.kind} ${path.join(".")}`);
  const keys = POD_LISTS.get(inPod) ?? CONTAINER_LISTS.get(IN_CONTAINER.exec(inPod)?.[1] ?? "");
  return keys && { keys, ordered: true };
}

/** The path inside a Pod or its template (`spec.containers.[].image`); undefined outside of one. */
export function podPath({ group, kind }: ManifestIdentity, path: ValuePath): string | undefined {
  const podAt = POD_AT.get(`${group}/${kind}`);
  const text = path.join(".");
  return podAt !== undefined && text.startsWith(podAt) ? text.slice(podAt.length) : undefined;
}

const KINDS_WITH_RULES = new Set([...POD_AT.keys(), ...[...OTHER_LISTS.keys()].map((key) => key.split(" ")[0])]);

/** Whether there is a rule for any list of such objects. */
export function hasListRules({ group, kind }: ManifestIdentity): boolean {
  return KINDS_WITH_RULES.has(`${group}/${kind}`);
}

/** Whether a difference below this path replaces the running Pods of a workload. */
export function rollsPods({ group, kind }: ManifestIdentity, path: ValuePath): boolean {
  return group === "apps" && kind !== "ReplicaSet" && POD_AT.has(`apps/${kind}`) && path[1] === "template";
}

/** Defaults that Kubernetes fills in for missing keys. */
const KEY_DEFAULTS: Readonly<Record<string, Json>> = { protocol: "TCP", whenUnsatisfiable: "DoNotSchedule" };

/** The elements by key, in order. Undefined if an element has no key or two share one: then only the position counts. */
export function keyed(rule: ListRule, list: readonly Json[]): ReadonlyMap<string, Json> | undefined {
  if (rule.keys.length === 0) return undefined;
  const found = new Map<string, Json>();
  for (const element of list) {
    if (!isJsonObject(element)) return undefined;
    const values = rule.keys.map((key) => element[key] ?? KEY_DEFAULTS[key]);
    if (values.some((value) => value === undefined || typeof value === "object")) return undefined;
    found.set(JSON.stringify(values), element);
  }
  return found.size === list.length ? found : undefined;
}
