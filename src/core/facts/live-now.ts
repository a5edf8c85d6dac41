import { type Application, isAutoSynced, sourcesOf } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { type Deployment, isDeployedAt } from "../model/deployment.js";
import type { Identity, Member } from "../model/effect.js";
import type { ApplicationPlan, Plan } from "../model/plan/plan.js";
import { takingEffect } from "../policy/effect-rules.js";
import type { ApplicationFacts, Facts } from "../policy/facts.js";
import type { CommandContext, OpenedChange } from "../ports/context.js";
import { withoutCredentials } from "../secrets/hide-in-text.js";
import { drivingObstacle } from "../survey/driving-right.js";
import { boundNow } from "../survey/effects.js";
import { destinationText, identityOf } from "../survey/members.js";

/** What Argo CD runs now, beside a plan. */
export interface LiveNow {
  /** With the rules of all who deploy to the same namespaces by now. */
  readonly plan: Plan | undefined;
  /** Why the merge would not do what was planned, by application. */
  readonly differing: ReadonlyMap<ApplicationName, string>;
}

type LiveSource = Pick<OpenedChange, "change" | "settings"> &
  Pick<CommandContext, "deployer" | "deployments" | "hostWords" | "clock" | "signal" | "log">;

/**
 * Reads what Argo CD runs now, in one call, and compares what a merge's judgement rests on: project, destination, sources,
 * auto-sync, and the repository's right to drive. What only image updaters and the like write does not count.
 * @throws {DeployerFailure | StoreUnavailable}
 */
export async function readLiveNow(plan: Plan | undefined, context: LiveSource): Promise<LiveNow> {
  if (plan === undefined) return { plan, differing: new Map() };
  const { deployer, deployments, change, clock } = context;
  const [everyApplication, records] = await Promise.all([
    deployer.listApplications(undefined, clock.now()),
    deployments.ofChange(change),
  ]);
  const around = { everyApplication, running: new Map(everyApplication.map((one) => [one.name, one])), records };
  const planned = new Map(plan.applications.map((one) => [one.application, one]));
  const differing = takingEffect(plan).flatMap(({ application, members }): readonly Differing[] => {
    const one = planned.get(application);
    const sentence = (one && selfDiffers(one, around, context)) ?? placeDiffers(members, around);
    return sentence === undefined ? [] : [[application, sentence]];
  });
  return { plan: await boundNow(plan, everyApplication, context), differing: new Map(differing) };
}

type Differing = readonly [ApplicationName, string];

export function withDiffering(facts: Facts, { differing }: Pick<LiveNow, "differing">): Facts {
  const differs = (one: ApplicationFacts): ApplicationFacts => {
    const sentence = differing.get(one.application);
    return sentence === undefined ? one : { ...one, now: { autoSynced: false, differs: sentence } };
  };
  return { ...facts, applications: facts.applications.map(differs), others: facts.others.map(differs) };
}

interface Around {
  readonly everyApplication: readonly Application[];
  readonly running: ReadonlyMap<ApplicationName, Application>;
  /** Those of the change request. */
  readonly records: readonly Deployment[];
}

/** What only the planned application itself is judged by. One that is new, deleted or unreadable has no definition to keep. */
function selfDiffers(
  one: ApplicationPlan,
  { everyApplication, running, records }: Around,
  { change, settings, hostWords }: Pick<LiveSource, "change" | "settings" | "hostWords">,
): string | undefined {
  const { application, kind, effect } = one;
  const [self] = effect.members;
  if (kind === "new" || kind === "deleted") return undefined;
  if (self === undefined || self.definition.kind === "unknown") return undefined;
  const live = running.get(application);
  if (live === undefined) return "Argo CD no longer lists it, so svc cannot tell what a merge does to it";
  // What defined the parent at the plan may still do so.
  const may = { live, holdsResource: true, owner: undefined, everyApplication, change, settings };
  const obstacle = drivingObstacle({ ...may, words: hostWords[change.host] });
  if (obstacle !== undefined) return obstacle;
  if (one.autoSynced === true && !isAutoSynced(live.spec)) return AUTO_SYNC_OFF;
  const written = records.some(
    (record) => record.application === application && isDeployedAt(record, change.headRevision),
  );
  if (self.definition.kind !== "unchanged" && !written) return undefined;
  const sources = sourcesOf(live.spec).map(({ repoURL, targetRevision }) => [
    withoutCredentials(repoURL, "every"),
    targetRevision,
  ]);
  const before = self.sources.map(({ repoURL, targetRevision }) => [repoURL, targetRevision]);
  if (JSON.stringify(sources) === JSON.stringify(before)) return undefined;
  return "since the plan, what it is deployed from changed in Argo CD";
}

const AUTO_SYNC_OFF = "since the plan, its auto-sync was turned off in Argo CD";

/** Rules are matched with the project and the destination of everything that is deployed. */
function placeDiffers(members: readonly Member[], { running }: Around): string | undefined {
  for (const member of members) {
    const live = running.get(member.application);
    // Of a member that could not be evaluated, the plan knows no place.
    if (live === undefined || member.definition.kind === "unknown") continue;
    // It may still be where it was before, whose rules hold as well.
    const known = [member, ...member.boundAs.filter((other) => other.application === member.application)];
    const moved = (what: string, placeOf: (one: Identity) => string): string | undefined => {
      const now = placeOf(identityOf(member.application, live.spec));
      if (known.some((other) => placeOf(other) === now)) return undefined;
      const whose = member === members[0] ? `its ${what}` : `the ${what} of ${member.application}`;
      return `since the plan, ${whose} changed from ${placeOf(member)} to ${now} in Argo CD`;
    };
    const sentence =
      moved("project", ({ project }) => project) ??
      moved("destination", ({ destination }) => destinationText(destination));
    if (sentence !== undefined) return sentence;
  }
  return undefined;
}
