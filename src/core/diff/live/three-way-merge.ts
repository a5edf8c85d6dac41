import { isList, ownMember } from "../../model/effect.js";
import { canonicalJson, isJsonObject, jsonEqual, type Json, type JsonObject } from "../../model/json.js";
import { keyed, listRule, podPath, type ListRule, type ValuePath } from "../list-rules.js";
import type { ManifestIdentity } from "../manifest-key.js";
import { matchesCommit } from "../normalise.js";
import { compareQuantities } from "../quantity.js";
import { defaultOf, isUnstored } from "./kubernetes-defaults.js";

/**
 * What a live object becomes when the head is applied as by `kubectl apply`: members of the head are set, members that were
 * applied before (`previous`) and that the head lacks get their default or go, and everything else stays. Lists with a merge key
 * are merged by element; any other list gets the head's elements, each with the defaults of its live counterpart.
 * https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#merge-patch-calculation
 */
export function threeWayMerge(
  identity: ManifestIdentity,
  previous: readonly (JsonObject | undefined)[],
  head: JsonObject,
  live: JsonObject,
): JsonObject {
  return mergeObjects({ identity, path: [] }, previous, head, live);
}

interface Place {
  readonly identity: ManifestIdentity;
  readonly path: ValuePath;
}
type Maybe = Json | undefined;
type List = readonly Json[];

function inside({ identity, path }: Place, step: string): Place {
  return { identity, path: [...path, step] };
}

function mergeObjects(place: Place, previous: readonly Maybe[], head: JsonObject, live: JsonObject): JsonObject {
  const before = previous.filter(isJsonObject);
  const members = [...new Set([...Object.keys(live), ...Object.keys(head)])];
  const merged: JsonObject = Object.fromEntries(
    members.flatMap((key) => {
      const at = inside(place, key);
      const values = before.map((side) => ownMember(side, key));
      const [wanted, present] = [ownMember(head, key), ownMember(live, key)];
      const value = mergeMember(at, values, wanted, present) ?? replaced(at, values, { wanted, present, head });
      return value === undefined ? [] : [[key, value] as const];
    }),
  );
  if (!isExclusive(place) || jsonEqual(merged, live)) return merged;
  return Object.fromEntries(Object.entries(merged).filter(([key]) => ownMember(head, key) !== undefined));
}

/** The default in the place of a member that the head no longer has. */
function replaced(
  { identity, path }: Place,
  previous: readonly Maybe[],
  { wanted, present, head }: { readonly wanted: Maybe; readonly present: Maybe; readonly head: JsonObject },
): Maybe {
  if (wanted !== undefined || present === undefined || previous.every((value) => value === undefined)) return undefined;
  const value = defaultOf(identity, path, head);
  return value !== undefined && meansTheSame(identity, path, value, present) ? present : value;
}

/** A change of these maps takes away what the head does not have (`patchStrategy: retainKeys`). */
function isExclusive({ identity, path }: Place): boolean {
  if (identity.group === "apps" && identity.kind === "Deployment" && path.join(".") === "spec.strategy") return true;
  return podPath(identity, path) === "spec.volumes.[]";
}

function mergeMember(place: Place, previous: readonly Maybe[], head: Maybe, live: Maybe): Maybe {
  if (head === undefined) return previous.some((value) => value !== undefined) ? undefined : live;
  if (live !== undefined) return mergeValue(place, previous, head, live);
  // Kubernetes does not store zero values. Where that is not known of a new field, the field is shown.
  const known = isZero(head) && previous.some((value) => jsonEqual(value, head));
  return known || isUnstored(place.identity, place.path, head) ? undefined : head;
}

function mergeValue(place: Place, previous: readonly Maybe[], head: Json, live: Json): Json {
  if (isJsonObject(head) && isJsonObject(live)) return mergeObjects(place, previous, head, live);
  if (isList(head) && isList(live)) {
    const lists = previous.filter(isList);
    const rule = listRule(place.identity, place.path);
    const element = inside(place, "[]");
    return (rule && mergeByKey(rule, element, lists, head, live)) ?? mergeByPlace(element, lists, head, live);
  }
  return meansTheSame(place.identity, place.path, head, live) ? live : head;
}

/** Keeps the live order if the head's elements have the same one, and otherwise takes the head's. */
function mergeByKey(
  rule: ListRule,
  element: Place,
  previous: readonly List[],
  head: List,
  live: List,
): List | undefined {
  const [heads, lives] = [keyed(rule, head), keyed(rule, live)];
  if (heads === undefined || lives === undefined) return undefined;
  const before = previous.map((list) => keyed(rule, list) ?? new Map<string, Json>());
  const kept = [...lives.keys()].filter((key) => heads.has(key) || !before.some((side) => side.has(key)));
  const common = kept.filter((key) => heads.has(key));
  const wanted = [...heads.keys()].filter((key) => lives.has(key));
  const order = common.join() === wanted.join() ? kept : [...wanted, ...kept.filter((key) => !heads.has(key))];
  return withNew(order, [...heads.keys()]).flatMap((key) => {
    const value = mergeMember(
      element,
      before.map((side) => side.get(key)),
      heads.get(key),
      lives.get(key),
    );
    return value === undefined ? [] : [value];
  });
}

/** Inserts new keys after their predecessor in the head. */
function withNew(order: readonly string[], heads: readonly string[]): readonly string[] {
  const placed = new Set(order);
  const first: string[] = [];
  const after = new Map<string, string[]>();
  let run = first;
  for (const key of heads) {
    if (placed.has(key)) after.set(key, (run = []));
    else run.push(key);
  }
  return [...first, ...order.flatMap((key) => [key, ...(after.get(key) ?? [])])];
}

/**
 * A head element's counterpart is at the same index if all of the live list can come from the head, else the live one whose
 * render it equals, else the one at the same index. The first of `previous` of the live list's length counts as its render.
 */
function mergeByPlace(element: Place, previous: readonly List[], head: List, live: List): List {
  const origin = previous.find((list) => list.length === live.length) ?? [];
  const texts = origin.map((item) => canonicalJson(item));
  const places = new Map(texts.map((text, at) => [text, at]));
  const applied = areCovered(element, head, live);
  return head.map((wanted, at) => {
    const text = canonicalJson(wanted);
    const same = applied || texts[at] === text ? at : places.get(text);
    const found = same ?? (head.length === live.length ? at : -1);
    const present = live[found];
    return present === undefined ? wanted : mergeValue(element, [origin[found]], wanted, present);
  });
}

/** Whether the live value has everything of the head's. It may have more. */
function isCovered(place: Place, head: Json, live: Maybe): boolean {
  if (live === undefined) return isZero(head);
  if (isList(head)) {
    return isList(live) && areCovered(inside(place, "[]"), head, live);
  }
  if (!isJsonObject(head)) return meansTheSame(place.identity, place.path, head, live);
  if (!isJsonObject(live)) return false;
  return Object.entries(head).every(
    ([key, value]) => value === undefined || isCovered(inside(place, key), value, ownMember(live, key)),
  );
}

function areCovered(element: Place, head: List, live: List): boolean {
  return head.length === live.length && head.every((one, at) => isCovered(element, one, live[at]));
}

function isZero(value: Json): boolean {
  if (isList(value)) return value.length === 0;
  if (isJsonObject(value)) return Object.values(value).every((member) => member === undefined || isZero(member));
  return value === false || value === 0 || value === "" || value === null;
}

/** Paths of quantities, where `*` is any name: that of a resource may have dots in it. */
const AMOUNTS: readonly (readonly string[])[] = [
  ["resources", "limits", "*"],
  ["resources", "requests", "*"],
  ["emptyDir", "sizeLimit"],
  ["resourceFieldRef", "divisor"],
];
const KINDS_OF_AMOUNTS = new Set(["", "apps", "batch"]);
const AMOUNTS_OF_KINDS: ReadonlyMap<string, readonly (readonly string[])[]> = new Map([
  ["/ResourceQuota", [["spec", "hard", "*"]]],
  ["/PersistentVolume", [["spec", "capacity", "*"]]],
  ["/LimitRange", [["spec", "limits", "[]", "*", "*"]]],
  [
    "autoscaling/HorizontalPodAutoscaler",
    [
      ["target", "value"],
      ["target", "averageValue"],
    ],
  ],
  ["node.k8s.io/RuntimeClass", [["overhead", "podFixed", "*"]]],
]);

/** Equal, equal as quantities where Kubernetes' own kinds have them, or different only in the commit of the render. */
function meansTheSame(identity: ManifestIdentity, path: ValuePath, rendered: Json, live: Json): boolean {
  if (jsonEqual(rendered, live)) return true;
  if (typeof rendered === "string" && typeof live === "string" && matchesCommit(rendered, live)) return true;
  return isAmount(identity, path) && compareQuantities(rendered, live) === 0;
}

function isAmount({ group, kind }: ManifestIdentity, path: ValuePath): boolean {
  const own = AMOUNTS_OF_KINDS.get(`${group}/${kind}`) ?? (KINDS_OF_AMOUNTS.has(group) ? AMOUNTS : []);
  return own.some((steps) => {
    const end = path.slice(-steps.length);
    return end.length === steps.length && steps.every((step, at) => step === "*" || step === end[at]);
  });
}
