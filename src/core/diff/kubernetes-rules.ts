import { ownMember } from "../model/effect.js";
import { isJsonObject, isList, type Json, type JsonObject } from "../model/json.js";
import { isOlder, shortVersion } from "../ports/deployer.js";
import { isSecretKind } from "../secrets/hide-values.js";
import type { ManifestIdentity } from "./manifest-key.js";

/** The API groups of Kubernetes itself. The kinds of other groups below `k8s.io` are custom ones. */
const OF_KUBERNETES =
  /^(?:[^.]*|(?:admissionregistration|apiextensions|apiregistration|authentication|authorization|certificates|coordination|discovery|events|flowcontrol\.apiserver|networking|node|rbac\.authorization|resource|scheduling|storage)\.k8s\.io)$/;

/** Whether the kinds of a group are custom ones. */
export function isCustom(group: string): boolean {
  return !OF_KUBERNETES.test(group);
}

/** Kinds of Kubernetes itself, beside those of named groups, that have no room for another object but in a text. */
const PLAIN_KINDS =
  /^(?:ConfigMap|Endpoints|LimitRange|Namespace|Node|PersistentVolume|PersistentVolumeClaim|Pod|PodTemplate|ReplicationController|ResourceQuota|Service|ServiceAccount)$/;

/**
 * Where an object may have values of Secrets. With the sync option `Validate=false` Kubernetes drops what it does not know of its own
 * and of Argo CD's kinds, so that a part of one is no Secret if it says so. Revisions and definitions of custom resources take any
 * object in.
 */
export function holdingOf({ group, kind }: Pick<ManifestIdentity, "group" | "kind">) {
  if (isSecretKind(kind)) return "itself";
  if (group === "") return PLAIN_KINDS.test(kind) ? "texts" : "anywhere";
  if (group === "argoproj.io" && /^App(?:lication(?:Set)?|Project)$/.test(kind)) return "texts";
  return isCustom(group) || kind === "ControllerRevision" || kind === "CustomResourceDefinition" ? "anywhere" : "texts";
}

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

/**
 * Other lists. Webhooks are called in their order, and Pods are told the first port of a Service as if it were the only one
 * (`FromServices` in `pkg/kubelet/envvars`).
 */
const OTHER_LISTS: ReadonlyMap<string, ListRule> = new Map([
  ["/Service spec.ports", { keys: ["port", "protocol"], ordered: true }],
  ["/ServiceAccount secrets", { keys: ["name"], ordered: false }],
  ["/ServiceAccount imagePullSecrets", { keys: [], ordered: false }],
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
 * ServiceAccount's lists, and RBAC rules and subjects. Inside a Pod template every order counts: init containers run in it,
 * `env` refers backwards, and any difference gives the template another hash, which rolls the Pods.
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

/** A member by its name, or an element of a list: by its key as `keyed` writes it, which holds in every version, or else by its place. */
type Step = string | { readonly key: string | undefined; readonly at: number };

/** Where a value is in the versions of one object. */
export class FieldPath {
  constructor(
    readonly identity: ManifestIdentity,
    readonly steps: readonly Step[] = [],
  ) {}

  /** What a JSON pointer (RFC 6901) points at in an object. */
  static of(pointer: string, identity: ManifestIdentity, object: JsonObject): FieldPath {
    let value: Json | undefined = object;
    let path = new FieldPath(identity);
    for (const part of pointer.split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      const at = isList(value) && /^\d+$/.test(name) ? Number(name) : undefined;
      const step = at === undefined || !isList(value) ? name : { key: path.#keysOf(value)?.[at], at };
      value = path.#inside(value, step);
      path = path.#below(step);
    }
    return path;
  }

  /** `/spec/template/spec/containers/0/image`. */
  get text(): string {
    return `/${this.steps.map((step) => (typeof step === "string" ? step : String(step.at))).join("/")}`;
  }

  /** The paths below this one of what only the first of two values has. Lists whose elements cannot be paired are left out. */
  missing(whole: Json, part: Json): readonly FieldPath[] {
    if (isJsonObject(whole) && isJsonObject(part)) {
      return Object.entries(whole).flatMap(([name, value]) => {
        if (value === undefined) return [];
        const other = ownMember(part, name);
        return other === undefined ? [this.#below(name)] : this.#below(name).missing(value, other);
      });
    }
    if (!isList(whole) || !isList(part)) return [];
    const [keys, others] = [this.#keysOf(whole), this.#keysOf(part)];
    if ((keys === undefined || others === undefined) && whole.length !== part.length) return [];
    return whole.flatMap((item, at) => {
      const step = { key: others && keys?.[at], at };
      const other = part[step.key === undefined ? at : (others ?? []).indexOf(step.key)];
      return other === undefined ? [this.#below(step)] : this.#below(step).missing(item, other);
    });
  }

  valueIn(object: JsonObject | undefined): Json | undefined {
    let value: Json | undefined = object;
    let path = new FieldPath(this.identity);
    for (const step of this.steps) {
      value = path.#inside(value, step);
      path = path.#below(step);
    }
    return value;
  }

  /** The object with this value; without one, as in Argo CD, without the member and parents that become empty. */
  writtenTo(object: JsonObject, to: Json | undefined): JsonObject {
    const write = (value: Json | undefined, path: FieldPath): Json | undefined => {
      const step = this.steps[path.steps.length];
      if (step === undefined) return to;
      const below = path.#below(step);
      if (typeof step !== "string") {
        if (!isList(value)) return value;
        const index = path.#indexOf(step, value);
        return value.flatMap((item, at) => {
          const kept = at === index ? write(item, below) : item;
          return kept === undefined ? [] : [kept];
        });
      }
      if (value !== undefined && !isJsonObject(value)) return value;
      const before = value && ownMember(value, step);
      if (before === undefined && to === undefined) return value;
      const kept = write(before, below);
      const others = Object.entries(value ?? {}).filter(([name]) => name !== step);
      const emptied = to === undefined && isJsonObject(kept) && Object.keys(kept).length === 0;
      return Object.fromEntries(kept === undefined || emptied ? others : [...others, [step, kept]]);
    };
    const changed = write(object, new FieldPath(this.identity));
    return isJsonObject(changed) ? changed : {};
  }

  #below(step: Step): FieldPath {
    return new FieldPath(this.identity, [...this.steps, step]);
  }

  #inside(value: Json | undefined, step: Step): Json | undefined {
    if (typeof step === "string") return isJsonObject(value) ? ownMember(value, step) : undefined;
    return isList(value) ? value[this.#indexOf(step, value)] : undefined;
  }

  #indexOf({ key, at }: Exclude<Step, string>, list: readonly Json[]): number {
    return key === undefined ? at : (this.#keysOf(list) ?? []).indexOf(key);
  }

  #keysOf(list: readonly Json[]): readonly string[] | undefined {
    const place = this.steps.map((step) => (typeof step === "string" ? step : "[]"));
    const rule = listRule(this.identity, place);
    const found = rule && keyed(rule, list);
    return found && [...found.keys()];
  }
}

const ROLLING = { maxSurge: "25%", maxUnavailable: "25%" };
const PARTITION = { partition: 0 };

/**
 * What Kubernetes fills in for members that a manifest no longer has, by type and path of their map (`SetDefaults_…` in
 * `pkg/apis`, v1.34): its own answer keeps what was applied client-side. A newer Kubernetes may have others.
 */
const DEFAULTS: Readonly<Record<string, JsonObject>> = {
  "apps/Deployment spec": {
    ...{ replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 },
    strategy: { type: "RollingUpdate", rollingUpdate: ROLLING },
  },
  "apps/Deployment spec.strategy": { type: "RollingUpdate", rollingUpdate: ROLLING },
  "apps/Deployment spec.strategy.rollingUpdate": ROLLING,
  "apps/StatefulSet spec": {
    ...{ replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: "OrderedReady" },
    updateStrategy: { type: "RollingUpdate", rollingUpdate: PARTITION },
  },
  "apps/StatefulSet spec.updateStrategy": { type: "RollingUpdate", rollingUpdate: PARTITION },
  "apps/StatefulSet spec.updateStrategy.rollingUpdate": PARTITION,
  "apps/DaemonSet spec": { revisionHistoryLimit: 10 },
  "batch/Job spec": { parallelism: 1, completions: 1, completionMode: "NonIndexed", backoffLimit: 6, suspend: false },
  "batch/CronJob spec": {
    ...{ concurrencyPolicy: "Allow", suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 },
  },
  "/Service spec": { type: "ClusterIP", sessionAffinity: "None", internalTrafficPolicy: "Cluster" },
  "/Service spec.ports.[]": { protocol: "TCP" },
  "/Secret ": { type: "Opaque" },
  "/PersistentVolume spec": { volumeMode: "Filesystem", persistentVolumeReclaimPolicy: "Retain" },
  "/PersistentVolumeClaim spec": { volumeMode: "Filesystem" },
  "storage.k8s.io/StorageClass ": { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" },
  "scheduling.k8s.io/PriorityClass ": { preemptionPolicy: "PreemptLowerPriority" },
  "autoscaling/HorizontalPodAutoscaler spec": { minReplicas: 1 },
};
const PROBE = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const IN_POD: Readonly<Record<string, JsonObject>> = {
  spec: {
    ...{ restartPolicy: "Always", dnsPolicy: "ClusterFirst", schedulerName: "default-scheduler", securityContext: {} },
    terminationGracePeriodSeconds: 30,
  },
  container: { resources: {}, terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File" },
  "container.ports.[]": { protocol: "TCP" },
  "container.readinessProbe": PROBE,
  "container.livenessProbe": PROBE,
  "container.startupProbe": PROBE,
};

const COPIED = "1.34";

/** Whether nobody can tell what Kubernetes of this version puts in the place of a member that goes. @param parent as below. */
export function mayDefaultOtherwise(
  version: string | undefined,
  identity: ManifestIdentity,
  path: ValuePath,
  parent: JsonObject,
): boolean {
  const inside = podPath(identity, path) ?? path.join(".");
  if (path.at(-1) === "[]" || /^(?:metadata|data|binaryData|stringData)\./.test(inside)) return false;
  if (defaultOf(identity, path, parent) === undefined) return true;
  return version === undefined || isOlder(COPIED, shortVersion(version) ?? "9999") !== false;
}

/** @param parent the map without the member. */
export function defaultOf(identity: ManifestIdentity, path: ValuePath, parent: JsonObject): Json | undefined {
  const [at, member] = [path.slice(0, -1), path.at(-1) ?? ""];
  if (member === "rollingUpdate" && (parent.type ?? "RollingUpdate") !== "RollingUpdate") return undefined;
  const inPod = podPath(identity, at)?.replace(/^spec\.(?:containers|initContainers)\.\[\]/, "container");
  if (inPod === "container" && member === "imagePullPolicy") return pullPolicyOf(parent);
  const type = `${identity.group}/${identity.kind} ${at.join(".")}`;
  if (type === "/Service spec.ports.[]" && member === "targetPort") return parent.port;
  const map = DEFAULTS[type] ?? IN_POD[inPod ?? ""];
  return map && ownMember(map, member);
}

/** `latest`, written or meant, is pulled each time. */
function pullPolicyOf({ image }: JsonObject): Json | undefined {
  if (typeof image !== "string") return undefined;
  const tag = image.includes("@") ? "" : (/:([^/:]+)$/.exec(image)?.[1] ?? "latest");
  return tag === "latest" ? "Always" : "IfNotPresent";
}

/** Factors in nano units, so that `n` is 1. */
const SUFFIXES: ReadonlyMap<string, bigint> = new Map([
  ["n", 1n],
  ["u", 10n ** 3n],
  ["m", 10n ** 6n],
  ["", 10n ** 9n],
  ["k", 10n ** 12n],
  ["M", 10n ** 15n],
  ["G", 10n ** 18n],
  ["T", 10n ** 21n],
  ["P", 10n ** 24n],
  ["E", 10n ** 27n],
  ["Ki", 10n ** 9n * 2n ** 10n],
  ["Mi", 10n ** 9n * 2n ** 20n],
  ["Gi", 10n ** 9n * 2n ** 30n],
  ["Ti", 10n ** 9n * 2n ** 40n],
  ["Pi", 10n ** 9n * 2n ** 50n],
  ["Ei", 10n ** 9n * 2n ** 60n],
]);

const FORM = /^([+-]?)(\d{0,30})(?:\.(\d{0,30}))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/;

/** Compares two Kubernetes quantities, such as `1` and `1000m`: negative, zero or positive; undefined if one is not a quantity. */
export function compareQuantities(left: Json | undefined, right: Json | undefined): number | undefined {
  const [one, other] = [read(left), read(right)];
  if (one === undefined || other === undefined) return undefined;
  const difference = one.value * other.divisor - other.value * one.divisor;
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

function read(value: Json | undefined): { readonly value: bigint; readonly divisor: bigint } | undefined {
  const found = typeof value === "string" || typeof value === "number" ? FORM.exec(String(value)) : null;
  const [, sign, whole = "", part = "", suffix = "", exponent = "0"] = found ?? [];
  const factor = SUFFIXES.get(suffix);
  if (found === null || factor === undefined || whole + part === "") return undefined;
  const power = Number(exponent);
  const digits = BigInt(whole + part) * factor * 10n ** BigInt(Math.max(power, 0));
  return { value: sign === "-" ? -digits : digits, divisor: 10n ** BigInt(part.length + Math.max(-power, 0)) };
}

/** Members that Kubernetes never lets change, by group and kind (`Validate…Update` in its validation packages, v1.34). */
export const IMMUTABLE: Readonly<Record<string, readonly string[]>> = {
  "apps/DaemonSet": ["spec.selector"],
  "apps/Deployment": ["spec.selector"],
  "apps/ReplicaSet": ["spec.selector"],
  "apps/StatefulSet": ["spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates"],
  "batch/Job": [
    ...["spec.selector", "spec.template", "spec.completions", "spec.completionMode", "spec.backoffLimitPerIndex"],
    ...["spec.managedBy", "spec.podFailurePolicy", "spec.successPolicy"],
  ],
  "/Secret": ["type"],
  "storage.k8s.io/StorageClass": ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"],
  "rbac.authorization.k8s.io/RoleBinding": ["roleRef"],
  "rbac.authorization.k8s.io/ClusterRoleBinding": ["roleRef"],
  "apiextensions.k8s.io/CustomResourceDefinition": ["spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"],
  "scheduling.k8s.io/PriorityClass": ["value", "preemptionPolicy"],
  "networking.k8s.io/IngressClass": ["spec.controller"],
  "node.k8s.io/RuntimeClass": ["handler"],
};
