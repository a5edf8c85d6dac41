import { deployHeads, type HeadTarget } from "../deploy/deploy-head.js";
import { applicationSyncOptions } from "../diff/manifest-key.js";
import { readStores } from "../facts/read-facts.js";
import { isBasePinned } from "../facts/read-rollback.js";
import { readAgain, readForSync } from "../facts/read-sync.js";
import { readSyncChecks, type SyncChecks, withChecks } from "../facts/sync-checks.js";
import type { ApplicationName } from "../model/brand.js";
import { type ChangeRequest, type ChangeRequestRef, identityKey } from "../model/change-request.js";
import type { OverriddenCheck } from "../model/check.js";
import { allInTurns } from "../model/collections.js";
import type { Command } from "../model/command.js";
import { counted, listed } from "../model/host-words.js";
import { type ClusterCheck, endAsking, INTERRUPTED } from "../model/plan/cluster-check.js";
import type { ManifestDiff } from "../model/plan/manifest-diff.js";
import {
  type ApplicationPlan,
  type ApplicationSetPreview,
  isPlanOf,
  type Plan,
  type RenderDigest,
  type Unpinned,
} from "../model/plan/plan.js";
import type { ApplicationSync, CommandResult, CommandResultOf } from "../model/result.js";
import type { LiveSubject } from "../model/subject.js";
import { awaits, ownLocksIn, writtenBy } from "../policy/application-state.js";
import { definedInOf, deployedOf, healthRuleFor } from "../policy/effect-rules.js";
import type { Facts } from "../policy/facts.js";
import type { Gate } from "../policy/gates.js";
import { judge } from "../policy/judge.js";
import { nextStep, refusedInDoubt } from "../policy/next-step.js";
import { inFirstStage } from "../policy/stages.js";
import type { CommandContext, OpenedChange } from "../ports/context.js";
import { digestOfRender } from "../render/digest-render.js";
import { type RenderSource, renderHead, renderInputs } from "../render/render.js";
import { behindOf } from "../survey/behind-base.js";
import { boundAfresh } from "../survey/effects.js";
import { noteLacked } from "../survey/survey-afresh.js";
import { releaseSkipped } from "./locks.js";
import { decideMerge } from "./merge.js";
import { noteNextStage } from "./next-stage.js";
import { labelsFor, plannedIn, select } from "./selection.js";

/**
 * Deploys the head commit to the selected applications that this change request has locked, parents before their children. If they
 * are in several stages, it deploys the first stage only. One failure does not hide others. The rules are judged three times: before
 * anything is rendered, together with the checks, and right before the first call that deploys.
 */
export async function sync(
  command: Command<"sync">,
  context: CommandContext,
  parentsOf: ParentsDone = () => [],
): Promise<CommandResult> {
  const { change, settings } = context;
  const asNow = async (stored: Plan | undefined) => (isPlanOf(stored, change) ? boundAfresh(stored, context) : stored);
  const [read, labelsOf] = await Promise.all([readStores(context, { asNow }), labelsFor(command, context)]);
  const { plan, approvals } = read;
  const doubtful = refusedInDoubt("sync", read.facts);
  if (doubtful !== undefined) return doubtful;
  const selection = select(ownLocksIn(read.facts), command, plannedIn(plan), labelsOf);
  if (selection.kind === "refused") return selection;
  const wanted = selection.items.map(({ application }) => application);
  const names = command.dryRun ? wanted : inFirstStage(wanted, read.facts);
  const announced = (plan?.applications ?? []).filter(
    ({ application, kind }) => (kind === "new" || kind === "deleted") && names.includes(application),
  );
  const first = await readForSync(command, names, read, context);
  await noteLacked(plan, first.facts.plan?.lacks, context);
  const unready = refusedBy(first.facts, (gate) => gate !== "checks");
  if (unready !== undefined) return unready;
  const chosen = first.subjects.map(({ name }) => name);
  const skipped = settings.skipNoChanges ? skippable(chosen, first.subjects, { command, plan, context }) : [];
  const deployable = first.subjects.filter(({ name }) => !skipped.includes(name));
  const checks = await readSyncChecks(deployable, plan, approvals, context);
  // After the checks, which may render the same application.
  const otherwise = command.dryRun ? undefined : await renderedOtherwise(deployable, plan, context);
  const known = withMoved(first.facts, otherwise);
  const failing = refusedBy(withChecks(known, checks));
  if (failing !== undefined) return failing;
  const again = { plan, command, lifted: isLifted(checks) };
  const { facts, subjects, moved } = await readAgain({ ...first, facts: known, subjects: deployable }, again, context);
  await noteLacked(plan, facts.plan?.lacks, context);
  if (moved !== undefined) return underPresentRules(command, moved, context, parentsOf);
  const barred = refusedBy(withChecks(facts, checks, facts));
  if (barred !== undefined) return barred;
  const deployed = await deployHeads(await targetsOf(subjects, { plan, checks, parentsOf, context }), {
    command,
    approvers: facts.approval?.approvers ?? [],
    skipped,
    context,
  });
  await noteNextStage({ command, deployed, later: wanted.filter((name) => !names.includes(name)) }, context);
  return {
    kind: "synced",
    dryRun: command.dryRun,
    applications: command.dryRun ? deployed : withApplied(withWaiting(deployed, facts), plan),
    announced,
    skipped: command.dryRun ? skipped : await releaseSkipped(skipped, context),
    replaced: command.dryRun ? [] : replacedBy(deployed, subjects),
    ...(await decideMerge({ dryRun: command.dryRun, involved: names, deployed, plan }, context)),
  };
}

/** The answer to a sync that may not run, with the next step; undefined if it may. @param asks as in `judge`. */
function refusedBy(facts: Facts, asks?: (gate: Gate) => boolean): CommandResultOf<"refused"> | undefined {
  const { refusal } = judge("sync", facts, asks);
  return refusal && { kind: "refused", refusal, next: nextStep(facts) };
}

/** Names the children that a sync has given a new definition and not deployed. */
function withWaiting(deployed: readonly ApplicationSync[], facts: Facts): readonly ApplicationSync[] {
  const names = new Set(deployed.map(({ application }) => application));
  return deployed.map((one): ApplicationSync => {
    const parent = facts.applications.find(({ application }) => application === one.application);
    if (parent === undefined || one.kind !== "succeeded") return one;
    const waiting = writtenBy(parent, facts).filter((child) => !names.has(child.application) && awaits(child, facts));
    const sentences = waiting.map(({ application }) => {
      return `wrote the new definition of ${application}, which waits for a sync of its own: run the sync command again`;
    });
    return sentences.length === 0 ? one : { ...one, warnings: [...one.warnings, ...sentences] };
  });
}

/** Names what the ApplicationSets that a sync has applied make of their applications. */
function withApplied(deployed: readonly ApplicationSync[], plan: Plan | undefined): readonly ApplicationSync[] {
  return deployed.map((one): ApplicationSync => {
    if (one.kind !== "succeeded" || plan === undefined) return one;
    const sentences = setsAppliedBy(one.application, plan).map(
      ({ name, added, changed, removed, problem, failure }) => {
        if (failure !== undefined) return `applied the ApplicationSet ${name}, which fails: ${failure.then}`;
        if (problem !== undefined) return `applied the ApplicationSet ${name}, which could not be previewed`;
        const parts = [
          ["adds", added],
          ["changes", changed],
          ["removes", removed],
        ] as const;
        const what = parts.flatMap(([verb, names]) =>
          names.length === 0 ? [] : `${verb} ${listed(names, MOST_NAMED)}`,
        );
        return `applied the ApplicationSet ${name}${what.length === 0 ? "" : `, which ${what.join(", ")}`}`;
      },
    );
    return sentences.length === 0 ? one : { ...one, warnings: [...one.warnings, ...sentences] };
  });
}

type AppliedSet = Pick<ApplicationSetPreview, "name" | "added" | "changed" | "removed" | "problem" | "failure">;

/** The sets that a sync of the parent applies: those of the repository's files, and those that only its render changes. */
function setsAppliedBy(parent: ApplicationName, plan: Plan): readonly AppliedSet[] {
  const known = plan.applicationSets.filter(({ appliedBy }) => appliedBy === parent);
  const below = [
    ...plan.previews.flatMap(({ application, origin: { kind, of, change, appliedBy } }) =>
      kind === "generated" && appliedBy === parent ? [{ set: of, change, application }] : [],
    ),
    ...plan.applications.flatMap(({ application, definedBy: given }) =>
      given?.set !== undefined && given.parent === parent
        ? [{ set: given.set, change: "changed" as const, application }]
        : [],
    ),
  ];
  const names = new Set([...known.map(({ name }) => name), ...below.map(({ set }) => set)]);
  const planned = plan.applications.find(({ application }) => application === parent);
  const rendered = planned?.kind === "evaluated" ? planned.diff.sets : NO_SETS;
  for (const name of [...rendered.created, ...rendered.changed]) {
    if (![...names].some((one) => one.endsWith(`/${name}`))) names.add(name);
  }
  return [...names].map((name) => {
    const of = (change: (typeof below)[number]["change"]) =>
      below.flatMap((one) => (one.set === name && one.change === change ? [one.application] : []));
    const read = { name, added: of("added"), changed: of("changed"), removed: of("removed"), problem: undefined };
    return known.find((one) => one.name === name) ?? read;
  });
}

const NO_SETS = { created: [], changed: [] };

const MOST_NAMED = 20;

/** Starts the sync over under the rules as they are now, since the target branch or the default branch has moved. */
async function underPresentRules(
  command: Command<"sync">,
  change: ChangeRequest,
  context: CommandContext,
  parentsOf: ParentsDone,
): Promise<CommandResult> {
  context.signal.throwIfAborted();
  const { settings, problems, snapshot } = await context.reload(change);
  if (problems.length > 0) return { kind: "refused", refusal: { reason: "repository-file", problems } };
  return sync(command, { ...context, change, settings, snapshot }, parentsOf);
}

/** The results of an application's parents that an earlier attempt of the run deployed. */
type ParentsDone = (application: ApplicationName) => readonly ApplicationSync[];

interface TargetOptions {
  readonly plan: Plan | undefined;
  readonly checks: SyncChecks;
  readonly parentsOf: ParentsDone;
  readonly context: OpenedChange;
}

/** What a sync deploys of these applications, and after which others. */
async function targetsOf(
  subjects: readonly LiveSubject[],
  { plan, checks, parentsOf, context }: TargetOptions,
): Promise<readonly HeadTarget[]> {
  const behind = await behindOf(subjects, context);
  const names = subjects.map(({ name }) => name);
  const settings = await context.settings.including(definedInOf(deployedOf(plan, names, context.change)));
  return allInTurns(subjects, async (subject): Promise<HeadTarget> => {
    const planned = plan?.applications.find(({ application }) => application === subject.name);
    const deployed = deployedOf(plan, [subject.name], context.change);
    return {
      subject: planned === undefined ? subject : withRefusals(subject, planned),
      after: parentsAmong(subjects, subject, plan),
      earlier: parentsOf(subject.name),
      behind: behind.get(subject.name),
      overridden: overriddenIn(subject.name, checks),
      planned: planned?.kind === "evaluated" ? planned.sources : [],
      applied: planned?.kind === "evaluated" ? appliedIn(planned.diff, subject) : [],
      basePinned: await isBasePinned(subject, context),
      health: deployed.map((one) => healthRuleFor(one, settings))[0],
    };
  });
}

function appliedIn({ resources }: ManifestDiff, { head }: LiveSubject): readonly string[] {
  // Then a sync leaves what the cluster has already.
  if (applicationSyncOptions(head.spec).includes("ApplyOutOfSyncOnly=true")) return [];
  const applied = resources.filter(({ hook, action, left }) => !hook && action !== "delete" && left !== true);
  return applied.map(({ title }) => title).filter((title) => !title.endsWith("(generated)"));
}

/** Adds a warning of what Kubernetes is expected to refuse; the sync is allowed. */
function withRefusals(subject: LiveSubject, planned: ApplicationPlan): LiveSubject {
  const expected = planned.kind === "evaluated" ? expectedRefusals(planned.cluster) : [];
  return expected.length === 0 ? subject : { ...subject, warnings: [...subject.warnings, ...expected] };
}

/** The other subjects that track it, or whose head applies a new definition of it. */
function parentsAmong(
  subjects: readonly LiveSubject[],
  { name, live, definedBy }: LiveSubject,
  plan: Plan | undefined,
): readonly ApplicationName[] {
  const others = subjects.map((one) => one.name).filter((one) => one !== name);
  return others.filter((other) => {
    if (live.parent === other || definedBy === other) return true;
    const planned = plan?.applications.find(({ application }) => application === other);
    if (planned?.kind !== "evaluated") return false;
    const { created, changed } = planned.diff.children;
    const applies = planned.effect.applies.some(({ application }) => application === name);
    return applies || [...created, ...changed].includes(live.resourceName);
  });
}

function replacedBy(
  deployed: readonly ApplicationSync[],
  subjects: readonly LiveSubject[],
): readonly ChangeRequestRef[] {
  const changes = deployed
    .filter(({ kind }) => kind === "succeeded")
    .flatMap(({ application }) => subjects.filter(({ name }) => name === application))
    .flatMap(({ foreignRecords }) => foreignRecords.map(({ change }) => change));
  return [...new Map(changes.map((change) => [identityKey(change), change])).values()];
}

interface Asked {
  readonly command: Command<"sync">;
  readonly plan: Plan | undefined;
  readonly context: Pick<CommandContext, "change">;
}

/** The chosen applications that the plan of this head proved unchanged, so that `skip_no_changes` leaves them out. */
export function skippable(
  chosen: readonly ApplicationName[],
  subjects: readonly LiveSubject[],
  { command, plan, context }: Asked,
): readonly ApplicationName[] {
  if (!isPlanOf(plan, context.change)) return [];
  const planned = new Map(plan.applications.map((one) => [one.application, one]));
  // The plan compares with the target branch; an earlier sync of this change request may differ from both sides.
  const ours = new Set(subjects.filter(({ ownRecord }) => ownRecord !== undefined).map(({ name }) => name));
  return chosen.filter(
    (name) => !ours.has(name) && isUnchanged(planned.get(name), command.applications.includes(name)),
  );
}

/** Whether a sync may leave it out. If it is named, a change of the commit id alone is deployed. */
function isUnchanged(planned: ApplicationPlan | undefined, named: boolean): boolean {
  if (planned?.kind !== "evaluated" || planned.verdict !== "unchanged" || planned.writesDefinition) return false;
  return !(named && planned.diff.onlyCommit.length > 0);
}

export function isLifted({ failed }: SyncChecks): boolean {
  return [...failed.values()].some((all) => all.some(({ by }) => by.length > 0));
}

/** The failed checks of an application that an approval lifts, for its record and its answer. */
function overriddenIn(application: ApplicationName, { failed }: SyncChecks): readonly OverriddenCheck[] {
  const all = failed.get(application) ?? [];
  return all.map(({ one, by }) => ({ check: one.name, by: by.map(({ login }) => login) }));
}

/** Sentences for the answer to a sync: it is allowed, although it is known to fail, or Kubernetes was not asked in time. */
export function expectedRefusals(check: ClusterCheck | undefined): readonly string[] {
  if (check === undefined) return [];
  const sure = check.refused.filter((one) => one.sure);
  const told = sure
    .slice(0, MOST_TOLD)
    .map(({ title, message }) => `the plan said that Kubernetes will refuse ${title}: ${message}`);
  const more = sure.length - told.length;
  const missed = endAsking(check, INTERRUPTED).untried.filter((one) => one.missed === true);
  return [
    ...told,
    ...(more > 0 ? [`the plan said so of ${counted(more, "more object")}`] : []),
    ...missed.map(({ titles, reason }) => `Kubernetes was not asked about ${listed(titles, MOST_TOLD)}: ${reason}`),
  ];
}

const MOST_TOLD = 5;

const MOST_MOVED_NAMED = 5;

/** Why the plan is stale, by application: renders again those alone whose inputs are not pinned. */
async function renderedOtherwise(
  subjects: readonly LiveSubject[],
  plan: Plan | undefined,
  context: RenderSource & Pick<CommandContext, "compute">,
): Promise<ReadonlyMap<ApplicationName, string>> {
  const found = await Promise.all(
    subjects.map(async (subject) => [subject.name, await differenceOf(subject, plan, context)] as const),
  );
  return new Map(found.flatMap(([name, sentence]) => (sentence === undefined ? [] : [[name, sentence] as const])));
}

/** The facts with what makes plans stale. */
function withMoved(facts: Facts, moved: ReadonlyMap<ApplicationName, string> | undefined): Facts {
  if (moved === undefined || moved.size === 0) return facts;
  return {
    ...facts,
    applications: facts.applications.map((one) => {
      const { application, now } = one;
      return now === undefined ? one : { ...one, now: { ...now, moved: now.moved ?? moved.get(application) } };
    }),
  };
}

async function differenceOf(
  subject: LiveSubject,
  plan: Plan | undefined,
  context: RenderSource & Pick<CommandContext, "compute">,
): Promise<string | undefined> {
  const inputs = await renderInputs("head", subject, context);
  if (inputs.unpinned.length === 0) return undefined;
  const reads = `it reads ${listed(inputs.unpinned, MOST_MOVED_NAMED)}`;
  const planned = plannedOf(subject, plan, context);
  if (planned === undefined) return `${reads}, and the plan does not say what that made of this commit`;
  const digest = async (): Promise<RenderDigest | string> => {
    const outcome = await renderHead(subject, inputs, context);
    return outcome.kind === "failed" ? outcome.reason : digestOfRender(subject, outcome.rendered, context);
  };
  const now = await digest();
  if (typeof now === "string") return `${reads}, and could not be rendered again: ${now}`;
  if (now.whole === planned.rendered.whole) return undefined;
  const again = await digest();
  if (typeof again !== "string" && again.whole !== now.whole) {
    const which = objects(differingObjects(now, again));
    return `${reads}, and ${which} differs each time that it is rendered, so svc cannot tell whether it is what was planned. Take what differs (random values, times) out of the manifests, or pin what it reads by a commit or a digest`;
  }
  return `${reads}, and that changed since the plan: ${objects(differingObjects(planned.rendered, now))} would be another one than planned`;
}

/** The objects of which one digest has another, or that only one has. */
function differingObjects(left: RenderDigest, right: RenderDigest): readonly string[] {
  const [before, after] = [left, right].map(({ objects }) => new Set(objects.map((one) => JSON.stringify(one))));
  const only = [
    ...right.objects.filter((one) => before?.has(JSON.stringify(one)) === false),
    ...left.objects.filter((one) => after?.has(JSON.stringify(one)) === false),
  ];
  return [...new Set(only.map(({ title }) => title))];
}

function objects(titles: readonly string[]): string {
  return titles.length === 0 ? "one of its objects" : listed(titles, MOST_MOVED_NAMED);
}

function plannedOf(
  { name }: LiveSubject,
  plan: Plan | undefined,
  { change }: Pick<RenderSource, "change">,
): Unpinned | undefined {
  if (!isPlanOf(plan, change)) return undefined;
  const one = plan.applications.find(({ application }) => application === name);
  return one?.kind === "evaluated" ? one.unpinned : undefined;
}
