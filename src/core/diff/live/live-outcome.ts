import { groupedBy } from "../../model/collections.js";
import { isJsonObject, isList, jsonEqual, type JsonObject, sortedKeys } from "../../model/json.js";
import type { AgainstCluster, ManifestDiff, ObjectNote } from "../../model/plan/manifest-diff.js";
import type { LiveState } from "../../ports/deployer.js";
import { isDataKey, isSecret } from "../../secrets/hide-values.js";
import { FieldPath, mayDefaultOtherwise } from "../kubernetes-rules.js";
import { differingPairs, diffManifests, type DiffRequest, pairManifests } from "../manifest-diff.js";
import {
  byIdentity,
  hasSyncOption,
  inNamespace,
  isNeverApplied,
  isSyncedWith,
  keyOf,
  type ManifestIdentity,
  titleOf,
} from "../manifest-key.js";
import { meanTheSame, type Sides, summarise } from "../summarise.js";
import {
  type Ignored,
  ignoredIn,
  ignoredOf,
  type IgnoreRules,
  type InCluster,
  type ObjectAnswers,
  withEqualMasks,
  withLive,
  writesIgnored,
} from "./live-objects.js";
import { threeWayMerge } from "./three-way-merge.js";
import { type Counts, removesMembers } from "./trial-order.js";

export interface Applying {
  readonly ignored: IgnoreRules;
  /** As `LiveState`. */
  readonly kubernetes?: string | undefined;
  readonly syncOptions: readonly string[];
  /** The keys of a Secret that the cluster keeps although the head no longer has them; undefined if git does not tell. */
  readonly stayingKeys: (identity: ManifestIdentity) => readonly string[] | undefined;
}

/** What a sync makes of a live object, and what has to be said about it. */
interface Outcome extends Sides {
  readonly doubts: readonly string[];
  /** What of the change request's changes a sync does not apply. */
  readonly kept: readonly string[];
  /** The changed fields that it leaves as they are. */
  readonly left: readonly FieldPath[];
}

/** The live object before and after the head is applied. */
export function outcomeOf(one: InCluster, applying: Applying): Outcome {
  const { identity, hook } = one;
  if (!one.inCluster) return { ...one, doubts: [], kept: [], left: [] };
  const rules = ignoredIn(applying.ignored, one);
  const paths = ignoredPaths(one, rules, applying);
  const respected = applying.ignored.respected === "yes";
  const target = respected && one.live !== undefined ? withoutIgnored(one, rules, paths) : one.head;
  const left = respected ? paths.filter((path) => isCopied(path, one, target)).map((path) => asPatched(path, one)) : [];
  const hidden = respected ? left : paths.filter((path) => isUntouched(path, one));
  const keys = (isSecret(identity) ? applying.stayingKeys(identity) : undefined) ?? [];
  const present = paths.length === 0 ? one.live : one.whole;
  // Whether an empty member that the answer lacks is not stored or is ignored cannot be told then.
  const whole = writesIgnored(applying.ignored, identity) ? one.head : one.answer?.whole;
  const answer = one.answer && { ...one.answer, whole: whole ?? one.answer.whole };
  const sides = applied({ ...one, live: present, answer }, target, { hidden, left, keys });
  const stay = one.live === undefined || one.head === undefined ? [] : keys;
  const changed = left.filter((path) => isChanged(path, one));
  return {
    ...sides,
    identity,
    hook,
    doubts: doubtsAbout(one, sides, { ...applying, rules }),
    left: changed,
    kept: [
      ...changed.map(({ text }) => `RespectIgnoreDifferences leaves ${text} as it is`),
      ...(stay.length === 0
        ? []
        : [
            `keys that were written as stringData stay: ${stay.map((key) => (isDataKey(key) ? key : "(hidden key)")).join(", ")}`,
          ]),
    ],
  };
}

/** What the cluster already differs by from the target branch, or from the head for what only that has. */
function driftOf(one: InCluster, applying: Applying): Sides {
  const { identity, hook } = one;
  const wanted = one.base ?? one.head;
  const hidden = wanted === undefined ? [] : ignoredPaths(one, ignoredIn(applying.ignored, one), applying);
  const present = hidden.length === 0 ? one.live : one.whole;
  const same = jsonEqual(wanted, one.head);
  const compared = { ...one, live: present, answer: same ? one.answer : undefined };
  return { ...applied(compared, wanted, { hidden, left: [], keys: [] }), identity, hook };
}

/** Argo CD takes the fields that its rules select out of the live object that it compares. */
function ignoredPaths(
  { identity, live, whole }: InCluster,
  { pointers, byArgoCd }: Ignored,
  { ignored: { compared } }: Applying,
): readonly FieldPath[] {
  if (live === undefined || whole === undefined) return [];
  const evaluated = compared && byArgoCd.length > 0;
  return [...pathsOf(pointers, identity, whole), ...(evaluated ? new FieldPath(identity).missing(whole, live) : [])];
}

/** Argo CD cannot take out a whole object, and ignores a pointer to one. */
function pathsOf(pointers: readonly string[], identity: ManifestIdentity, object: JsonObject): readonly FieldPath[] {
  return pointers.map((pointer) => FieldPath.of(pointer, identity, object)).filter(({ steps }) => steps.length > 0);
}

/** With `RespectIgnoreDifferences`, Argo CD takes the ignored fields out of what it applies as well. */
function withoutIgnored(
  { identity, head }: InCluster,
  { pointers }: Ignored,
  paths: readonly FieldPath[],
): JsonObject | undefined {
  return head && [...pathsOf(pointers, identity, head), ...paths].reduce(withoutField, head);
}

function withoutField(object: JsonObject, path: FieldPath): JsonObject {
  return path.writtenTo(object, undefined);
}

function isChanged(path: FieldPath, { base, head }: Pick<Sides, "base" | "head">): boolean {
  return base !== undefined && head !== undefined && !isUntouched(path, { base, head });
}

/**
 * Whether Argo CD may ignore everything that changes in the object. With `ApplyOutOfSyncOnly` a sync skips such an object
 * (`filterOutOfSyncTasks` of gitops-engine).
 */
export function mayBeSkipped(
  { identity, base, head }: Omit<Sides, "hook">,
  { ignored, syncOptions }: Applying,
): boolean {
  if (ignored.respected !== "no" || !syncOptions.includes("ApplyOutOfSyncOnly=true")) return false;
  const { pointers, byArgoCd } = ignoredOf(ignored, identity);
  const compared = (side: JsonObject | undefined) =>
    side && pathsOf(pointers, identity, side).reduce(withoutField, side);
  return byArgoCd.length > 0 || meanTheSame({ identity, base: compared(base), head: compared(head) });
}

/** The changed fields that pointers of rules select in either render. */
export function pointedAt({ pointers }: Ignored, sides: Sides): readonly string[] {
  const { identity, base, head } = sides;
  const paths = [base, head].flatMap((side) => (side === undefined ? [] : pathsOf(pointers, identity, side)));
  return [...new Set(paths.filter((path) => isChanged(path, sides)).map(({ text }) => text))];
}

/** A rule does not hide what the change request itself changes, since a sync applies that anyway. */
function isUntouched(path: FieldPath, { base, head }: Pick<Sides, "base" | "head">): boolean {
  return base !== undefined && head !== undefined && jsonEqual(path.valueIn(base), path.valueIn(head));
}

/**
 * Whether it copies a field that the cluster has into that. Since 3.5 it then takes back each list of which nothing was taken out, and
 * each map that only the cluster has, but not one that is ignored itself (`restoreNonIgnoredFields`).
 */
function isCopied({ identity, steps }: FieldPath, { head }: InCluster, target: JsonObject | undefined): boolean {
  for (const at of steps.keys()) {
    const above = new FieldPath(identity, steps.slice(0, at + 1));
    const value = above.valueIn(head) ?? null;
    if (value === null) return at === steps.length - 1;
    if (isList(value)) return !jsonEqual(value, above.valueIn(target));
  }
  return true;
}

/**
 * Then it patches the live values of these fields into that. The patch replaces a list whole, unless Kubernetes knows the
 * keys of its elements (`normalizeTargetResources`, v3.5).
 */
function asPatched(path: FieldPath, { whole }: InCluster): FieldPath {
  const { identity, steps } = path;
  if (path.valueIn(whole) === undefined) return path;
  const list = steps.findIndex((step) => typeof step !== "string" && step.key === undefined);
  return list === -1 ? path : new FieldPath(identity, steps.slice(0, list));
}

interface How {
  readonly hidden: readonly FieldPath[];
  readonly left: readonly FieldPath[];
  readonly keys: readonly string[];
}

function applied(
  { identity, base, live, lastApplied, answer }: InCluster,
  wanted: JsonObject | undefined,
  { hidden, left, keys }: How,
): Pick<Sides, "base" | "head"> {
  const masked = (object: JsonObject | undefined) => object && withEqualMasks(identity, object);
  const shown = (object: JsonObject) => inOrder(hidden.reduce(withoutField, object));
  const [before, after] = [masked(live), masked(wanted)];
  if (before === undefined || after === undefined) return { base: before, head: after };
  const previous = [base, lastApplied].map((object) => object && withoutKeys(masked(object) ?? {}, keys));
  const written = inPlaceOf(before, after, base);
  const merged = threeWayMerge(identity, { previous, head: written, live: before, answer });
  const patched = left.reduce((object, path) => path.writtenTo(object, path.valueIn(before)), merged);
  return { base: shown(before), head: shown(patched) };
}

function withoutKeys(secret: JsonObject, keys: readonly string[]): JsonObject {
  if (keys.length === 0 || !isJsonObject(secret.data)) return secret;
  const kept = Object.entries(secret.data).filter(([key]) => !keys.includes(key));
  return { ...secret, data: Object.fromEntries(kept) };
}

/** Hunks compare lines, so both sides need the same order of keys. */
function inOrder(object: JsonObject): JsonObject {
  const sorted = sortedKeys(object);
  return isJsonObject(sorted) ? sorted : {};
}

/** Neither the API version that the cluster answers in nor the namespace that Argo CD adds is a change, unless the head writes another. */
function inPlaceOf(live: JsonObject, wanted: JsonObject, base: JsonObject | undefined): JsonObject {
  const apiVersion = wanted.apiVersion === base?.apiVersion ? live.apiVersion : wanted.apiVersion;
  const { metadata } = wanted;
  if (!isJsonObject(metadata) || !isJsonObject(live.metadata)) return { ...wanted, apiVersion };
  const namespace = metadata.namespace ?? live.metadata.namespace;
  return { ...wanted, apiVersion, metadata: { ...metadata, namespace } };
}

function doubtsAbout(
  one: InCluster,
  sides: Pick<Sides, "base" | "head">,
  applying: Applying & { readonly rules: Ignored },
): readonly string[] {
  const { rules, syncOptions, stayingKeys, kubernetes } = applying;
  const { compared, respected } = applying.ignored;
  const { identity, base, head, live, answer } = one;
  if (live === undefined || head === undefined) return [];
  if (isSyncedWith("Replace=true", { base, head }, syncOptions)) {
    return ["Replace=true also removes what others wrote into it"];
  }
  if (meanTheSame({ identity, ...sides })) return [];
  const how = compared
    ? "honoured only for fields that the cluster has"
    : "not evaluated, since the definition changes them";
  const isSkipped = mayBeSkipped({ identity, ...sides }, applying);
  const unsure = respected === "unsure" || isSkipped ? pointedAt(rules, { identity, base, head, hook: false }) : [];
  const why = isSkipped ? "(ApplyOutOfSyncOnly)" : "(RespectIgnoreDifferences), since the definition changes, too";
  const unknown: Counts = (path, parent) => mayDefaultOtherwise(kubernetes, identity, path, parent);
  const losesKeys = isSecret(identity) && keysOf(sides.base).some((key) => !keysOf(sides.head).includes(key));
  return [
    ...(answer === undefined && !isSecret(identity)
      ? ["without Kubernetes' answer, what it fills in or spells in another way may be shown as a change"]
      : answer !== undefined && takesAway(one, [], unknown)
        ? ["Kubernetes may put a default in the place of what is removed"]
        : []),
    ...unsure.map((path) => `a sync may leave ${path} as it is ${why}`),
    ...(rules.byArgoCd.length === 0 ? [] : [`${rules.byArgoCd.join(" and ")} of ignoreDifferences ${how}`]),
    ...(hasSyncOption(head, "ServerSideApply=true", syncOptions)
      ? ["server-side apply removes a field only if nobody else owns it"]
      : []),
    ...(losesKeys && base !== undefined && stayingKeys(identity) === undefined
      ? ["a key stays if it was written as stringData"]
      : []),
  ];
}

/** Whether the head has lost something that was applied before, apart from these fields. */
export function takesAway(
  { identity, base, head, lastApplied }: InCluster,
  apart: readonly FieldPath[] = [],
  counts?: Counts,
): boolean {
  // Argo CD writes the namespace into what it applies, whether or not the manifest does.
  const rest = (object: JsonObject) => inNamespace(apart.reduce(withoutField, object), undefined);
  return [base, lastApplied].some(
    (before) => before && head && removesMembers(identity, rest(before), rest(head), counts),
  );
}

function keysOf(secret: JsonObject | undefined): readonly string[] {
  return isJsonObject(secret?.data) ? Object.keys(secret.data) : [];
}

interface LiveDiffRequest extends DiffRequest {
  readonly live: LiveState;
  readonly ignored: IgnoreRules;
  readonly answers: ObjectAnswers;
  readonly stayingKeys: (identity: ManifestIdentity) => readonly string[] | undefined;
}

interface Compared {
  readonly one: InCluster;
  readonly outcome: Outcome;
}

/**
 * What a sync of the head would do to the cluster: each live object against the three-way merge of base, head and live, drift
 * included. The basis names changes that the cluster already has or keeps: with these, an empty diff does not prove "unchanged".
 */
export function diffLive(request: LiveDiffRequest, pairs = pairManifests(request)): ManifestDiff {
  const { compared, against, applying } = compareWithCluster(request, pairs);
  const hasDrifted = (one: InCluster) =>
    one.base === undefined ? one.live !== undefined : !meanTheSame(driftOf(one, applying));
  return summarise(
    compared.map(({ outcome }) => outcome),
    {
      ...request,
      basis: {
        kind: "live",
        ...against,
        drifted: titles(compared.filter(({ one }) => one.inCluster && hasDrifted(one)).map(({ one }) => one)),
      },
    },
  );
}

/** What the change request changes, and beside it what drifted: together every object that `diffLive` has. */
export function diffBoth(
  request: LiveDiffRequest,
  pairs = pairManifests(request),
  differing = differingPairs(pairs),
): ManifestDiff {
  const branch = diffManifests(request, differing);
  const { compared, against, applying } = compareWithCluster(request, pairs);
  const drift = summarise(
    compared
      .filter(({ one, outcome }) => one.inCluster && !meanTheSame(outcome) && isBeside(one))
      .map(({ one }) => driftOf(one, applying)),
    { ...request, basis: { kind: "branch" } },
  );
  return {
    ...branch,
    cautions: [...new Set([...branch.cautions, ...drift.cautions])],
    dangers: [
      ...branch.dangers,
      ...drift.dangers.filter(({ what }) => !branch.dangers.some((danger) => danger.what === what)),
    ],
    basis: { kind: "both", ...against, drift: drift.resources },
  };
}

/** The objects that a sync changes beside those that differ between the renders, as far as that is known without an answer. */
export function driftedPairs(request: LiveDiffRequest, pairs: ReadonlyMap<string, Sides>): ReadonlyMap<string, Sides> {
  const { compared } = compareWithCluster(request, pairs);
  const drifted = compared.filter(({ one, outcome }) => one.live !== undefined && !meanTheSame(outcome));
  const keys = new Set(drifted.map(({ one }) => keyOf(one.identity)));
  return new Map([...pairs].filter(([key, { head }]) => keys.has(key) && head !== undefined));
}

/** What the cluster does not have yet, and what the head deletes anyway, is in the change alone. */
function isBeside({ base, head, live }: InCluster): boolean {
  return base === undefined ? live !== undefined : head !== undefined;
}

/** The live objects without those that the head says `Skip` of: a sync neither applies nor deletes them. */
function withoutSkipped({ live, head, destinationNamespace }: LiveDiffRequest): LiveState {
  const skipped = head.filter(isNeverApplied);
  if (skipped.length === 0) return live;
  const identities = [...byIdentity(skipped, destinationNamespace).values()].map(({ identity }) => identity);
  // Only the live object shows that a custom kind is cluster-scoped.
  const keys = new Set(identities.flatMap((one) => [keyOf(one), keyOf({ ...one, namespace: "" })]));
  return { ...live, resources: live.resources.filter((one) => !keys.has(keyOf({ ...one, generateName: "" }))) };
}

function compareWithCluster(
  request: LiveDiffRequest,
  pairs: ReadonlyMap<string, Sides>,
): { readonly compared: readonly Compared[]; readonly against: AgainstCluster; readonly applying: Applying } {
  const { ignored, answers, syncOptions, stayingKeys } = request;
  const live = withoutSkipped(request);
  const applying = { ignored, syncOptions, stayingKeys, kubernetes: live.kubernetes };
  const compared = withLive(pairs, live, answers).map((one) => ({ one, outcome: outcomeOf(one, applying) }));
  const same = compared.filter(({ one, outcome }) => one.inCluster && meanTheSame(outcome) && !meanTheSame(one));
  const ofAll = [
    ...(live.stale === undefined ? [] : [live.stale]),
    ...(ignored.unread ? ["some rules of ignoreDifferences could not be read"] : []),
  ];
  return {
    applying,
    compared,
    against: {
      approximate: [
        ...ofAll.map((what) => ({ what, objects: [] })),
        ...notes(compared.map(({ outcome }) => [outcome, outcome.doubts])),
      ],
      alreadyThere: titles(same.filter(({ outcome }) => outcome.kept.length === 0).map(({ one }) => one)),
      kept: notes(compared.map(({ outcome }) => [outcome, outcome.kept])),
    },
  };
}

function notes(said: readonly (readonly [Sides, readonly string[]])[]): readonly ObjectNote[] {
  const all = said.flatMap(([one, texts]) => texts.map((what) => ({ ...one, what })));
  return [...groupedBy(all, ({ what }) => what)].map(([what, some]) => ({ what, objects: titles(some) }));
}

function titles(some: readonly Sides[]): readonly string[] {
  return some.map(({ identity }) => titleOf(identity)).sort();
}
