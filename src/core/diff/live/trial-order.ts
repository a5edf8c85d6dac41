import { redact } from "../../../config/schema-parts.js";
import type { ApplicationSpec, Manifest } from "../../model/application.js";
import { groupedBy } from "../../model/collections.js";
import { ownMember } from "../../model/effect.js";
import { canonicalJson, isJsonObject, isList, type Json, type JsonObject } from "../../model/json.js";
import type { ClusterCheck, UntriedObjects, RefusedObject } from "../../model/plan/cluster-check.js";
import type { ManifestDiff } from "../../model/plan/manifest-diff.js";
import type { RefusalCause, Trial, TrialObject } from "../../ports/deployer.js";
import { isSecret } from "../../secrets/hide-values.js";
import { withRefusals } from "../cautions.js";
import { keyed, listRule, type ValuePath } from "../kubernetes-rules.js";
import { type DiffRequest, normalise } from "../manifest-diff.js";
import {
  applicationSyncOptions,
  byIdentity,
  hasSyncOption,
  inNamespace,
  isHook,
  isSyncedWith,
  type ManifestIdentity,
  titleOf,
} from "../manifest-key.js";
import { meanTheSame, type Sides } from "../summarise.js";
import { takenAlong, UNDO } from "../taken-along.js";
import { normaliseLive } from "./live-objects.js";

export interface TrialOrder {
  readonly objects: readonly OrderedTrial[];
  readonly untried: readonly { readonly title: string; readonly reason: string }[];
  /** The change has policies or quotas in it, which are not in force while the other objects are tried. */
  readonly changesPolicies: boolean;
}

/** One object to try, and what decides whether a sync does just what is tried. */
export interface OrderedTrial {
  readonly object: TrialObject;
  readonly title: string;
  /** The sync applies it server-side, as the trial does. */
  readonly serverSide: boolean;
  /** The sync does not check whether Kubernetes knows every member. */
  readonly unvalidated: boolean;
  /** The sync skips it while its kind is missing. */
  readonly skippedWithoutKind: boolean;
  /** The head leaves out something that the base has. The trial keeps it. */
  readonly removes: boolean;
}

/** What differs between the renders or has drifted, apart from what cannot be tried: each with the reason. */
export function trialOrder(
  request: DiffRequest,
  differing: ReadonlyMap<string, Sides>,
  drifted: ReadonlyMap<string, Sides>,
): TrialOrder {
  const { head, destinationNamespace, syncOptions } = request;
  const rendered = [...differing].filter(([, sides]) => sides.head !== undefined && !meanTheSame(sides));
  const changed = new Map([...rendered, ...drifted]);
  if (changed.size === 0) return { objects: [], untried: [], changesPolicies: false };
  // Taken from the renders: pairs have a placeholder in place of the commit.
  const raw = byIdentity(head, destinationNamespace);
  const created = createdHere([...differing.values()]);
  const objects: OrderedTrial[] = [];
  const untried: { title: string; reason: string }[] = [];
  for (const [key, sides] of changed) {
    const { identity, base } = sides;
    const manifest = raw.get(key)?.manifest;
    if (manifest === undefined) continue;
    const title = titleOf(identity);
    const reason = reasonAgainst(sides, manifest, created, syncOptions);
    if (reason !== undefined) {
      untried.push({ title, reason });
      continue;
    }
    const has = (option: string) => hasSyncOption(manifest, option, syncOptions);
    const { group, kind, namespace, name } = identity;
    objects.push({
      object: {
        group,
        kind,
        namespace,
        name,
        manifest: namespace === "" || !NAMESPACED_GROUPS.has(group) ? manifest : inNamespace(manifest, namespace),
      },
      title,
      serverSide: has("ServerSideApply=true"),
      unvalidated: has("Validate=false"),
      skippedWithoutKind: has("SkipDryRunOnMissingResource=true"),
      removes: base !== undefined && sides.head !== undefined && removesMembers(identity, base, sides.head),
    });
  }
  return { objects, untried, changesPolicies: [...differing.values()].some(({ identity }) => isPolicy(identity)) };
}

/** What this sync creates first, so that it is not there while its objects are tried. */
interface Created {
  readonly namespaces: ReadonlySet<string>;
  /** `<group>/<kind>` of custom resources whose definition changes. */
  readonly kinds: ReadonlySet<string>;
}

function createdHere(differing: readonly Sides[]): Created {
  const present = differing.filter(({ head }) => head !== undefined);
  const namespaces = present.filter(
    ({ identity: { group, kind }, base }) => group === "" && kind === "Namespace" && base === undefined,
  );
  const definitions = present.filter(({ identity }) => identity.kind === "CustomResourceDefinition");
  return {
    namespaces: new Set(namespaces.map(({ identity }) => identity.name)),
    kinds: new Set(definitions.map(({ head }) => kindOf(head?.spec))),
  };
}

function kindOf(spec: Json | undefined): string {
  const { group, names } = isJsonObject(spec) ? spec : {};
  const kind = isJsonObject(names) ? names.kind : undefined;
  return `${typeof group === "string" ? group : ""}/${typeof kind === "string" ? kind : ""}`;
}

function reasonAgainst(
  { identity, base }: Sides,
  manifest: Manifest,
  created: Created,
  syncOptions: readonly string[],
): string | undefined {
  if (isSecret(identity)) return "its values are hidden";
  if (isHook(manifest)) return "a hook";
  if (identity.name === "") return "its name is generated";
  if (created.namespaces.has(identity.namespace)) return "this sync creates its namespace";
  if (created.kinds.has(`${identity.group}/${identity.kind}`)) {
    return "this sync changes its custom resource definition";
  }
  if (isSyncedWith("Force=true", { base, head: manifest }, syncOptions)) {
    return "the sync may delete and recreate it (Force=true)";
  }
  return undefined;
}

/** Groups of Kubernetes itself whose kinds have a namespace, unless `identify` knows better. */
const NAMESPACED_GROUPS = new Set([
  ...["", "apps", "autoscaling", "batch", "policy", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io"],
  ...["networking.k8s.io", "rbac.authorization.k8s.io"],
]);

/** Whether it limits what may be in the cluster. */
export function isPolicy({ group, kind }: ManifestIdentity): boolean {
  if (group === "") return kind === "ResourceQuota" || kind === "LimitRange";
  return group === "admissionregistration.k8s.io" || /(?:^|\.)(?:kyverno\.io|gatekeeper\.sh)$/.test(group);
}

/**
 * Whether a sync takes something away, which server-side apply does not do with what was applied client-side. A list of unknown merging
 * counts as soon as an element of it goes or changes.
 */
export function removesMembers(
  identity: ManifestIdentity,
  before: JsonObject,
  after: JsonObject,
  counts: Counts = () => true,
): boolean {
  return removes({ identity, path: [], counts }, before, after);
}

/** Whether it counts that a member goes. @param parent the map without it. */
export type Counts = (path: ValuePath, parent: JsonObject) => boolean;

interface Place {
  readonly identity: ManifestIdentity;
  readonly path: ValuePath;
  readonly counts: Counts;
}

function removes(place: Place, before: Json, after: Json): boolean {
  const inside = (step: string): Place => ({ ...place, path: [...place.path, step] });
  const goes = (step: string, old: Json, young: Json | undefined, parent: JsonObject) =>
    young === undefined || (young === null && old !== null)
      ? place.counts([...place.path, step], parent)
      : removes(inside(step), old, young);
  if (isJsonObject(before)) {
    if (!isJsonObject(after)) return true;
    return Object.keys(before).some((key) => {
      const old = ownMember(before, key);
      return old !== undefined && goes(key, old, ownMember(after, key), after);
    });
  }
  if (!isList(before)) return false;
  if (!isList(after)) return true;
  const rule = listRule(place.identity, place.path);
  const [olds, youngs] = [rule && keyed(rule, before), rule && keyed(rule, after)];
  if (olds === undefined || youngs === undefined) {
    const texts = new Set(after.map((young) => canonicalJson(young)));
    return before.some((old) => !texts.has(canonicalJson(old)));
  }
  return [...olds].some(([key, old]) => goes("[]", old, youngs.get(key), {}));
}

export interface Tried {
  readonly order: TrialOrder;
  readonly trials: readonly Trial[];
  /** The head's definition, which says how it is synced. */
  readonly spec: ApplicationSpec;
  /** Patterns for what must not be shown; see `redact`. */
  readonly redact: readonly string[];
}

type Refused = Extract<Trial, { readonly kind: "refused" }>;

/** The diff with what Kubernetes refuses among its cautions, and the answers. The diff itself stays as it is. */
export function withTrials(
  diff: ManifestDiff,
  { order, trials, spec, redact: patterns }: Tried,
): { readonly diff: ManifestDiff; readonly cluster: ClusterCheck } {
  const options = applicationSyncOptions(spec);
  const answered = order.objects.map((asked, index): { readonly asked: OrderedTrial; readonly trial: Trial } => {
    const trial = trials[index] ?? { kind: "untried", reason: "no answer" };
    return { asked, trial: afterSync(trial, asked, options) };
  });
  const found = answered.flatMap(({ asked, trial }) => {
    if (trial.kind !== "refused") return [];
    const sure = isSure(trial, asked, order, { spec, options });
    const { manifest, ...object } = asked.object;
    const holds = takenAlong({ ...object, generateName: "" }, manifest) !== undefined;
    return [{ ...refusedObject(asked, trial, patterns, sure), cause: trial.cause, holds }];
  });
  const untried = answered.flatMap(({ asked: { title }, trial }) =>
    trial.kind === "untried" ? [{ title, reason: redact(trial.reason, patterns) }] : [],
  );
  return {
    diff: { ...diff, ...withRefusals(diff, found.map(foundRefusal)) },
    cluster: {
      accepted: answered.filter(({ trial }) => trial.kind === "accepted").length,
      refused: found.map(({ title, message, sure }) => ({ title, message, sure })),
      untried: byReason([...order.untried, ...untried]),
    },
  };
}

/** What a plan says while Kubernetes is being asked; undefined if it is not asked about anything. */
export function askedAbout({ objects, untried }: TrialOrder): ClusterCheck | undefined {
  if (objects.length === 0) return undefined;
  return { accepted: 0, refused: [], untried: byReason(untried), asking: objects.map(({ title }) => title) };
}

function byReason(untried: TrialOrder["untried"]): readonly UntriedObjects[] {
  const reasons = groupedBy(untried, ({ reason }) => reason);
  return [...reasons].map(([reason, objects]) => ({ reason, titles: objects.map(({ title }) => title) }));
}

const LONGEST_MESSAGE = 160;

function refusedObject(
  { title }: OrderedTrial,
  { message }: Refused,
  patterns: readonly string[],
  sure: boolean,
): RefusedObject {
  const text = redact(message, patterns).replace(/\s+/g, " ").trim();
  const shown =
    text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE).replace(/[\ud800-\udbff]$/, "")}…` : text;
  return { title, message: shown, sure };
}

/** Refusals that the sync itself resolves do not count. */
function afterSync(trial: Trial, asked: OrderedTrial, options: readonly string[]): Trial {
  if (trial.kind !== "refused") return trial;
  if (trial.cause === "no-namespace" && options.includes("CreateNamespace=true")) {
    return { kind: "untried", reason: "this sync creates its namespace" };
  }
  if (trial.cause === "no-kind" && asked.skippedWithoutKind) {
    return { kind: "untried", reason: "its custom resource definition is missing" };
  }
  return trial;
}

function isSure(
  { cause, created, lastApplied }: Refused,
  { object, serverSide, unvalidated, removes }: OrderedTrial,
  { changesPolicies }: TrialOrder,
  { spec, options }: { readonly spec: ApplicationSpec; readonly options: readonly string[] },
): boolean {
  // A sync then keeps the live values of ignored members.
  if (options.includes("RespectIgnoreDifferences=true") && Array.isArray(spec.ignoreDifferences)) return false;
  const exact = () => {
    if (created || serverSide) return true;
    if (removes) return false;
    if (lastApplied === undefined) return true;
    // Argo CD writes the namespace into what it applies, whether or not the manifest does.
    const before = inNamespace(normaliseLive(lastApplied), undefined);
    return !removesMembers({ ...object, generateName: "" }, before, normalise(object.manifest, undefined));
  };
  switch (cause) {
    case "immutable":
    case "no-namespace":
    case "no-kind":
      return true;
    case "unknown-field":
      return serverSide || !unvalidated;
    case "conflict":
      return created || serverSide;
    case "invalid":
      return exact();
    case "denied":
      return !changesPolicies && exact();
  }
}

function foundRefusal({
  title,
  message,
  sure,
  cause,
  holds,
}: RefusedObject & { readonly cause: RefusalCause; readonly holds: boolean }) {
  const will = sure ? "will" : "may";
  const end = sure ? cureOf(cause, holds) : "This cannot be tried just as a sync does it, so the sync may still work";
  return { title, sure, text: `Kubernetes ${will} refuse ${title}: ${message}. ${end}` };
}

/** @param holds Whether its deletion takes other objects, or data, along. */
function cureOf(cause: RefusalCause, holds: boolean): string {
  switch (cause) {
    case "immutable":
      return holds
        ? UNDO
        : "Let the sync replace it (argocd.argoproj.io/sync-options: Replace=true,Force=true), delete it first, or give it another name";
    case "invalid":
    case "conflict":
    case "unknown-field":
      return "Correct the manifest";
    case "denied":
      return "Change it so that it is allowed, or ask those who run the cluster";
    case "no-namespace":
      return "Create the namespace first, or set the sync option CreateNamespace=true";
    case "no-kind":
      return "Install its custom resource definition first";
  }
}
