import { linksOf } from "../../comments/parts.js";
import { endProgress } from "../../comments/progress-comment.js";
import { publishReminder } from "../../comments/reminder.js";
import { planAgain } from "../../core/commands/selection.js";
import { endReplacedOf, isUnsettled, type Settled, settleRecords } from "../../core/deploy/settle-records.js";
import { createLifting } from "../../core/facts/approval.js";
import { isLater } from "../../core/facts/missed.js";
import {
  type Approver,
  type ChangeRequest,
  type ChangeRequestRef,
  changeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import { type Deployment, overdueChanges } from "../../core/model/deployment.js";
import { HeadMoved, HostFailure, ifReadable, isFinal, LeaseLost, RepositoryFailure } from "../../core/model/errors.js";
import type { Marked, RolloutMoved } from "../../core/model/event.js";
import {
  isAnnouncedUnseen,
  isPlanOf,
  isPreviewWithheld,
  isWithheld,
  type Plan,
  waitsForApproval,
} from "../../core/model/plan/plan.js";
import { deployedOf } from "../../core/policy/effect-rules.js";
import type { Facts } from "../../core/policy/facts.js";
import { nextStep, undoOf } from "../../core/policy/next-step.js";
import type { Clock } from "../../core/ports/clock.js";
import { IDS_KEPT_MS } from "../../core/ports/event-queue.js";
import { leavesOut, type Log } from "../../core/ports/log.js";
import type { DeploymentStore, Mark } from "../../core/ports/stores.js";
import { showAgain, showRollout } from "../answer/show.js";
import { hasCommitStatus } from "../answer/status.js";
import { type Autoplan, AUTOPLAN, type Outcome, silent, type Silent } from "../line/outcome.js";
import { openChange, plansAutomatically, readChangeFacts, type Run } from "../line/run.js";
import type { Publisher } from "./publisher.js";
import { followRollout } from "./rollout.js";

/** Settles the syncs of a change request after a review, or for the reconciler. @param obey Runs and answers the plan that an approval lifts. */
export async function revisit(
  ref: ChangeRequestRef,
  run: Run,
  obey: (lifted: Autoplan) => Promise<Outcome>,
): Promise<Outcome> {
  const lifted = await liftedPlan(ref, run);
  if (lifted !== undefined) return obey(lifted);
  const unsettled = (await run.deployments.ofChange(ref, leavesOut(run.log))).some(isUnsettled);
  const settled = unsettled ? await settleEarlier(await run.host.getChangeRequest(ref), run) : [];
  await run.publisher.mark(ref);
  return silent(settled.length > 0 ? "settled" : "nothing-to-update");
}

/** Brings what a change request shows up to date. If that fails, it is marked again, or looked at again. */
export async function bringUpToDate(ref: ChangeRequestRef, asked: Marked | RolloutMoved, run: Run): Promise<Silent> {
  if (asked.kind === "rollout") return followRollout(ref, asked, { ...run, patient: true });
  const { turn, patient = false } = asked;
  const mark = { change: ref, turn, patient };
  const until = patient ? run.host.scarceUntil(ref) : undefined;
  // A green status may have become wrong, and people merge by it.
  if (until === undefined || (await isGreen(ref, run))) return showMarked(mark, { ...run, patient });
  await run.publisher.postpone(mark, until);
  return silent("nothing-to-update");
}

/** Whether the commit status that svc set last is, or may be, a success. Reads the stores, not the host. */
async function isGreen(ref: ChangeRequestRef, run: Run): Promise<boolean> {
  if (!hasCommitStatus(run)) return false;
  const lastState = async () => {
    const headRevision = (await run.plans.find(ref))?.head;
    const ofHead = headRevision === undefined ? [] : await run.statuses.ofHead({ ...ref, headRevision });
    return ofHead.find(({ change }) => sameChangeRequest(change, ref))?.state;
  };
  // Only the host knows the head of one that is not planned, which then has the last status.
  return ((await ifReadable(lastState(), undefined)) ?? "success") === "success";
}

async function showMarked(mark: Mark, run: Run): Promise<Silent> {
  const { change: ref } = mark;
  const startedAt = run.clock.now();
  let shown: Awaited<ReturnType<typeof showAgain>> | undefined;
  await run.publisher.begin(mark);
  try {
    const change = await run.host.getChangeRequest(ref, run.signal);
    if (change.state === "open") {
      await goOnIfDue(change, run);
      shown = await showAgain(change, run);
      await remindIfDue(change, run);
    }
    if (shown?.read !== undefined) await startOnApproval(shown.read, run);
    const rollout = change.state === "merged" ? await ifReadable(run.rollouts.find(change), undefined) : undefined;
    if (rollout !== undefined) await showRollout(change, rollout, run);
    // The webhook of its close was lost, or it was marked right before.
    else if (change.state !== "open") await run.publisher.forget(ref);
  } catch (error) {
    await againIfStopped(ref, run);
    if (error instanceof LeaseLost) throw error;
    if (!isFinal(error)) {
      run.log.warn({ err: error }, "could not bring a change request up to date; it is tried again");
      await run.publisher.retry(ref, mark.patient);
    } else if (!(error instanceof HostFailure && error.reason === "not-found")) {
      run.log.warn(
        { err: error },
        "the code host refuses to tell what a change request is; what it shows stays as it is",
      );
    }
  }
  await againIfStopped(ref, run);
  run.publisher.done(mark);
  const { trueUntil } = shown ?? {};
  // A hold that ended during this run was still shown by it.
  if (trueUntil !== undefined && trueUntil > startedAt) await run.publisher.mark(ref, { at: trueUntil });
  return silent(shown?.planned === true ? "status-updated" : "nothing-to-update");
}

/** Marks it again if its run was stopped halfway: the push that stopped it need not lead to a plan. @throws {Stopped} */
async function againIfStopped(ref: ChangeRequestRef, { signal, publisher }: Run): Promise<void> {
  if (signal.aborted) await publisher.mark(ref);
  signal.throwIfAborted();
}

/** Pushes the event of a stage whose time has come. However often it is marked, the queue takes it once. */
async function goOnIfDue(change: ChangeRequest, { plans, clock, push }: Run): Promise<void> {
  const plan = await ifReadable(plans.find(change), undefined);
  const next = isPlanOf(plan, change) ? plan.next : undefined;
  if (next === undefined || Date.parse(next.due) > clock.now().getTime()) return;
  const delivery = `stage-${identityKey(change)}-${next.id}`;
  await push({ kind: "stage-due", delivery, change: changeRequestRef(change), next });
}

/** Returns the plan to make again if an approval of the planned head lifts what its plan withholds. */
async function liftedPlan(ref: ChangeRequestRef, run: Run): Promise<Autoplan | undefined> {
  const plan = await ifReadable(run.plans.find(ref), undefined);
  if (plan === undefined || !waitsForApproval(plan)) return undefined;
  const change = await run.host.getChangeRequest(ref);
  if (!plansAutomatically(change, run.config) || !isPlanOf(plan, change)) return undefined;
  const { settings, problems, snapshot } = await openChange(change, run);
  if (problems.length > 0) return undefined;
  const why = createLifting({ ...run, change, settings, snapshot });
  const waiting = [
    ...plan.applications.filter((one) => isWithheld(one) || isAnnouncedUnseen(one)).map((one) => [one.application]),
    ...plan.previews.filter(({ content }) => isPreviewWithheld(content)).map((one) => [one.application]),
    ...plan.applicationSets.filter(({ withheld }) => withheld === true).map(({ owned }) => owned),
  ];
  const reasons = await Promise.all(waiting.map((names) => why(deployedOf(plan, names, change))));
  return reasons.includes(undefined) ? { ...AUTOPLAN, command: planAgain(plan), lifted: true } : undefined;
}

/** Records how earlier syncs ended whose outcome was lost, before the next command of the change request runs. */
export async function settleEarlier(change: ChangeRequest, run: Run): Promise<readonly Settled[]> {
  const settled = await settleRecords(change, run);
  if (settled.length === 0) return settled;
  run.attempt.settledEarlier(settled, change);
  try {
    await endProgress(run.host, change, settled, run.hostWords[change.host]);
  } catch (error) {
    run.log.warn({ err: error }, "could not finish the progress comment of an interrupted command");
  }
  return settled;
}

const REMIND_EVERY_MS = 24 * 60 * 60_000;

interface OverdueSource {
  readonly deployments: Pick<DeploymentStore, "list">;
  readonly publisher: Pick<Publisher, "mark" | "written">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Marks what has been deployed and not merged for too long, and was not reminded for a day. @param open the keys of those known as open. */
export async function markOverdue(
  { deployments, publisher, clock, log }: OverdueSource,
  remindAfter: number | "off",
  open: ReadonlySet<string>,
): Promise<void> {
  if (remindAfter === "off") return;
  for (const { change } of overdueChanges(await deployments.list(leavesOut(log)), clock.now(), remindAfter)) {
    if (!open.has(identityKey(change))) continue;
    if (await mayRemind(change, { publisher, clock })) await publisher.mark(change);
  }
}

async function mayRemind(
  change: ChangeRequestRef,
  { publisher, clock }: Pick<OverdueSource, "publisher" | "clock">,
): Promise<boolean> {
  const last = await publisher.written(change, "reminder");
  return last === undefined || clock.now().getTime() - Date.parse(last) >= REMIND_EVERY_MS;
}

/** Reminds of what is deployed and not merged: once a day at most, whatever becomes of the reminder. */
async function remindIfDue(change: ChangeRequest, run: Run): Promise<void> {
  const { remindAfter } = run.config.comments;
  const now = run.clock.now();
  if (remindAfter === "off") return;
  const readOverdue = async () => {
    const records = await run.deployments.ofChange(change, leavesOut(run.log));
    return overdueChanges(records, now, remindAfter).length === 0 ? [] : records;
  };
  if ((await readOverdue()).length === 0 || !(await mayRemind(change, run))) return;
  await endReplacedOf(change, run);
  const records = [...(await readOverdue())].sort((a, b) => a.timestamp.localeCompare(b.timestamp));
  const [first] = records;
  if (first === undefined) return;
  await run.publisher.wrote(change, "reminder", now.toISOString());
  const facts = { records, around: await lookAround(first, records, change, run), now };
  const reader = { change, words: run.hostWords[change.host], links: linksOf(change, run) };
  const posting = { urgency: "help", signal: run.signal } as const;
  try {
    await publishReminder(run.host, facts, reader, { runId: run.runId, posting, log: run.log });
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    run.log.warn({ err: error }, "a reminder was left out: the code host does not take it");
  }
}

/** Describes what the target branch got since the first deployment; undefined if the repository cannot be read. */
async function lookAround(
  { baseRevision }: Deployment,
  records: readonly Deployment[],
  change: ChangeRequest,
  run: Run,
) {
  try {
    const { settings, problems, snapshot } = await openChange(change, run);
    const gained = await snapshot.commitsBetween(baseRevision ?? change.mergeBase, change.baseRevision);
    const { facts } = await readChangeFacts(change, settings, run, { problems });
    const next = nextStep(facts);
    const deployed = records.map(({ application }) => application);
    // After a failure the next step names it already.
    return { gained, next, undo: next.kind === "retry" ? undefined : undoOf(deployed, facts) };
  } catch (error) {
    if (!(error instanceof RepositoryFailure || error instanceof HeadMoved)) throw error;
    run.log.warn({ err: error }, "could not read what the target branch got since a deployment");
    return undefined;
  }
}

/** An older approval starts nothing, such as one that a hold or an outage outlasted: nobody waits for it any more. */
const APPROVED_IN_TIME_MS = 10 * 60_000;

/** Whether the rules of any application let an approval start its sync. */
export function mayStartOnApproval({ applications }: Facts): boolean {
  return applications.some(({ requires }) => requires.onApproval === true);
}

/** Notes when a posted plan was shown, by the clock that times approvals: earlier ones have seen another plan, or none. */
export async function noteShown({ plan, wanted }: { plan: Plan; wanted: boolean }, run: Run): Promise<void> {
  const { publisher, host, log } = run;
  if (plan.approvalUsed) return;
  if (!wanted && (await publisher.written(plan.change, "approval")) === undefined) return;
  const at = wanted
    ? await host.reach().catch((error: unknown) => {
        if (!(error instanceof HostFailure)) throw error;
        log.warn({ err: error }, "could not note when a plan was shown; no approval starts its sync");
        return undefined;
      })
    : undefined;
  await publisher.wrote(plan.change, "approval", at && `${shownAs(plan)} ${at.toISOString()}`);
}

/** Starts `svc sync` in the name of whoever gave the approval that was waited for: once for each head, and after its plan was shown. */
async function startOnApproval({ plan, facts }: { plan: Plan; facts: Facts }, run: Run): Promise<void> {
  const { change } = facts;
  // By then the queue may have forgotten it.
  const isOld = run.clock.now().getTime() - Date.parse(plan.plannedAt) > IDS_KEPT_MS;
  if ((plan.approvalUsed && isOld) || !mayStartOnApproval(facts)) return;
  if (Object.keys(facts.untold).length > 0) return;
  const people = startersIn(facts);
  const known = people.length === 0 ? undefined : await run.publisher.written(change, "approval");
  const shown = `${shownAs(plan)} `;
  if (known?.startsWith(shown) !== true) return;
  const shownAt = known.slice(shown.length);
  const newest = people.filter(({ at }) => isLater(at, shownAt)).reduce<Approver | undefined>(later, undefined);
  if (newest === undefined || !(await isRecent(newest, run))) return;
  const { id, login, bot } = newest;
  const delivery = `approved-${identityKey(change)}-${change.headRevision}`;
  const { headRevision } = change;
  const { plannedAt } = plan;
  const by = { id, login, bot };
  // The queue takes it once, and again only if it failed.
  await run.push({ kind: "approved", delivery, change: changeRequestRef(change), headRevision, plannedAt, by });
  if (plan.approvalUsed === undefined) await run.plans.save({ ...plan, approvalUsed: true });
}

/** Whose approval starts a sync as things are; empty if none does. */
export function startersIn(facts: Facts): readonly Approver[] {
  const next = nextStep(facts);
  return next.kind === "command" && next.onApproval === "given" ? (facts.approval?.people ?? []) : [];
}

/** The later of two approvals; of two in the same second, the one that the host lists last. */
function later(known: Approver | undefined, one: Approver): Approver {
  return known === undefined || Date.parse(one.at ?? "") >= Date.parse(known.at ?? "") ? one : known;
}

/** Whether an approval may still start a sync, by the host's clock. */
export async function isRecent({ at = "" }: Approver, { host }: Run): Promise<boolean> {
  const now = await host.reach();
  return now !== undefined && now.getTime() - Date.parse(at) < APPROVED_IN_TIME_MS;
}

function shownAs({ head, plannedAt }: Plan): string {
  return `${head} shown ${plannedAt}`;
}
