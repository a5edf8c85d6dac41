import type { Manifest } from "../../model/application.js";
import { isJsonObject, type Json, type JsonObject, type JsonText, readJsonText } from "../../model/json.js";
import type { LiveResource, LiveState, ObjectAnswer } from "../../ports/deployer.js";
import { isSecret } from "../../secrets/hide-values.js";
import { isHook } from "../hook.js";
import { keyOf, type ManifestIdentity } from "../manifest-key.js";
import { normalise } from "../normalise.js";
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
  /** False for hooks and generated names, which Argo CD does not report: for these the renders are compared. */
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
  const rendered = [...pairs].map(([key, pair]): InCluster => {
    const inCluster = !pair.hook && pair.identity.name !== "";
    if (!inCluster) return { ...pair, ...liveSides(undefined), answer: undefined, inCluster };
    const liveAt = liveKey(pair, left);
    const found = left.get(liveAt);
    left.delete(liveAt);
    const answer = answers[key];
    return { ...pair, ...liveSides(found), answer: answer && answeredSides(answer), inCluster };
  });
  const extra = [...left.values()]
    .filter((one) => one.live !== undefined && !one.hook && !isHook(one.live))
    .map((resource): InCluster => {
      const sides = { base: undefined, head: undefined, hook: false, answer: undefined, inCluster: true };
      return { identity: identityOf(resource), ...sides, ...liveSides(resource) };
    });
  return [...rendered, ...extra];
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

/** Only the live object shows that a custom kind is cluster-scoped: it has no namespace. */
function liveKey({ identity, base, head }: Sides, live: ReadonlyMap<string, LiveResource>): string {
  const key = keyOf(identity);
  const metadata = (head ?? base)?.metadata;
  const written = isJsonObject(metadata) && metadata.namespace !== undefined;
  return live.has(key) || written ? key : keyOf({ ...identity, namespace: "" });
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
export function normaliseLive(manifest: Manifest): JsonObject {
  const { metadata } = manifest;
  if (!isJsonObject(metadata)) return normalise(manifest, undefined);
  const { annotations, ...rest } = metadata;
  const members = Object.entries(rest).filter(([member]) => !KEPT_BY_KUBERNETES.includes(member));
  const kept = isJsonObject(annotations)
    ? Object.fromEntries(Object.entries(annotations).filter(([name]) => name !== LAST_APPLIED))
    : annotations;
  const cleaned: Json = { ...Object.fromEntries(members), ...(kept === undefined ? {} : { annotations: kept }) };
  return normalise({ ...manifest, metadata: cleaned }, undefined);
}

const MASK = "++++++++";

/**
 * A Secret with one mask for every value, anything else unchanged: Argo CD masks the values of each call separately, so masks of
 * a render and of the cluster must never be compared.
 */
export function withEqualMasks(identity: ManifestIdentity, object: JsonObject): JsonObject {
  if (!isSecret(identity)) return object;
  const { data, stringData, ...rest } = object;
  const keys = [data, stringData].flatMap((values) => (isJsonObject(values) ? Object.keys(values) : []));
  if (keys.length === 0) return rest;
  return { ...rest, data: Object.fromEntries([...new Set(keys)].sort().map((key) => [key, MASK])) };
}
