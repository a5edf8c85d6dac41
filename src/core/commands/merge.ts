import { detect, scanSides } from "../detect/scan/affected.js";
import { type AccessContext, barredFrom } from "../facts/access.js";
import { askReviewers, type FactSource, readStores } from "../facts/read-facts.js";
import { type Application, isAutoSynced, sourcesOf } from "../model/application.js";
import { type ApplicationName, applicationName, shortRevision } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { type Deployment, isDeployedAt } from "../model/deployment.js";
import type { Identity, Member } from "../model/effect.js";
import { HeadMoved, ifReadable, LeaseLost, safeMessage } from "../model/errors.js";
import type { NextStep } from "../model/next-step.js";
import type { ApplicationPlan, Plan } from "../model/plan/plan.js";
import type { ApplicationSync, Hindrance, MergeIntent, SyncedResult } from "../model/result.js";
import type { Settings } from "../model/settings.js";
import { lockOfOthers } from "../policy/application-state.js";
import { takingEffect } from "../policy/effect-rules.js";
import type { ApplicationFacts, Facts } from "../policy/facts.js";
import type { Bar } from "../policy/gates.js";
import { barsOf, judge } from "../policy/judge.js";
import { nextStep } from "../policy/next-step.js";
import { RULES } from "../policy/rules.js";
import { follows } from "../policy/stages.js";
import type { CommandContext, OpenedChange } from "../ports/context.js";
import { withoutCredentials } from "../secrets/hide-in-text.js";
import { drivingObstacle } from "../survey/driving-right.js";
import { boundNow } from "../survey/effects.js";
import { destinationText, identityOf } from "../survey/members.js";
import { lackedBy, noteLacked } from "../survey/survey-afresh.js";

interface SyncedSoFar {
  readonly involved: readonly ApplicationName[];
  readonly deployed: readonly ApplicationSync[];
}

type MergeSource = FactSource & AccessContext & Pick<CommandContext, "snapshot" | "log">;

/** Whether to merge after this sync, or what blocks it; neither while auto-merge is off. */
export async function decideMerge(
  { dryRun, plan, ...so }: SyncedSoFar & { readonly dryRun: boolean; readonly plan: Plan | undefined },
  context: MergeSource,
): Promise<Pick<SyncedResult, "merge" | "notMerged">> {
  const { settings } = context;
  if (dryRun || !settings.autoMerge) return { merge: undefined, notMerged: [] };
  try {
    const { facts, bars } = await judgeMerge(so, context, { plan });
    if (bars.length > 0) return { merge: undefined, notMerged: hindrancesIn(bars, facts) };
    // It may have become ready while it was synced.
    const change = context.change.draft ? await context.host.getChangeRequest(context.change) : context.change;
    if (change.draft) return { merge: undefined, notMerged: [hindranceOf(change, DRAFT)] };
    return { merge: intentOf(settings, facts), notMerged: [] };
  } catch (error) {
    // The deployment must be reported whatever happens here.
    context.log.error({ err: error }, "could not decide whether to merge");
    const reason = `could not check whether everything is deployed: ${safeMessage(error)}`;
    return { merge: undefined, notMerged: so.involved.map((application) => ({ application, reason })) };
  }
}

/** What holds right before a merge. */
export type ConfirmedMerge =
  | { readonly kind: "merge"; readonly intent: MergeIntent }
  | { readonly kind: "barred"; readonly notMerged: readonly Hindrance[]; readonly next: NextStep }
  /** Somebody else merged it. */
  | { readonly kind: "merged" };

/**
 * Judges a merge again by what the host, the repository, Argo CD and the stores say now: whoever may write can change the base
 * branch or push a stricter policy to it while a sync runs, and applications can move to other places.
 */
export async function confirmMerge(
  so: SyncedSoFar,
  context: Omit<MergeSource, "settings" | "snapshot"> &
    Pick<CommandContext, "reload" | "deployer" | "scanner" | "clock" | "signal">,
): Promise<ConfirmedMerge> {
  try {
    const change = await context.host.getChangeRequest(context.change);
    if (change.state === "merged") return { kind: "merged" };
    const { settings, problems, snapshot } = await context.reload(change);
    const now = { ...context, change, settings, snapshot };
    const stored = await context.plans.find(change);
    const live = await readLiveNow(stored, now);
    await noteLacked(stored, live.lacks, now);
    const { facts, bars } = await judgeMerge(so, now, { problems, since: context.change, live, plan: live.plan });
    if (bars.length > 0) return { kind: "barred", notMerged: hindrancesIn(bars, facts), next: nextStep(facts) };
    if (change.draft) return barredBy(change, DRAFT, nextStep(facts));
    if (settings.autoMerge) return { kind: "merge", intent: intentOf(settings, facts) };
    return barredBy(change, "auto_merge was turned off", nextStep(facts));
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    context.log.error({ err: error }, "could not judge a merge again");
    const because =
      error instanceof HeadMoved
        ? "which commit is its head: it moved meanwhile"
        : `what holds now: ${safeMessage(error)}`;
    return barredBy(context.change, `cannot tell ${because}`, { kind: "later", because });
  }
}

const DRAFT = "it is a draft";

function barredBy(change: ChangeRequest, reason: string, next: NextStep): ConfirmedMerge {
  return { kind: "barred", notMerged: [hindranceOf(change, reason)], next };
}

/** A reason that concerns no single application. */
function hindranceOf({ headRevision }: ChangeRequest, reason: string): Hindrance {
  return { application: applicationName(shortRevision(headRevision)), reason };
}

function intentOf({ mergeMethod, deleteSourceBranch, protectedBranches }: Settings, facts: Facts): MergeIntent {
  const { overridden } = facts.mergeChecks;
  const merge = { method: mergeMethod, deleteSourceBranch, protectedBranches };
  return overridden.length === 0 ? merge : { ...merge, overridden };
}

interface MergeReading {
  readonly problems?: readonly string[];
  /** The newest plan; without this key it is read. */
  readonly plan?: Plan | undefined;
  /** The change request as it was synced, if it was read again since. */
  readonly since?: ChangeRequest;
  readonly live?: LiveNow;
}

/** Asks the host only once everything is deployed: an approval can be withdrawn while the sync runs. */
async function judgeMerge(
  { involved, deployed }: SyncedSoFar,
  context: MergeSource,
  { since, live, ...reading }: MergeReading,
): Promise<{ readonly facts: Facts; readonly bars: readonly Bar[] }> {
  const { change, user } = context;
  const justFailed = deployed.filter(({ kind }) => kind !== "succeeded").map(({ application }) => application);
  const asker = { login: user.login, mayWrite: true, withoutApproval: false, barred: [], selected: involved };
  const headMoved =
    since !== undefined && (since.headRevision !== change.headRevision || since.baseBranch !== change.baseBranch);
  const read = await readStores(context, reading);
  const stored = live === undefined ? read : { ...read, facts: withDiffering(read.facts, live) };
  const known = { ...stored.facts, asker, justFailed, headMoved };
  const undone = barsOf(judge("merge", known)).filter(({ gate }) => RULES[gate].asks === undefined);
  if (undone.length > 0) return { facts: known, bars: undone };
  const isDeployed = (name: ApplicationName) =>
    stored.records.some((record) => record.application === name && isDeployedAt(record, context.change.headRevision));
  const byTheMerge = takingEffect(stored.plan).filter(({ application }) => !isDeployed(application));
  const [{ facts }, barred] = await Promise.all([
    askReviewers(stored, context),
    barredFrom("sync", byTheMerge, context),
  ]);
  const all: Facts = { ...facts, asker: { ...asker, barred }, justFailed, headMoved };
  return { facts: all, bars: barsOf(judge("merge", all)) };
}

/** The first reason of each application, beginning with those whose sync has just failed; without later stages. */
function hindrancesIn(bars: readonly Bar[], facts: Facts): readonly Hindrance[] {
  const { change, justFailed, applications, asker } = facts;
  const head = applicationName(shortRevision(change.headRevision));
  const later = new Set<string | undefined>(
    applications.flatMap((one) =>
      follows(one) && asker?.selected.includes(one.application) !== true ? [one.application] : [],
    ),
  );
  const present = bars.filter(
    ({ gate, application, untold }) => untold || gate !== "not-synced" || !later.has(application),
  );
  if (present.length === 0) return [hindranceOf(change, "svc merges after the last stage")];
  const found = new Map<string, Hindrance>();
  for (const { gate, application = head, why, untold } of present) {
    const locked = gate === "locked-by-other" && applications.find((one) => one.application === application);
    const lock = locked ? lockOfOthers(locked, facts, "merge") : undefined;
    const reason = untold ? `cannot tell ${why}` : (lock ?? why);
    if (!found.has(application)) found.set(application, { application, reason });
  }
  const inOrder = new Set([...justFailed, ...applications.map(({ application }) => application), ...found.keys()]);
  return [...inOrder].flatMap((name) => found.get(name) ?? []);
}

/** What Argo CD runs now, beside a plan. */
interface LiveNow extends Pick<NonNullable<Facts["plan"]>, "lacks"> {
  /** With the rules of all who deploy to the same namespaces by now. */
  readonly plan: Plan | undefined;
  /** Why the merge would not do what was planned, by application. */
  readonly differing: ReadonlyMap<ApplicationName, string>;
}

type LiveSource = Pick<OpenedChange, "change" | "settings" | "snapshot"> &
  Pick<CommandContext, "deployer" | "deployments" | "hostWords" | "scanner" | "clock" | "signal" | "log">;

/**
 * Reads what Argo CD runs now, in one call, and compares what a merge's judgement rests on: project, destination, sources,
 * auto-sync, and the repository's right to drive. What only image updaters and the like write does not count. Looks as well for
 * applications that the plan lacks.
 * @throws {DeployerFailure | RepositoryFailure | StoreUnavailable}
 */
async function readLiveNow(plan: Plan | undefined, context: LiveSource): Promise<LiveNow> {
  if (plan === undefined) return { plan, differing: new Map() };
  const { deployer, deployments, change, clock } = context;
  const nameOf = await deployer.naming();
  const [everyApplication, records, sides] = await Promise.all([
    deployer.listApplications(undefined, clock.now()),
    deployments.ofChange(change),
    scanSides({ ...context, nameOf, signal: new AbortController().signal }),
  ]);
  const around = { everyApplication, running: new Map(everyApplication.map((one) => [one.name, one])), records };
  const planned = new Map(plan.applications.map((one) => [one.application, one]));
  const differing = takingEffect(plan).flatMap(({ application, members }): readonly Differing[] => {
    const one = planned.get(application);
    const sentence = (one && selfDiffers(one, around, context)) ?? placeDiffers(members, around);
    return sentence === undefined ? [] : [[application, sentence]];
  });
  const detected = await detect({ ...context, nameOf, sides, live: everyApplication, liveSets: [] });
  return {
    plan: await boundNow(plan, everyApplication, context),
    differing: new Map(differing),
    lacks: lackedBy(plan, detected, change),
  };
}

type Differing = readonly [ApplicationName, string];

function withDiffering({ plan, ...facts }: Facts, { differing, lacks }: Omit<LiveNow, "plan">): Facts {
  const differs = (one: ApplicationFacts): ApplicationFacts => {
    const sentence = differing.get(one.application);
    return sentence === undefined ? one : { ...one, now: { autoSynced: false, differs: sentence } };
  };
  const applications = facts.applications.map(differs);
  return { ...facts, plan: plan && { ...plan, lacks }, applications, others: facts.others.map(differs) };
}

interface Around {
  readonly everyApplication: readonly Application[];
  readonly running: ReadonlyMap<ApplicationName, Application>;
  readonly records: readonly Deployment[];
}

/** Why a planned application itself is no longer as planned; undefined if it is, or has nothing to compare. */
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
  // Lenient about who defines it: what did at the plan may still do so.
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
    // The plan knows no place of a member that could not be evaluated.
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

/** The noted result of a sync that was about to be merged. Decides again whether to merge, since the change request may have changed. */
export async function resumeSynced(result: SyncedResult, context: MergeSource): Promise<SyncedResult> {
  const { state } = context.change;
  if (state === "merged") return result;
  if (state === "closed") return { ...result, merge: undefined };
  const involved = result.applications.map(({ application }) => application);
  const plan = await ifReadable(context.plans.find(context.change), undefined);
  const deployed = result.applications;
  return { ...result, ...(await decideMerge({ dryRun: result.dryRun, involved, deployed, plan }, context)) };
}
