import { isList, ownMember } from "../model/effect.js";
import { isJsonObject, type Json, type JsonObject } from "../model/json.js";
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

  /** The object with this value, or without any and without objects that this leaves empty, as in Argo CD. */
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
