import type { ApplicationSpec } from "../../model/application.js";
import type { AgainstCluster, ManifestDiff, ObjectNote } from "../../model/manifest-diff.js";
import type { LiveState } from "../../ports/deployer.js";
import { differingPairs, diffManifests, pairManifests, type DiffRequest } from "../manifest-diff.js";
import { titleOf, type ManifestIdentity } from "../manifest-key.js";
import { meanTheSame, summarise, type Sides } from "../summarise.js";
import { readIgnoreRules } from "./ignore-differences.js";
import { withLive, type InCluster } from "./live-objects.js";
import { driftOf, outcomeOf, type Applying, type Outcome } from "./live-outcome.js";

export interface LiveDiffRequest extends DiffRequest {
  readonly live: LiveState;
  /** The definition at the head: its `ignoreDifferences`. */
  readonly spec: ApplicationSpec;
  /** Argo CD compared the cluster by the same `ignoreDifferences`. */
  readonly sameRules: boolean;
  /** See `Applying.keptKeys`. */
  readonly keptKeys: (identity: ManifestIdentity) => readonly string[] | undefined;
}

interface Compared {
  readonly one: InCluster;
  readonly outcome: Outcome;
}

/**
 * What a sync of the head would do to the cluster: compares each live object with the three-way merge of base, head and
 * live. This includes drift, where the cluster already differs from the base. The basis names changes of the renders that
 * the cluster already has or keeps: with these, an empty diff does not prove "unchanged".
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

/**
 * What the change request changes, and beside it what a sync changes besides, because the cluster already differs from the
 * target branch. Together they have every object that `diffLive` has.
 */
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

/** What the cluster does not have yet, and what the head deletes anyway, is in the change alone. */
function isBeside({ base, head, live }: InCluster): boolean {
  return base === undefined ? live !== undefined : head !== undefined;
}

function compareWithCluster(
  { live, spec, sameRules, syncOptions, keptKeys }: LiveDiffRequest,
  pairs: ReadonlyMap<string, Sides>,
): { readonly compared: readonly Compared[]; readonly against: AgainstCluster; readonly applying: Applying } {
  const applying = { ignored: readIgnoreRules(spec), compared: sameRules, syncOptions, keptKeys };
  const compared = withLive(pairs, live).map((one) => ({ one, outcome: outcomeOf(one, applying) }));
  const same = compared.filter(({ one, outcome }) => one.inCluster && meanTheSame(outcome) && !meanTheSame(one));
  const ofAll = [
    ...(live.stale === undefined ? [] : [live.stale]),
    ...(applying.ignored.unread ? ["some rules of ignoreDifferences could not be read"] : []),
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

/** What is said of several objects is said once. */
function notes(said: readonly (readonly [Sides, readonly string[]])[]): readonly ObjectNote[] {
  const objects = new Map<string, Sides[]>();
  for (const [one, texts] of said) {
    for (const what of texts) objects.set(what, [...(objects.get(what) ?? []), one]);
  }
  return [...objects].map(([what, some]) => ({ what, objects: titles(some) }));
}

function titles(some: readonly Sides[]): readonly string[] {
  return some.map(({ identity }) => titleOf(identity)).sort();
}
