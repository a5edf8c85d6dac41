import type { ApplicationSpec } from "../model/application.js";
import { isJsonObject, sortedKeys, type JsonObject } from "../model/json.js";
import type { ManifestDiff } from "../model/manifest-diff.js";
import type { LiveResource, LiveState } from "../ports/deployer.js";
import { isHook } from "./hook.js";
import { equalAt, ignoredPointers, readIgnoreRules, withoutPointer, type IgnoreRules } from "./ignore-differences.js";
import { normaliseLive, withEqualMasks } from "./live-object.js";
import { pairManifests, type DiffRequest } from "./manifest-diff.js";
import { keyOf, titleOf, type ManifestIdentity } from "./manifest-key.js";
import { meanTheSame, summarise, type Sides } from "./summarise.js";
import { threeWayMerge } from "./three-way-merge.js";

export interface LiveDiffRequest extends DiffRequest {
  readonly live: LiveState;
  /** The definition at the head: its `ignoreDifferences` and sync options. */
  readonly spec: ApplicationSpec;
}

/** One object in the two renders and in the cluster. */
interface Compared extends Sides {
  readonly live: JsonObject | undefined;
  readonly lastApplied: JsonObject | undefined;
  /** False for hooks and generated names, which Argo CD does not report: for these the renders are compared. */
  readonly inCluster: boolean;
}

/**
 * What a sync of the head would do to the cluster: compares each live object with the three-way merge of base, head and
 * live. This includes drift, where the cluster already differs from the base. The basis names changes of the renders that
 * the cluster already has: with these, an empty diff does not prove "unchanged".
 */
export function diffLive(request: LiveDiffRequest, pairs = pairManifests(request)): ManifestDiff {
  const { live, spec, syncOptions, redact } = request;
  const ignored = readIgnoreRules(spec);
  const compared = withLive(pairs, live);
  const outcomes = compared.map((one) => ({ one, outcome: outcomeOf(one, ignored) }));
  const changesNothing = outcomes.filter(({ one, outcome }) => one.inCluster && meanTheSame(outcome));
  const titles = (some: readonly Sides[]) => some.map(({ identity }) => titleOf(identity)).sort();
  return summarise(
    outcomes.map(({ outcome }) => outcome),
    {
      syncOptions,
      redact,
      basis: {
        kind: "live",
        approximate: [
          ...(live.stale === undefined ? [] : [live.stale]),
          ...(ignored.beyond === undefined ? [] : [ignored.beyond]),
          ...(syncOptions.includes("ServerSideApply=true")
            ? ["who owns which field is not known (ServerSideApply)"]
            : []),
        ],
        drifted: titles(compared.filter((one) => one.inCluster && hasDrifted(one, ignored))),
        alreadyThere: titles(changesNothing.filter(({ one }) => !meanTheSame(one)).map(({ one }) => one)),
      },
    },
  );
}

/** Both renders and the cluster, by object. */
function withLive(pairs: ReadonlyMap<string, Sides>, live: LiveState): readonly Compared[] {
  const left = new Map(live.resources.map((resource) => [keyOf(identityOf(resource)), resource]));
  const rendered = [...pairs.values()].map((pair): Compared => {
    const inCluster = !pair.hook && pair.identity.name !== "";
    if (!inCluster) return { ...pair, live: undefined, lastApplied: undefined, inCluster };
    const key = liveKey(pair, left);
    const found = left.get(key);
    left.delete(key);
    return { ...pair, ...liveSides(found), inCluster };
  });
  const extra = [...left.values()]
    .filter(({ live, hook }) => live !== undefined && !hook && !isHook(live))
    .map((resource): Compared => {
      const sides = { base: undefined, head: undefined, hook: false, inCluster: true };
      return { identity: identityOf(resource), ...sides, ...liveSides(resource) };
    });
  return [...rendered, ...extra];
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

function liveSides(resource: LiveResource | undefined): Pick<Compared, "live" | "lastApplied"> {
  const { live, lastApplied } = resource ?? {};
  return { live: live && normaliseLive(live), lastApplied: lastApplied && normaliseLive(lastApplied) };
}

/** The live object, and what a sync of the head makes of it. */
function outcomeOf(one: Compared, ignored: IgnoreRules): Sides {
  if (!one.inCluster) return one;
  return { ...applied(one, one.head, pointersFor(one, ignored)), identity: one.identity, hook: one.hook };
}

function hasDrifted(one: Compared, ignored: IgnoreRules): boolean {
  const unchanged = { ...one, head: one.base };
  return !meanTheSame({ ...applied(unchanged, one.base, pointersFor(unchanged, ignored)), identity: one.identity });
}

/** A pointer does not hide what the change request itself changes, since a sync applies that anyway. */
function pointersFor({ identity, base, head }: Sides, ignored: IgnoreRules): readonly string[] {
  if (base === undefined || head === undefined) return [];
  return ignoredPointers(ignored, identity).filter((pointer) => equalAt(pointer, base, head));
}

function applied(
  { identity, base, live, lastApplied }: Compared,
  wanted: JsonObject | undefined,
  pointers: readonly string[],
): Pick<Sides, "base" | "head"> {
  const masked = (object: JsonObject | undefined) => object && withEqualMasks(identity, object);
  const shown = (object: JsonObject) => inOrder(pointers.reduce(withoutPointer, object));
  const [before, after] = [masked(live), masked(wanted)];
  if (before === undefined || after === undefined) return { base: before, head: after };
  const previous = [masked(base), masked(lastApplied)];
  const merged = threeWayMerge(identity, previous, inPlaceOf(before, after, base), before);
  return { base: shown(before), head: shown(merged) };
}

/** Hunks compare lines, so both sides need the same order of keys. */
function inOrder(object: JsonObject): JsonObject {
  const sorted = sortedKeys(object);
  return isJsonObject(sorted) ? sorted : {};
}

/**
 * The cluster chooses the API version of its answer, and Argo CD adds the namespace to what it applies. Neither is a change
 * unless the change request writes another one.
 */
function inPlaceOf(live: JsonObject, wanted: JsonObject, base: JsonObject | undefined): JsonObject {
  const apiVersion = wanted.apiVersion === base?.apiVersion ? live.apiVersion : wanted.apiVersion;
  const { metadata } = wanted;
  if (!isJsonObject(metadata) || !isJsonObject(live.metadata)) return { ...wanted, apiVersion };
  const namespace = metadata.namespace ?? live.metadata.namespace;
  return { ...wanted, apiVersion, metadata: { ...metadata, namespace } };
}
