import { ownMember } from "../../model/effect.js";
import { canonicalJson, isJsonObject, isList, type Json, jsonEqual, type JsonObject } from "../../model/json.js";
import {
  compareQuantities,
  defaultOf,
  isCustom,
  keyed,
  listRule,
  type ListRule,
  podPath,
  type ValuePath,
} from "../kubernetes-rules.js";
import type { ManifestIdentity } from "../manifest-key.js";

type Maybe = Json | undefined;
type List = readonly Json[];

/** What Kubernetes answered of a value. Neither `before` nor `after` has what Argo CD ignores. */
export interface Answered<T extends Maybe = Maybe> {
  readonly before: T;
  readonly after: T;
  /** In the cluster, with what is ignored. */
  readonly whole: T;
}

interface Versions<T extends Maybe> {
  /** What was applied before. */
  readonly previous: readonly Maybe[];
  readonly head: T;
  readonly live: T;
  /** Undefined where Kubernetes did not tell: then its defaults and spellings are not known. */
  readonly answer: Answered | undefined;
}

interface Place {
  readonly identity: ManifestIdentity;
  readonly path: ValuePath;
  /** Paths at which Kubernetes keeps what it allocated, whatever is taken away there. */
  readonly allocated: ReadonlySet<string>;
}

/**
 * What a live object becomes when the head is applied as by `kubectl apply`: members that were applied before (`previous`) and
 * that the head lacks get their default or go, and the rest is as Kubernetes answered. Without an answer, members of the head are set, everything
 * else stays, and lists without known keys get the head's elements, each with what its live counterpart has besides.
 * https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#merge-patch-calculation
 */
export function threeWayMerge(identity: ManifestIdentity, versions: Versions<JsonObject>): JsonObject {
  return mergeObjects({ identity, path: [], allocated: allocatedIn(identity, versions.head) }, versions);
}

/**
 * The paths at which a Service keeps what Kubernetes allocated for it, whether somebody writes null there or nothing any more
 * (`patchAllocatedValues` in `pkg/registry/core/service/storage`).
 */
function allocatedIn({ group, kind }: ManifestIdentity, { spec }: JsonObject): ReadonlySet<string> {
  const { type, allocateLoadBalancerNodePorts: given } = isJsonObject(spec) ? spec : {};
  if (group !== "" || kind !== "Service" || type === "ExternalName") return new Set();
  const onNodes = type === "NodePort" || (type === "LoadBalancer" && given !== false);
  return new Set(["spec.clusterIP", "spec.clusterIPs", ...(onNodes ? ["spec.ports.[].nodePort"] : [])]);
}

function mergeObjects(place: Place, { previous, head, live, answer }: Versions<JsonObject>): JsonObject {
  const before = previous.filter(isJsonObject);
  const after = isJsonObject(answer?.after) ? answer.after : {};
  const members = [...new Set([...Object.keys(live), ...Object.keys(head), ...Object.keys(after)])];
  const merged: JsonObject = Object.fromEntries(
    members.flatMap((key) => {
      const at = { ...place, path: [...place.path, key] };
      const member = (of: Maybe) => (isJsonObject(of) ? ownMember(of, key) : undefined);
      const versions = withoutNull(place.identity, {
        previous: before.map(member),
        head: member(head),
        live: member(live),
        answer: answer && { before: member(answer.before), after: member(after), whole: member(answer.whole) },
      });
      const filled = () => (isAllocated(at) ? versions.live : defaultOf(place.identity, at.path, head));
      const value = isRemoved(versions) ? filled() : mergeMember(at, versions);
      return value === undefined ? [] : [[key, value] as const];
    }),
  );
  if (answer !== undefined || !isExclusive(place) || jsonEqual(merged, live)) return merged;
  return Object.fromEntries(Object.entries(merged).filter(([key]) => ownMember(head, key) !== undefined));
}

/**
 * Replaces a null of the head by what it does: it takes away whatever is there, as if that had been applied before and were left out
 * now. In a custom kind it does so once; from then on it was applied before itself (`CreateThreeWayJSONMergePatch`,
 * `CreateThreeWayMergePatch`).
 */
function withoutNull({ group }: ManifestIdentity, { previous, head, ...versions }: Versions<Maybe>): Versions<Maybe> {
  if (head !== null) return { ...versions, head, previous };
  const stays = isCustom(group) && previous.includes(null);
  return { ...versions, head: undefined, previous: stays ? previous.map((value) => value ?? undefined) : [null] };
}

function isAllocated({ path, allocated }: Place): boolean {
  return allocated.size > 0 && allocated.has(path.join("."));
}

/** Whether a sync takes away what was applied before. Kubernetes' answer keeps it where it was applied client-side. */
function isRemoved({ previous, head, live }: Versions<Maybe>): boolean {
  return head === undefined && live !== undefined && previous.some((value) => value !== undefined);
}

/** A change of these maps takes away what the head does not have (`patchStrategy: retainKeys`). */
function isExclusive({ identity, path }: Place): boolean {
  if (identity.group === "apps" && identity.kind === "Deployment" && path.join(".") === "spec.strategy") return true;
  return podPath(identity, path) === "spec.volumes.[]";
}

function mergeMember(place: Place, { previous, head, live, answer }: Versions<Maybe>): Maybe {
  if (head === undefined) {
    if (previous.some((value) => value !== undefined)) return undefined;
    // A member that the answer has neither before nor after is one that Argo CD ignores: it stays.
    return answer?.after ?? (answer?.before === undefined ? live : undefined);
  }
  if (answer !== undefined && answer.after === undefined) {
    // A sync writes what is ignored, too. Only an empty value that the cluster does not have is known not to be stored.
    if (live === undefined) return isZero(head) && answer.whole === undefined ? undefined : head;
    return mergeValue(place, { previous, head, live, answer: undefined });
  }
  if (live !== undefined) return mergeValue(place, { previous, head, live, answer });
  if (answer === undefined) {
    return isUnstored(place, head) && previous.some((value) => jsonEqual(value, head)) ? undefined : head;
  }
  const nothing = isList(head) ? [] : isJsonObject(head) ? {} : undefined;
  return nothing === undefined ? answer.after : mergeValue(place, { previous, head, live: nothing, answer });
}

function mergeValue(place: Place, { previous, head, live, answer }: Versions<Json>): Json {
  if (isJsonObject(head) && isJsonObject(live)) return mergeObjects(place, { previous, head, live, answer });
  if (isList(head) && isList(live)) {
    const element = { ...place, path: [...place.path, "[]"] };
    const lists = { previous: previous.filter(isList), head, live, answer };
    const rule = listRule(place.identity, place.path);
    return (rule && mergeByKey(rule, element, lists)) ?? mergeByPlace(element, lists);
  }
  if (jsonEqual(head, live)) return live;
  if (typeof head === "string" && typeof live === "string" && matchesCommit(head, live)) return live;
  return answer?.after ?? (isSameAmount(place, head, live) ? live : head);
}

interface Lists extends Versions<List> {
  readonly previous: readonly List[];
}

/** Keeps the order if the head's elements have the same one, and otherwise takes the head's: server-side apply may keep the live one. */
function mergeByKey(rule: ListRule, element: Place, { previous, head, live, answer }: Lists): List | undefined {
  const [heads, lives] = [keyed(rule, head), keyed(rule, live)];
  const answers = answer && answeredLists(answer).map((list) => list && keyed(rule, list));
  if (heads === undefined || lives === undefined || answers?.includes(undefined) === true) return undefined;
  const [before, after, whole] = answers ?? [];
  const olds = previous.map((list) => keyed(rule, list) ?? new Map<string, Json>());
  const common = [...lives.keys()].filter((key) => heads.has(key));
  const wanted = [...heads.keys()].filter((key) => lives.has(key));
  const first = common.join() !== wanted.join() ? wanted : (after ?? lives).keys();
  const order = new Set([...first, ...heads.keys(), ...lives.keys(), ...(after?.keys() ?? [])]);
  return [...order].flatMap((key) => {
    const value = mergeMember(element, {
      previous: olds.map((side) => side.get(key)),
      head: heads.get(key),
      live: lives.get(key),
      answer: after && { before: before?.get(key), after: after.get(key), whole: whole?.get(key) },
    });
    return value === undefined ? [] : [value];
  });
}

function answeredLists({ before, after, whole }: Answered): readonly (List | undefined)[] {
  return [before, after, whole].map((value) => (value === undefined || isList(value) ? (value ?? []) : undefined));
}

/** Comparing each changed element with more earlier ones takes too long. */
const MOST_EARLIER = 200;

/**
 * A head element's counterpart is the live one whose render it equals, or else the one at the same place. The first of
 * `previous` of the live list's length counts as its render, unless the live list has all of the head already. An answer
 * counts if its elements are the head's, in this order.
 */
function mergeByPlace(element: Place, { previous, head, live, answer }: Lists): List {
  const after = isList(answer?.after) && isCovered(head, answer.after) ? answer.after : undefined;
  const asLive = (value: Maybe) => (isList(value) && value.length === live.length ? value : undefined);
  const [before, whole] = [asLive(answer?.before), asLive(answer?.whole)];
  const texts = previous.map((list) => list.map((item) => canonicalJson(item)));
  const known = texts.map((list) => new Set(list));
  const origin = isCovered(head, live) ? [] : (texts.find((list) => list.length === live.length) ?? []);
  const places = new Map(origin.map((text, at) => [text, at]));
  const earlier = previous.flat();
  return head.map((wanted, index) => {
    const text = canonicalJson(wanted);
    const at = origin[index] === text ? index : (places.get(text) ?? (head.length === live.length ? index : -1));
    const same = places.has(text) && known.every((list) => list.has(text));
    // Which earlier element a changed one was is not known, so that what any of them had counts as removed.
    if (!same && earlier.length > MOST_EARLIER) return wanted;
    const answered = after && { before: (before ?? live)[at], after: after[index], whole: whole?.[at] ?? wanted };
    const versions = { previous: same ? [wanted] : earlier, head: wanted, live: live[at], answer: answered };
    return mergeMember(element, versions) ?? wanted;
  });
}

/** Whether an answered value has everything that the head's has, in whatever spelling. */
function isCovered(head: Json, after: Maybe): boolean {
  if (after === undefined) return isZero(head);
  if (isList(head)) {
    return isList(after) && head.length === after.length && head.every((one, at) => isCovered(one, after[at]));
  }
  if (isJsonObject(head)) {
    const members = Object.entries(head);
    return (
      isJsonObject(after) && members.every(([key, one]) => one === undefined || isCovered(one, ownMember(after, key)))
    );
  }
  if (jsonEqual(head, after) || compareQuantities(head, after) === 0) return true;
  return typeof head === "string" && typeof after === "string" && matchesCommit(head, after);
}

function isZero(value: Json): boolean {
  if (isList(value)) return value.length === 0;
  if (isJsonObject(value)) return Object.values(value).every((member) => member === undefined || isZero(member));
  return value === false || value === 0 || value === "" || value === null;
}

const MAPS_OF_TEXTS = /^(?:labels|annotations|matchLabels|nodeSelector|selector|data|binaryData|parameters)$/;

/** Whether Kubernetes does not store an empty value. It stores empty texts in maps such as labels, and every value of a custom kind outside the metadata. */
function isUnstored({ identity, path }: Place, value: Json): boolean {
  const isFree = isCustom(identity.group) && path[0] !== "metadata";
  if (isFree || (typeof value === "string" && MAPS_OF_TEXTS.test(path.at(-2) ?? ""))) return false;
  return isZero(value) && !(isJsonObject(value) && Object.keys(value).length > 0);
}

const KINDS_OF_AMOUNTS = new Set(["", "apps", "batch"]);

/** Where an amount of a container is written in two ways. */
function isSameAmount({ identity, path }: Place, head: Json, live: Json): boolean {
  const [resources, limits] = path.slice(-3);
  const isAmount = resources === "resources" && (limits === "limits" || limits === "requests");
  return isAmount && KINDS_OF_AMOUNTS.has(identity.group) && compareQuantities(head, live) === 0;
}

const PLACEHOLDER = /<commit(?::([78]))?>/g;

/** With more placeholders in one text, the search would be slow. No render has as many. */
const MOST_COMMITS = 10;

/** Whether a text is the normalised one with a commit id of the same length in place of each placeholder, of which it has some. */
function matchesCommit(normalised: string, text: string): boolean {
  if (normalised.search(PLACEHOLDER) === -1) return false;
  const parts: readonly (string | undefined)[] = normalised.split(PLACEHOLDER);
  if (parts.length > 2 * MOST_COMMITS + 1) return false;
  // Every second part is the length of a placeholder: 7, 8, or none for a whole id.
  const pattern = parts.map((part, at) => (at % 2 === 1 ? idOf(part) : literally(part ?? ""))).join("");
  return new RegExp(`^${pattern}$`).test(text);
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function idOf(length: string | undefined): string {
  return length === undefined ? "(?:[0-9a-f]{40}|[0-9a-f]{64})" : `[0-9a-f]{${length}}`;
}
