import { redact } from "../../config/schema-parts.js";
import { mapMembers, ownMember } from "../model/effect.js";
import { canonicalJson, isJsonObject, isList, type Json, jsonEqual, type JsonObject } from "../model/json.js";
import type { BothSides, DiffBasis, ManifestDiff, NameChanges, ResourceChange } from "../model/plan/manifest-diff.js";
import { carriesParameters, EmbeddedTexts, hideParameters, withoutCredentials } from "../secrets/hide-in-text.js";
import { hideValues, isSecret } from "../secrets/hide-values.js";
import { cautionsOf, isDangerous, isNeverPruned, type TwoSides } from "./cautions.js";
import { type CompareObjects, objectComparer } from "./changed-sections.js";
import {
  hasListRules,
  holdingOf,
  keyed,
  listRule,
  type ListRule,
  rollsPods,
  type ValuePath,
} from "./kubernetes-rules.js";
import { type ManifestIdentity, titleOf } from "./manifest-key.js";

/** One object before and after, and whether it is a hook on both sides. */
export interface Sides extends TwoSides {
  readonly hook: boolean;
  readonly mark?: Mark | undefined;
}
/** A line above the hunks, and whether it says that a sync leaves the object as it is. */
interface Mark {
  readonly left: boolean;
  readonly text: string;
}
/** The marks of objects without and with Kubernetes' answers. */
export type Marks = readonly {
  readonly title: string;
  readonly before: Mark | undefined;
  readonly after: Mark | undefined;
}[];

/** What Argo CD takes for left over although the head has it. A render does not tell that a custom kind has no namespace. */
export function renderedOf(
  pairs: ReadonlyMap<string, Sides>,
  leftOver: readonly string[] = [],
): readonly string[] | undefined {
  if (leftOver.length === 0) return undefined;
  const applied = [...pairs.values()].filter(({ head, hook }) => head !== undefined && !hook);
  const titles = new Set(applied.flatMap(({ identity }) => [identity, { ...identity, namespace: "" }].map(titleOf)));
  return leftOver.filter((one) => titles.has(one));
}

type Changed = Shown & { readonly action: ResourceChange["action"]; readonly dangerous: boolean };
/** The two sides as they may be shown. `whole` has everything, for decisions. */
type Shown = Sides & { readonly hides: boolean; readonly leavesOut: boolean; readonly whole: TwoSides };

interface Origin {
  readonly syncOptions: readonly string[];
  readonly basis: DiffBasis;
  /** Patterns for what must not be shown; see `redact`. */
  readonly redact: readonly string[];
  /** Everything goes with its application, of which no option about pruning keeps it. */
  readonly all?: boolean;
}

/** Whether the two sides are equal as JSON, except for the order of lists whose order has no effect. */
export function meanTheSame({ identity, base, head }: TwoSides): boolean {
  if (base === undefined || head === undefined) return base === head;
  // Most objects of a render are equal as they are.
  return jsonEqual(base, head) || jsonEqual(withoutIdleOrder(identity, base), withoutIdleOrder(identity, head));
}

/** Counts and shows the differences, dangerous ones first and hooks last, without values of Secrets, secret parameters and what is redacted. */
export function summarise(
  changes: readonly Sides[],
  { syncOptions, basis, redact: patterns, all }: Origin,
): ManifestDiff {
  const compare = objectComparer();
  const texts = new EmbeddedTexts();
  const sorted = changes
    .filter((change) => differs(change, texts))
    .map((change) => shownSides(change, texts))
    .map((one) => ({ ...one, action: actionOf(one), dangerous: isDangerous(one.whole, syncOptions) }))
    .sort(inOrder);
  const sizes = new Map(sorted.map((one) => [one, JSON.stringify([one.base, one.head]).length]));
  const bySize = [...sorted].sort((left, right) => (sizes.get(left) ?? 0) - (sizes.get(right) ?? 0));
  // Small objects are shown whatever the large ones need.
  const shown = new Map(bySize.map((one) => [one, toResource(one, compare, patterns)]));
  const resources = sorted.flatMap((one) => shown.get(one) ?? []);
  const stays = ({ action, hook, whole }: Changed) =>
    action === "delete" && !hook && all !== true && isNeverPruned(whole.base, syncOptions);
  const stay = sorted.filter(stays);
  const moving = stay.length === 0 ? sorted : sorted.filter((one) => !stays(one));
  return {
    created: countOf(resources, "create"),
    updated: countOf(resources, "update"),
    deleted: countOf(resources, "delete") - stay.length,
    ...(stay.length === 0 ? {} : { stay: stay.length }),
    hooksChanged: resources.filter(({ hook }) => hook).length,
    resources,
    hiddenSecrets: changes.some(({ identity }) => isSecret(identity)),
    secrets: [],
    onlyCommit: [],
    // What is hidden counts as well: a sync option may stand in a text that looks like a Secret.
    ...cautionsOf(
      sorted.map(({ whole }) => whole),
      syncOptions,
    ),
    children: namesOf(moving, "Application"),
    sets: namesOf(moving, "ApplicationSet"),
    basis,
  };
}

/** How many objects are created, updated and deleted, without those that a sync leaves as they are. */
function countOf(resources: readonly ResourceChange[], action: ResourceChange["action"]): number {
  return resources.filter((one) => !one.hook && one.action === action && one.left !== true).length;
}

/** The diff with the marks that its objects have by Kubernetes' answers. */
export function remarked(diff: ManifestDiff, marks: Marks): ManifestDiff {
  const marksOf = new Map(marks.map((one) => [one.title, one]));
  const resources = diff.resources.map((one): ResourceChange => {
    const found = one.action === "update" ? marksOf.get(one.title) : undefined;
    if (found === undefined) return one;
    const old = lineOf(found.before);
    const hunks = one.diff.startsWith(old) ? one.diff.slice(old.length) : one.diff;
    return { ...one, diff: lineOf(found.after) + hunks, left: found.after?.left === true ? true : undefined };
  });
  return { ...diff, resources, updated: countOf(resources, "update") };
}

function lineOf(mark: Mark | undefined): string {
  return mark === undefined ? "" : `# ${mark.text}\n`;
}

/** For Secrets, only differences that can be shown count: a mask and a value do not differ. */
function differs(change: Sides, texts: EmbeddedTexts): boolean {
  return !meanTheSame(isSecret(change.identity) ? { ...change, ...hiddenSides(change, texts) } : change);
}

function hiddenSides({ identity, ...sides }: TwoSides, texts: EmbeddedTexts): ReturnType<typeof hideValues> {
  const hidden = hideValues(sides, holdingOf(identity), texts);
  return carriesParameters(identity) ? { ...hidden, ...hideParameters(hidden.base, hidden.head) } : hidden;
}

function shownSides(change: Sides, texts: EmbeddedTexts): Shown {
  const hidden = hiddenSides(change, texts);
  const hides = hidden.base !== change.base || hidden.head !== change.head;
  return { ...change, ...hidden, hides, whole: change };
}

function actionOf({ base, head }: TwoSides): ResourceChange["action"] {
  if (base === undefined) return "create";
  return head === undefined ? "delete" : "update";
}

function toResource(
  { identity, base, head, hook, action, hides, leavesOut, mark }: Changed,
  compare: CompareObjects,
  patterns: readonly string[],
): ResourceChange {
  const { text, sides } = diffText(identity, base, head, compare);
  const shown = redactHunks(withoutCredentials(text, "addresses"), patterns);
  const diff = leavesOut && text !== NOTHING_SHOWN ? `${LEFT_OUT}\n${shown}` : shown;
  return {
    action,
    title: titleOf(identity),
    kind: identity.kind,
    diff: lineOf(mark) + diff,
    hook,
    ...(mark?.left === true ? { left: true } : {}),
    whole: !hides && diff === text && !NOTE.test(text),
    sides: sides && shownWhole(sides, patterns),
  };
}

/** Redacts unified hunks: keeps each line's first character, and the sentences behind `#`. */
export function redactHunks(hunks: string, patterns: readonly string[]): string {
  if (patterns.length === 0) return hunks;
  return hunks
    .split("\n")
    .map((line) => (/^(?:@@ |#(?! {2}))/.test(line) ? line : line.slice(0, 1) + redact(line.slice(1), patterns)))
    .join("\n");
}

function shownWhole({ before, after }: BothSides, patterns: readonly string[]): BothSides {
  const shown = (text: string) => redact(withoutCredentials(text, "addresses"), patterns);
  return { before: shown(before), after: shown(after) };
}

/** A line of ours among the hunks: something is left out, or the order alone changes. */
const NOTE = /^#/m;

const NOTHING_SHOWN = "# Only text that is not shown here changes.";
const LEFT_OUT = "# What looks like a copy of an object in its annotations is not shown.";

/** Hunks over aligned lists. A line of its own reports what the alignment hides. */
function diffText(
  identity: ManifestIdentity,
  base: JsonObject | undefined,
  head: JsonObject | undefined,
  compare: CompareObjects,
): ReturnType<CompareObjects> {
  if (base === undefined || head === undefined) return compare(base, head);
  const { base: aligned, moved } = alignLists(identity, base, head);
  const onlyOrder = jsonEqual(aligned, head);
  const hunks = compare(onlyOrder ? base : aligned, head);
  if (hunks.text === "") return { ...hunks, text: NOTHING_SHOWN };
  if (moved.length === 0) return hunks;
  const lists = moved.map((path) => path.join(".").replaceAll(".[]", "[]")).join(", ");
  const effect = moved.some((path) => rollsPods(identity, path)) ? ": the Pods are rolled for it" : "";
  const text = `# ${onlyOrder ? "Only the order" : "The order, too,"} of ${lists} changes${effect}.\n${hunks.text}`;
  return { ...hunks, text };
}

/** The Applications or ApplicationSets (app of apps) that the manifests create, change and delete, by name. */
function namesOf(changes: readonly Changed[], kind: string): NameChanges {
  const named = (action: ResourceChange["action"]) =>
    changes
      .filter(({ identity, hook }) => identity.group === "argoproj.io" && identity.kind === kind && !hook)
      .filter((one) => one.action === action)
      .map(({ identity }) => identity.name);
  return { created: named("create"), changed: named("update"), deleted: named("delete") };
}

/** Kinds that other objects, or data, depend on. */
const DANGEROUS_KINDS = new Set(["CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim"]);
const ACTION_ORDER = { delete: 0, update: 1, create: 2 } as const;

function inOrder(left: Changed, right: Changed): number {
  const [one, other] = [rank(left), rank(right)];
  const differing = one.findIndex((part, index) => part !== other[index]);
  if (differing === -1) return compareTexts(titleOf(left.identity), titleOf(right.identity));
  return (one[differing] ?? 0) - (other[differing] ?? 0);
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function rank({ identity, action, hook, dangerous }: Changed): readonly number[] {
  const first = dangerous || DANGEROUS_KINDS.has(identity.kind);
  return [hook ? 1 : 0, action === "delete" ? 0 : 1, first ? 0 : 1, ACTION_ORDER[action]];
}

const inOneOrder = new WeakMap<JsonObject, JsonObject>();

/** Sorts each list whose order has no effect, so that objects can be compared. An object is compared several times, always with the same identity. */
function withoutIdleOrder(identity: ManifestIdentity, object: JsonObject): JsonObject {
  if (!hasListRules(identity)) return object;
  const known = inOneOrder.get(object) ?? sortedWithin(identity, object);
  inOneOrder.set(object, known);
  return known;
}

function sortedWithin(identity: ManifestIdentity, object: JsonObject): JsonObject {
  const walk = (value: Json, path: ValuePath): Json => {
    if (isList(value)) {
      const rule = listRule(identity, path);
      const items = value.map((item) => walk(item, [...path, "[]"]));
      return rule?.ordered === false ? sorted(rule, items) : items;
    }
    return isJsonObject(value) ? mapMembers(value, (member, key) => walk(member, [...path, key])) : value;
  };
  return mapMembers(object, (member, key) => walk(member, [key]));
}

function sorted(rule: ListRule, list: readonly Json[]): readonly Json[] {
  const byKey = keyed(rule, list);
  const entries = byKey ? [...byKey] : list.map((item) => [canonicalJson(item), item] as const);
  return entries.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)).map(([, item]) => item);
}

interface Aligned {
  readonly base: JsonObject;
  /** Lists with moved elements, where the order counts. */
  readonly moved: readonly ValuePath[];
}

/** Sorts the base's keyed lists as the head's, so that hunks show the changed element. What only the base has keeps its place. */
function alignLists(identity: ManifestIdentity, base: JsonObject, head: JsonObject): Aligned {
  if (!hasListRules(identity)) return { base, moved: [] };
  const moved: ValuePath[] = [];
  const walk = (old: Json, young: Json | undefined, path: ValuePath): Json => {
    if (isJsonObject(old) && isJsonObject(young)) {
      return mapMembers(old, (member, key) => walk(member, ownMember(young, key), [...path, key]));
    }
    const rule = listRule(identity, path);
    if (rule === undefined || !isList(old) || !isList(young)) return old;
    const pairs = { old: keyed(rule, old), young: keyed(rule, young) };
    if (pairs.old === undefined || pairs.young === undefined) return old;
    const [olds, youngs] = [pairs.old, pairs.young];
    const inside = [...path, "[]"];
    const common = [...youngs.keys()].filter((key) => olds.has(key));
    const before = [...olds.keys()].filter((key) => youngs.has(key));
    if (rule.ordered && common.join() !== before.join()) moved.push(path);
    const places = common.values();
    return [...olds.keys()].map((key) => {
      const now = youngs.has(key) ? (places.next().value ?? key) : key;
      return walk(olds.get(now) ?? null, youngs.get(now), inside);
    });
  };
  const aligned = mapMembers(base, (member, key) => walk(member, ownMember(head, key), [key]));
  return { base: aligned, moved };
}
