import { commitStatusOf, type StatusFacts, type StatusText } from "../../comments/commit-status.js";
import { BASE_MOVED } from "../../comments/plan.js";
import { type Present, presentOf } from "../../comments/present.js";
import { withPresentLocks } from "../../core/commands/locks.js";
import { createApprovals, missingForRules } from "../../core/facts/approval.js";
import type { ReadFacts, Reviewed } from "../../core/facts/read-facts.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { ChangeRequest, ChangeRequestRef } from "../../core/model/change-request.js";
import { nextTurn } from "../../core/model/collections.js";
import type { Deployment } from "../../core/model/deployment.js";
import { ifReadable, LeaseLost, only, StoredValueUnreadable } from "../../core/model/errors.js";
import { counted } from "../../core/model/host-words.js";
import type { NextStep } from "../../core/model/next-step.js";
import { INTERRUPTED } from "../../core/model/plan/cluster-check.js";
import { isAsking, isPlanOf, type Plan, withoutAnswers } from "../../core/model/plan/plan.js";
import type { Asking } from "../../core/model/result.js";
import type { Rollout } from "../../core/model/rollout.js";
import type { Settings } from "../../core/model/settings.js";
import type { BehindBase } from "../../core/model/subject.js";
import { definedInOf, type Deployed, holdsOn, needsApproval } from "../../core/policy/effect-rules.js";
import type { Facts } from "../../core/policy/facts.js";
import { endOfSoak, shownStages } from "../../core/policy/stages.js";
import type { Reloaded } from "../../core/ports/context.js";
import { Stopped } from "../../core/ports/event-queue.js";
import { behindOf, saysBehind } from "../../core/survey/behind-base.js";
import { withPlannedDefinitions } from "../../core/survey/children.js";
import { lackedBy, surveyAfresh } from "../../core/survey/survey-afresh.js";
import { survey } from "../../core/survey/survey.js";
import {
  AUTOMATIC,
  commandContext,
  NOBODY,
  openChange,
  plansAutomatically,
  readChangeFacts,
  type Run,
} from "../line/run.js";
import { type Living, type Place, PlanComment } from "./plan-comment.js";
import { hasCommitStatus, orInAMinute, setCommitStatus, setStatusText, setStoredStatus } from "./status.js";

const MAX_CORRECTIONS = 3;
const MINUTE_MS = 60_000;

interface ShowOptions extends Place {
  readonly settings: Settings;
  /** What is wrong with the repository's file. */
  readonly problems?: readonly string[] | undefined;
  /** Applications whose sync has just failed or was refused, before their records say so. */
  readonly justFailed?: readonly ApplicationName[];
  /** Whether to leave alone what the host shows already. */
  readonly unlessShown?: boolean;
  /** The host's answers for the same command's comment. */
  readonly reviewed?: Reviewed | undefined;
}

interface Shown {
  /** Whether this head has a plan. */
  readonly planned: boolean;
  /** Whether the host shows the status. */
  readonly written: boolean;
  /** When the first hold or soak that the status names ends, so that it is no longer true. */
  readonly trueUntil?: Date | undefined;
  /** What it was read from last. */
  readonly read?: Planned;
}

const NOTHING: Shown = { planned: false, written: false };

/** Shows what is stored now of a planned head: in its commit status, and in the comment of its plan. */
export async function show(change: ChangeRequest, options: ShowOptions, run: Run): Promise<Shown> {
  let shown = NOTHING;
  await orLater(change, run, async () => {
    let text: StatusText | undefined;
    let { reviewed } = options;
    const comment = new PlanComment(change, options, run);
    const tell = async (now: StatusText): Promise<void> => {
      const url = await comment.url();
      await orInAMinute(change, run, async () => {
        const written = await setStatusText(change, now, url, run, options.unlessShown);
        shown = { ...shown, written };
      });
    };
    for (let left = MAX_CORRECTIONS; left > 0; left -= 1) {
      const read = await readPlanned(change, options, reviewed, run);
      if (read === undefined) return;
      await nextTurn();
      shown = { ...shown, planned: true, trueUntil: trueUntilOf(read.facts), read };
      reviewed = undefined;
      const facts = { ...read.facts, justFailed: options.justFailed ?? [] };
      const now = commitStatusOf({ kind: "planned", facts }, run.hostWords[change.host]);
      const isSame = now.state === text?.state && now.description === text.description;
      if (!isSame && hasCommitStatus(run)) await tell(now);
      // A sync of another change request may have ended a record after the stores were read: a success is checked again.
      const again = hasCommitStatus(run) && !isSame && now.state === "success";
      if (!again || left === 1) {
        await nextTurn();
        await comment.update(read);
        // The status leads to the comment that is gone.
        if (comment.isAnew && hasCommitStatus(run)) await tell(now);
        // Nothing else would bring up to date what could not be read.
        const isUntold = read.facts.untold.mayPass === true;
        if (isUntold || (options.unlessShown !== true && mayChangeUntold(change))) {
          await run.publisher.retry(change, run.patient === true || !isUntold);
        }
        return;
      }
      text = now;
    }
  });
  // A mark that is worked off is removed afterwards, and may be set again then.
  const { trueUntil: at } = shown;
  if (at !== undefined && options.unlessShown !== true) await run.publisher.mark(change, { at });
  return shown;
}

/** Brings what an open change request shows up to date: its plan, or what is known without one. */
export async function showAgain(change: ChangeRequest, run: Run): Promise<Shown> {
  const stored = await run.plans.find(change).catch(only(StoredValueUnreadable, (error) => error));
  const isUnreadable = stored instanceof StoredValueUnreadable;
  const found = !isUnreadable && stored?.head === change.headRevision ? stored : undefined;
  if (found === undefined && !hasCommitStatus(run)) return NOTHING;
  const isLeft = found !== undefined && isAsking(found);
  const plan = isLeft ? withoutAnswers(found, INTERRUPTED) : found;
  if (plan !== undefined && isLeft) await run.plans.save(plan);
  const opened = await openChange(change, run);
  if (plan !== undefined) {
    const isNoted = !isPlanOf(plan, change) || (await triedToNote(plan, change, opened, run));
    const mergeability = isComputing(change) ? await run.host.mergeability(change, run.signal) : change.mergeability;
    const now = { ...change, mergeability };
    const shown = await show(now, { ...opened, unlessShown: true }, run);
    return isNoted && !mayChangeUntold(now) ? shown : { ...shown, trueUntil: lookAgainAt(plan, shown, run) };
  }
  if (!isUnreadable && opened.settings.autoplan && plansAutomatically(change, run.config)) {
    await setStoredStatus(change, run);
    return NOTHING;
  }
  const detecting = isUnreadable ? Promise.reject(stored) : detectedOf(change, opened, run);
  const facts = await detecting.catch(async (error: unknown): Promise<StatusFacts> => {
    run.signal.throwIfAborted();
    run.log.warn({ err: error }, "could not determine what a head affects for its commit status");
    await run.publisher.retry(change, run.patient);
    return { kind: "detected", detected: { kind: "unknown" } };
  });
  await setCommitStatus(change, facts, run, { unlessShown: true });
  // Only its stack keeps it from being green.
  const isFree = facts.kind === "detected" && facts.detected.kind === "nothing";
  if (isFree && change.stackBase !== undefined) await run.publisher.retry(change, true);
  return NOTHING;
}

/** Notes a moved base branch. A failure is only logged: locks and approvals are shown all the same. @returns False if any part failed. */
async function triedToNote(plan: Plan, change: ChangeRequest, opened: Reloaded, run: Run): Promise<boolean> {
  try {
    return await noteMovedBase(plan, change, opened, run);
  } catch (error) {
    run.signal.throwIfAborted();
    if (error instanceof LeaseLost) throw error;
    run.log.warn({ err: error }, "could not note in a plan what the base branch changed");
    return false;
  }
}

const MOST_NAMED = 5;

/** Warns in a plan of what its sync would revert by now. @returns False if some applications cannot be read. */
async function noteMovedBase(plan: Plan, change: ChangeRequest, opened: Reloaded, run: Run): Promise<boolean> {
  if (plan.baseRevision === change.baseRevision || opened.problems.length > 0) return true;
  const { behind, unread, lacks } = await behindNow(plan, change, opened, run);
  const applications = plan.applications.map((one) => {
    if (unread.includes(one.application)) return one;
    const now = behind.get(one.application)?.wouldRevert;
    const gaps = { behind: now !== undefined, uncovered: one.gaps?.uncovered === true };
    // What the plan warned of may be taken back by now.
    return {
      ...one,
      gaps,
      warnings: one.warnings.filter((warning) => warning === now || !saysBehind(warning, change)),
    };
  });
  const warned = new Map(applications.map(({ application, warnings }) => [application, warnings]));
  const sentences = [...behind].flatMap(([application, { wouldRevert }]) =>
    warned.get(application)?.includes(wouldRevert) ? [] : [`in ${application}, ${wouldRevert}`],
  );
  const { command } = run.hostWords[change.host];
  const named = sentences.slice(0, MOST_NAMED);
  const more = sentences.length - named.length;
  const told =
    more > 0 ? [...named, `and ${counted(more, "more application")}. Comment ${command} plan for all of them`] : named;
  const notes = [
    ...plan.notes.filter(
      (note) => !note.startsWith(BASE_MOVED) || unread.some((name) => note.startsWith(`${BASE_MOVED}in ${name}, `)),
    ),
    ...told.map((text) => `${BASE_MOVED}${text}`),
  ];
  const isWhole = unread.length === 0;
  const baseRevision = isWhole ? change.baseRevision : plan.baseRevision;
  const takesBack = applications.some(({ warnings }, at) => warnings.length !== plan.applications[at]?.warnings.length);
  const amended = takesBack ? { amended: true as const } : {};
  await run.plans.save({ ...plan, baseRevision, applications, notes, lacks, ...amended });
  return isWhole;
}

/** What a sync would revert now, and the applications of the plan of which that could not be read. */
async function behindNow(plan: Plan, change: ChangeRequest, { settings, snapshot }: Reloaded, run: Run) {
  if (change.mergeBase === change.baseRevision) {
    return { behind: new Map<ApplicationName, BehindBase>(), unread: new Array<ApplicationName>(), lacks: plan.lacks };
  }
  const context = { ...commandContext(AUTOMATIC, change, { settings, snapshot }, run), user: NOBODY };
  const names = plan.applications.map(({ application }) => application);
  const found = await survey(context);
  const { subjects, notDeployed } = await withPlannedDefinitions(found, plan, names, context);
  const live = subjects.filter((subject) => subject.kind === "live");
  const others = new Set([
    ...subjects.flatMap((one) => (one.kind === "unreadable" ? [one.name] : [])),
    ...notDeployed.map(({ application }) => application),
  ]);
  const evaluated = plan.applications.filter(({ kind }) => kind === "evaluated").map(({ application }) => application);
  const unread = evaluated.filter((name) => others.has(name));
  return { behind: await behindOf(live, context), unread, lacks: lackedBy(plan, found.detection, change) };
}

/** Hosts compute conflicts in the background, once somebody has read the change request. */
function isComputing({ state, mergeability }: ChangeRequest): boolean {
  return state === "open" && mergeability === "unknown";
}

/** Whether what it shows may change without an event, as when somebody dissolves its stack. */
function mayChangeUntold(change: ChangeRequest): boolean {
  return isComputing(change) || change.stackBase !== undefined;
}

/** When to look again at something that could not be read. The pause doubles each time, since it may never be readable. */
function lookAgainAt({ plannedAt }: Plan, { trueUntil }: Shown, { clock }: Run): Date {
  const now = clock.now().getTime();
  const next = now + Math.max(MINUTE_MS, now - Date.parse(plannedAt));
  return new Date(Math.min(next, trueUntil?.getTime() ?? next));
}

/** Whether a run left a plan behind that says that Kubernetes is being asked, because the run or its process ended early. */
export async function isLeftAsking(change: ChangeRequestRef, { plans }: Pick<Run, "plans">): Promise<boolean> {
  const plan = await plans.find(change).catch(() => undefined);
  return plan !== undefined && isAsking(plan);
}

/** Waits for Kubernetes' answers to a plan that was posted without them, and adds them with one edit of each comment that they change. */
export async function addAnswers(
  asking: Asking,
  posted: Living,
  {
    change,
    settings,
    reviewed,
  }: Pick<ShowOptions, "reviewed"> & {
    readonly change: ChangeRequest;
    readonly settings: Settings | undefined;
  },
  run: Run,
): Promise<void> {
  const { signal, config } = run;
  const answered = await asking.answers(config.deployer.requestTimeout).catch((error: unknown) => {
    // Another replica plans again.
    if (!signal.aborted || (signal.reason instanceof Stopped && signal.reason.reason === "handed-back")) throw error;
    return undefined;
  });
  const going = { ...run, signal: new AbortController().signal };
  await orLater(change, going, async () => {
    const plan = answered ?? withoutAnswers(posted.plan, "the plan was stopped while it asked");
    await run.plans.save(plan);
    // The status of a head that is not the newest any more is left as it is.
    if (answered === undefined || settings === undefined) {
      return new PlanComment(change, {}, going).write({ ...posted, plan });
    }
    await show(change, { settings, reviewed, unlessShown: true }, going);
  });
}

/** Shows in the plan of a closed change request what became of it. @param records what it had deployed before it was closed. */
export async function showEnd(change: ChangeRequest, records: readonly Deployment[], run: Run): Promise<void> {
  await orLater(change, run, async () => {
    const left = change.state === "closed" && records.length > 0;
    const next: NextStep = left
      ? { kind: "command", command: "rollback", applications: [], by: [] }
      : { kind: "none", because: change.state === "merged" ? "merged" : "closed" };
    const rollout = change.state === "merged" ? await ifReadable(run.rollouts.find(change), undefined) : undefined;
    const present = presentOf({ head: change.headRevision }, change, undefined, records);
    await writeEnd(change, next, rollout === undefined ? present : presentAfter(change, rollout), run);
  });
}

/** Shows in the plan how far a deployment is that runs now. Never throws: what fails is shown at its end. */
export async function showProgress(change: ChangeRequest, run: Omit<Run, "attempt">): Promise<void> {
  try {
    const [plan, records] = await Promise.all([run.plans.find(change), run.deployments.ofChange(change)]);
    if (plan?.head !== change.headRevision) return;
    const present = presentOf(plan, change, undefined, records);
    if (present.running === undefined) return;
    const now = { plan: await withPresentLocks(plan, run), next: undefined, present };
    await new PlanComment(change, {}, run).write(now);
  } catch (error) {
    run.log.warn({ err: error }, "could not show in a plan how far its deployment is");
  }
}

/** Shows in the plan how far the rollout of its merge is. */
export async function showRollout(change: ChangeRequest, rollout: Rollout, run: Run): Promise<void> {
  const next = { kind: "none", because: "merged" } as const;
  await orLater(change, run, () => writeEnd(change, next, presentAfter(change, rollout), run));
}

/** What became of a plan once it is merged. The merge has ended the records of what was deployed before, so the rollout tells it. */
function presentAfter({ state }: ChangeRequest, rollout: Rollout): Present {
  return { state, approvers: [], deployed: rollout.deployed, rollout };
}

async function writeEnd(change: ChangeRequest, next: NextStep, present: Present, run: Run): Promise<void> {
  const plan = await run.plans.find(change);
  if (plan?.head !== change.headRevision) return;
  await new PlanComment(change, {}, run).write({ plan: await withPresentLocks(plan, run), next, present });
}

/** Never throws: nobody waits for it. What fails is done again in a minute, or later where it fails each time. */
export async function orLater(
  change: ChangeRequest,
  { signal, publisher, log, patient }: Run,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (signal.aborted || error instanceof LeaseLost) return;
    log.warn({ err: error }, "could not bring a change request up to date; it is tried again");
    await publisher.retry(change, patient);
  }
}

interface Planned extends ReadFacts {
  readonly plan: Plan;
}

async function readPlanned(
  change: ChangeRequest,
  { settings, problems }: ShowOptions,
  reviewed: Reviewed | undefined,
  run: Run,
): Promise<Planned | undefined> {
  const plan = await run.plans.find(change);
  if (plan?.head !== change.headRevision) return undefined;
  const read = await readChangeFacts(change, settings, run, { plan, reviewed, problems });
  // The base branch may have got other stages since the plan.
  return { ...read, plan: { ...plan, stages: shownStages(plan.applications, settings).stages } };
}

/** The next end of a hold or a soak. */
function trueUntilOf(facts: Facts): Date | undefined {
  const { applications, others } = facts;
  const holds = [...applications, ...others].flatMap(({ requires }) => requires.holds ?? []);
  const soak = endOfSoak(facts)?.toISOString() ?? [];
  const [end] = [...holds.map(({ until }) => until)].concat(soak).sort();
  return end === undefined ? undefined : new Date(end);
}

/** What is known of a head without a render, so that a required status turns green where there is nothing to deploy. */
async function detectedOf(
  change: ChangeRequest,
  { settings, problems, snapshot }: Reloaded,
  run: Run,
): Promise<StatusFacts> {
  if (problems.length > 0) return { kind: "plan-failed", reason: "the repository's file cannot be used" };
  const context = { ...commandContext(AUTOMATIC, change, { settings, snapshot }, run), user: NOBODY };
  const { subjects, notDeployed, detection } = await surveyAfresh(
    context,
    { withLiveSets: true },
    (found) => found.subjects.length > 0,
  );
  const { applicationSets, notes, unread } = detection;
  if (unread.length > 0) return { kind: "detected", detected: { kind: "unread", files: unread } };
  const found = [...subjects, ...applicationSets].map(({ name }) => name);
  const others = notDeployed.map((one): Deployed => ({ ...one, members: [] }));
  const atMerge = others.map(({ application }) => application);
  await run.publisher.concern(change, atMerge);
  const [rules, holds] = await Promise.all([settings.including(definedInOf(others)), run.holds.list()]);
  const [end] = others.flatMap((one) => holdsOn(one, holds).map(({ until }) => until)).sort();
  if (end !== undefined) await run.publisher.mark(change, { at: new Date(end) });
  // A file that could not be read may hide an application, and only a plan asks for an approval or names a hold.
  if (found.length + notes.length > 0 || end || needsApproval(others, rules)) return awaiting(found, change, run);
  const missing = await missingForRules({ ...context, approvals: createApprovals(context) });
  const detected = missing === undefined ? { kind: "nothing" as const, atMerge } : { kind: "rules" as const, missing };
  return { kind: "detected", detected };
}

function awaiting(applications: readonly string[], { fork }: ChangeRequest, { config }: Run): StatusFacts {
  if (fork && !config.defaults.allowForks) return { kind: "detected", detected: { kind: "barred" } };
  const isUnknown = applications.length === 0;
  return { kind: "detected", detected: isUnknown ? { kind: "unknown" } : { kind: "affected", applications } };
}
