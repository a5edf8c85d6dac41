import * as z from "zod";
import { matchesName, patternProblem } from "../../../config/pattern.js";
import { type ApplicationSpec, destinationOf, type Manifest } from "../../model/application.js";
import {
  isJsonObject,
  type Json,
  jsonEqual,
  type JsonObject,
  type JsonText,
  jsonText,
  readJsonText,
} from "../../model/json.js";
import type { LiveResource, LiveState, ObjectAnswer } from "../../ports/deployer.js";
import { isSecret } from "../../secrets/hide-values.js";
import { normalise } from "../manifest-diff.js";
import { applicationSyncOptions, inNamespace, isHook, keyOf, type ManifestIdentity } from "../manifest-key.js";
import type { Sides } from "../summarise.js";
import type { Answered } from "./three-way-merge.js";

/** One object in the two renders and in the cluster. */
export interface InCluster extends Sides {
  /** As Argo CD compares it. */
  readonly live: JsonObject | undefined;
  readonly whole: JsonObject | undefined;
  readonly lastApplied: JsonObject | undefined;
  /** What Kubernetes makes of the head's object. */
  readonly answer: Answered<JsonObject> | undefined;
  /** False for hooks, generated names and some Namespaces, which Argo CD does not report: for these the renders are compared. */
  readonly inCluster: boolean;
}

/** What Kubernetes answered about objects of the cluster, by `keyOf`. */
export type ObjectAnswers = Readonly<Record<string, ObjectAnswer>>;

export function withLive(
  pairs: ReadonlyMap<string, Sides>,
  live: LiveState,
  answers: ObjectAnswers,
): readonly InCluster[] {
  const left = new Map(live.resources.map((resource) => [keyOf(identityOf(resource)), resource]));
  // A removed object must not claim the live object of its successor in another namespace.
  const inTurn = [...pairs].sort(
    ([, one], [, other]) => Number(one.head === undefined) - Number(other.head === undefined),
  );
  const rendered = inTurn.map(([key, found]): InCluster => {
    const pair = withoutOldStatus(found);
    const liveAt = liveKey(pair, left);
    const resource = left.get(liveAt);
    const inCluster = !pair.hook && pair.identity.name !== "" && !(resource === undefined && isChangedNamespace(pair));
    if (!inCluster) return { ...pair, ...liveSides(undefined), answer: undefined, inCluster };
    left.delete(liveAt);
    const answer = answers[key];
    const placed = resource?.namespace === "" ? withoutNamespace(pair) : pair;
    return { ...placed, ...liveSides(resource), answer: answer && answeredSides(answer), inCluster };
  });
  const extra = [...left.values()]
    .filter((one) => one.live !== undefined && !one.hook && !isHook(one.live) && !one.copied)
    .map((resource): InCluster => {
      const sides = { base: undefined, head: undefined, hook: false, answer: undefined, inCluster: true };
      return { identity: identityOf(resource), ...sides, ...liveSides(resource) };
    });
  return [...rendered, ...extra];
}

/** Argo CD does not report the Namespace that it makes of a definition, as `withManagedNamespace` has it. */
function isChangedNamespace({ identity: { group, kind }, base, head }: Sides): boolean {
  return group === "" && kind === "Namespace" && base !== undefined && head !== undefined && !jsonEqual(base, head);
}

/** The pair without a status that is the same on both sides: Argo CD writes the one in the cluster, which is not compared. */
function withoutOldStatus(pair: Sides): Sides {
  const { base, head } = pair;
  if (base?.status === undefined || head === undefined || !jsonEqual(base.status, head.status)) return pair;
  return { ...pair, base: { ...base, status: undefined }, head: { ...head, status: undefined } };
}

/** A pair with its object in the cluster; that without what Argo CD ignores if a sync leaves it. */
export function withAnswer(pair: Sides, asked: ObjectAnswer, leavesIgnored: boolean): InCluster {
  const answer = answeredSides(asked);
  const { before, whole } = answer;
  const lastApplied = asked.lastApplied && normaliseLive(asked.lastApplied);
  return { ...pair, live: leavesIgnored ? before : whole, whole, lastApplied, answer, inCluster: true };
}

function answeredSides({ before, after, whole }: ObjectAnswer): Answered<JsonObject> {
  const read = (state: JsonText<Manifest>) => normaliseLive(readJsonText(state));
  return { before: read(before), after: read(after), whole: read(whole) };
}

function identityOf({ group, kind, namespace, name }: LiveResource): ManifestIdentity {
  return { group, kind, namespace, name, generateName: "" };
}

/** A live object without a namespace is cluster-scoped, even if the manifest names one. Of a custom kind, nothing else tells. */
function liveKey({ identity }: Sides, live: ReadonlyMap<string, LiveResource>): string {
  const key = keyOf(identity);
  return live.has(key) ? key : keyOf({ ...identity, namespace: "" });
}

/** Argo CD takes the namespace out of a cluster-scoped object (v3.5 `NormalizeTargetObjects` in `controller/state.go`). */
function withoutNamespace(pair: Sides): Sides {
  const [base, head] = [pair.base, pair.head].map((side) => side && inNamespace(side, undefined));
  return { ...pair, base, head };
}

function liveSides(
  resource: Pick<LiveResource, "live" | "whole" | "lastApplied"> | undefined,
): Pick<InCluster, "live" | "whole" | "lastApplied"> {
  const { live, whole, lastApplied } = resource ?? {};
  return {
    live: live && normaliseLive(live),
    whole: (whole ?? live) && normaliseLive(whole ?? live ?? {}),
    lastApplied: lastApplied && normaliseLive(lastApplied),
  };
}

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
export function normaliseLive(live: Manifest): JsonObject {
  const manifest = { ...live, status: undefined };
  const { metadata } = live;
  if (!isJsonObject(metadata)) return normalise(manifest, undefined, "cluster");
  const { annotations, ...rest } = metadata;
  const members = Object.entries(rest).filter(([member]) => !KEPT_BY_KUBERNETES.includes(member));
  const kept = isJsonObject(annotations)
    ? Object.fromEntries(Object.entries(annotations).filter(([name]) => name !== LAST_APPLIED))
    : annotations;
  const cleaned: Json = { ...Object.fromEntries(members), ...(kept === undefined ? {} : { annotations: kept }) };
  return normalise({ ...manifest, metadata: cleaned }, undefined, "cluster");
}

const MASK = "++++++++";

/** A Secret with one mask for every value: Argo CD masks the values of each call anew, and masks of two calls must never be compared. */
export function withEqualMasks(identity: ManifestIdentity, object: JsonObject): JsonObject {
  if (!isSecret(identity)) return object;
  const { data, stringData, ...rest } = object;
  const keys = [data, stringData].flatMap((values) => (isJsonObject(values) ? Object.keys(values) : []));
  if (keys.length === 0) return rest;
  return { ...rest, data: Object.fromEntries([...new Set(keys)].sort().map((key) => [key, MASK])) };
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
const texts = z
  .array(z.string())
  .nullish()
  .transform((value) => value ?? []);

const rule = z.object({
  group: text,
  kind: text,
  name: text,
  namespace: text,
  jsonPointers: texts,
  jqPathExpressions: texts,
  managedFieldsManagers: texts,
});
type Rule = z.infer<typeof rule>;

/** Which fields Argo CD ignores when it compares objects with the cluster. */
export interface IgnoreRules {
  readonly rules: readonly Rule[];
  /** Some rules cannot be read, so the objects that they cover are not known. */
  readonly unread: boolean;
  /** Argo CD has compared the live objects by these rules, so that what it left out of them is what they ignore. */
  readonly compared: boolean;
  /** Whether a sync leaves these fields as they are; `unsure` while the change itself has a say in it. */
  readonly respected: "yes" | "unsure" | "no";
}

export interface Ignored {
  readonly pointers: readonly string[];
  /** The members of its rules that only Argo CD evaluates: `jqPathExpressions`, `managedFieldsManagers`. */
  readonly byArgoCd: readonly string[];
}

const BY_ARGO_CD = ["jqPathExpressions", "managedFieldsManagers"] as const;

/** The rules of the head's definition beside the one that Argo CD has now. */
export function readIgnoreRules(head: ApplicationSpec, live: ApplicationSpec): IgnoreRules {
  const { ignoreDifferences } = head;
  const items = Array.isArray(ignoreDifferences) ? (ignoreDifferences as readonly Json[]) : [];
  const parsed = items.map((item) => rule.safeParse(item));
  const rules = parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
  const unread =
    parsed.some(({ success }) => !success) ||
    rules.some((one) => [one.group, one.kind].some((glob) => glob !== "" && patternProblem(glob) !== undefined));
  const compared = jsonEqual(ignoreDifferences, live.ignoreDifferences);
  const [after, before] = [head, live].map((spec) =>
    applicationSyncOptions(spec).includes("RespectIgnoreDifferences=true"),
  );
  const respected = after !== true ? "no" : compared && before === true ? "yes" : "unsure";
  return { rules, unread, compared, respected };
}

/**
 * The rules that apply to an object. Group and kind are globs; a missing group means the core group only (Argo CD v3,
 * `util/argo/normalizers`).
 */
export function ignoredOf(
  { rules }: Pick<IgnoreRules, "rules">,
  { group, kind, name, namespace }: ManifestIdentity,
): Ignored {
  const own = rules
    .filter((one) => matchesName(one.group, group) && matchesName(one.kind, kind))
    .filter((one) => (one.name === "" || one.name === name) && (one.namespace === "" || one.namespace === namespace));
  return {
    pointers: own.flatMap((one) => one.jsonPointers),
    byArgoCd: BY_ARGO_CD.filter((member) => own.some((one) => one[member].length > 0)),
  };
}

/** The rules that apply to an object that may be in the cluster, which alone tells whether its kind has a namespace. */
export function ignoredIn(ignored: IgnoreRules, { identity, whole }: Pick<InCluster, "identity" | "whole">): Ignored {
  const { namespace } = isJsonObject(whole?.metadata) ? whole.metadata : {};
  const place = whole === undefined ? identity.namespace : typeof namespace === "string" ? namespace : "";
  return ignoredOf(ignored, { ...identity, namespace: place });
}

/** Whether a sync may write fields of the object that Kubernetes' answer about it lacks, since Argo CD ignores them. */
export function writesIgnored(ignored: IgnoreRules, identity: ManifestIdentity): boolean {
  if (ignored.respected === "yes") return false;
  const { pointers, byArgoCd } = ignoredOf(ignored, identity);
  return !ignored.compared || ignored.unread || pointers.length > 0 || byArgoCd.length > 0;
}

interface BothRenders {
  readonly base: JsonText<readonly Manifest[]>;
  readonly head: JsonText<readonly Manifest[]>;
}

/**
 * The renders, and before them the Namespace to which the head's definition gives other labels or annotations than the base's: a sync
 * writes it, unless it is rendered (`syncNamespace` in Argo CD's `controller/sync_namespace.go`).
 */
export function withManagedNamespace(
  { base, head }: BothRenders,
  { from, to }: { readonly from: ApplicationSpec | undefined; readonly to: ApplicationSpec },
): BothRenders {
  const stays = from !== undefined && destinationOf(from).namespace === destinationOf(to).namespace;
  // What runs in a Namespace does not create it.
  const [before, after] = [stays ? namespaceOf(from) : undefined, namespaceOf(to)];
  if (managedMetadata(to) === undefined || jsonEqual(before, after)) return { base, head };
  const behind = (first: Manifest, rest: BothRenders["base"]) => jsonText([first, ...readJsonText(rest)]);
  return { base: before === undefined ? base : behind(before, base), head: behind(after, head) };
}

function namespaceOf(spec: ApplicationSpec): Manifest {
  const { labels, annotations } = managedMetadata(spec) ?? {};
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: destinationOf(spec).namespace, labels, annotations },
  };
}

/** What a sync writes into the metadata of the application's Namespace; undefined if it writes nothing. */
function managedMetadata(spec: ApplicationSpec): JsonObject | undefined {
  const { syncPolicy } = spec;
  const metadata = isJsonObject(syncPolicy) ? syncPolicy.managedNamespaceMetadata : undefined;
  if (destinationOf(spec).namespace === "" || !isJsonObject(metadata)) return undefined;
  return applicationSyncOptions(spec).includes("CreateNamespace=true") ? metadata : undefined;
}
