import { linksOf } from "../../comments/parts.js";
import { renderLockLost, renderTurn } from "../../comments/plan.js";
import { publish } from "../../comments/publish.js";
import { renderResult } from "../../comments/render.js";
import { hostAddresses } from "../../config/server/server.js";
import { planAgain } from "../../core/commands/selection.js";
import { update } from "../../core/commands/update.js";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  changeRequestRef,
  type ChangeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import { HostFailure, ifReadable, isFinal } from "../../core/model/errors.js";
import type { HostEvent, LockLost, TurnCame } from "../../core/model/event.js";
import type { Turn } from "../../core/model/lock.js";
import { isPlanOf } from "../../core/model/plan/plan.js";
import type { RunNotes } from "../../core/model/progress.js";
import { nextStep } from "../../core/policy/next-step.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { Log } from "../../core/ports/log.js";
import type { LockStore, WaitStore } from "../../core/ports/stores.js";
import { auditFactsOf, auditRun } from "../answer/audit.js";
import { planUpdated } from "../answer/results.js";
import { AUTOPLAN, type Autoplan, type Outcome, silent } from "../line/outcome.js";
import { AUTOMATIC, commandContext, openChange, plansAutomatically, readChangeFacts, type Run } from "../line/run.js";

interface TurnParts {
  readonly locks: Pick<LockStore, "find">;
  readonly waiting: Pick<WaitStore, "of" | "leave">;
  readonly push: EventQueue["push"];
  readonly log: Log;
}

/**
 * Gives the event `turn` to whoever waits longest for each of these applications, one for all of them. Logs what fails: the
 * reconciler looks for free locks that somebody waits for.
 * @param cause Makes the delivery unique, with the first of the locks: the id of the run that released the locks, or a time.
 * @param passing Has had its turn and is not called again: what cannot leave a queue would have its turn for ever.
 */
export async function callNext(
  { applications, after }: Turn,
  cause: string,
  parts: TurnParts,
  passing?: ChangeRequestRef,
): Promise<void> {
  const { waiting, locks, push, log } = parts;
  const turns = new Map<string, { readonly change: ChangeRequestRef; readonly applications: ApplicationName[] }>();
  try {
    for (const application of applications) {
      // A queue that cannot be read gives nobody a turn, and holds up no other queue.
      const queue = await ifReadable(waiting.of(application), []);
      const first = queue.find((one) => passing === undefined || !sameChangeRequest(one, passing));
      if (first === undefined || (await ifReadable(locks.find(application), "unreadable")) !== undefined) continue;
      const key = identityKey(first);
      const turn = turns.get(key) ?? { change: first, applications: [] };
      turn.applications.push(application);
      turns.set(key, turn);
    }
    for (const [key, turn] of turns) {
      // One run may call the same change request again, for other locks: the queue takes each delivery once.
      const origin = { change: turn.change, delivery: `turn-${cause}-${key}-${turn.applications[0]}` };
      const event: HostEvent = { ...origin, kind: "turn", applications: turn.applications };
      await push(after === undefined ? event : { ...event, after: changeRequestRef(after) });
    }
  } catch (error) {
    log.warn({ applications, err: error }, "could not tell who waits for a released lock");
  }
}

/** Puts whoever lost locks first in their queues, where others wait, and returns these locks. @throws {StoreUnavailable} */
export async function keepPlaces(
  applications: readonly ApplicationName[],
  loser: ChangeRequestRef,
  waiting: Pick<WaitStore, "of" | "join">,
): Promise<readonly ApplicationName[]> {
  const waits: ApplicationName[] = [];
  for (const application of applications) {
    const queue = await waiting.of(application);
    if (queue.every((one) => sameChangeRequest(one, loser))) continue;
    await waiting.join(application, loser, "first");
    waits.push(application);
  }
  return waits;
}

/** Tells a change request that an administrator released its locks. No push stops it, which need not lead to a plan. */
export async function tellOfLoss(ref: ChangeRequestRef, lost: LockLost, run: Run): Promise<Outcome> {
  const change = await run.host.getChangeRequest(ref);
  if (change.state !== "open") return silent("nothing-to-update");
  const body = renderLockLost(lost, run.hostWords[change.host]);
  await publish(run.host, change, [body], { runId: run.runId, posting: { urgency: "plan" } });
  return silent("loss-told");
}

/** Takes a change request out of these queues, and calls whoever comes next. @throws {StoreUnavailable} */
export async function passTurn(
  change: ChangeRequestRef,
  { applications, after }: Turn,
  cause: string,
  parts: TurnParts,
): Promise<void> {
  for (const application of applications) await parts.waiting.leave(application, change);
  await callNext({ applications, after }, cause, parts, change);
}

/** Plans a change request whose turn has come, or tells it so; whoever takes no lock leaves the queue. @param obey Runs and answers the plan. */
export async function takeTurn(
  ref: ChangeRequestRef,
  { applications, after }: TurnCame,
  run: Run,
  obey: (turn: Autoplan) => Promise<Outcome>,
): Promise<Outcome> {
  const { free, left } = await stillFree(applications, ref, run);
  // Its turn came for locks that it no longer waits for: the next in those queues gets it.
  if (left.length > 0) await callNext({ applications: left, after }, run.runId, run, ref);
  if (free.length === 0) return silent("turn-over");
  const turn = { applications: free, after };
  const change = await factsOf(ref, free, run);
  if (change?.state !== "open" || (change.fork && !run.config.defaults.allowForks)) {
    await passTurn(ref, turn, run.runId, run);
    return silent("turn-over");
  }
  const command = await planOf(change, run);
  if (command === undefined) {
    await tellTurn(turn, change, run).catch((error: unknown) => {
      if (!isFinal(error)) throw error;
      run.log.warn({ applications: free, err: error }, "could not tell a change request that its turn had come");
    });
    for (const application of free) await run.waiting.leave(application, ref);
    return silent("turn-told");
  }
  let unused: readonly ApplicationName[];
  let outcome: Outcome;
  try {
    outcome = await obey({ ...AUTOPLAN, command, turn });
  } finally {
    unused = await stepOut(free, ref, run);
  }
  // A plan that did not need them is no reason to wait; after one that failed, the reconciler calls the next.
  if (outcome.kind === "answered" && outcome.result.kind === "planned") {
    await callNext({ applications: unused, after }, run.runId, run, ref);
    if (outcome.result.plan.applications.some(({ gaps }) => gaps?.behind === true)) await updateAtTurn(ref, run);
  }
  return outcome;
}

/** Ends a turn whose plan crashes svc: it leaves the queues, and a comment says that somebody has to ask for its plan. */
export async function giveUpTurn(ref: ChangeRequestRef, { applications, after }: TurnCame, run: Run): Promise<Outcome> {
  const { free } = await stillFree(applications, ref, run);
  for (const application of free) await run.waiting.leave(application, ref);
  const change = await run.host.getChangeRequest(ref);
  if (free.length === 0 || change.state !== "open") return silent("turn-over");
  await tellTurn({ applications: free, after }, change, run);
  return silent("turn-told");
}

async function tellTurn(turn: Turn, change: ChangeRequest, run: Run): Promise<void> {
  const body = renderTurn(turn, change, run.hostWords[change.host], { hosts: hostAddresses(run.config) });
  await publish(run.host, change, [body], { runId: run.runId, posting: { urgency: "plan" } });
}

/** Brings the base branch into the head, where the settings say so and it is the next step. Logs what fails: people can still do it. */
async function updateAtTurn(ref: ChangeRequestRef, given: Run): Promise<void> {
  // The push that it causes must not stop it.
  const run = { ...given, signal: new AbortController().signal };
  try {
    const change = await run.host.getChangeRequest(ref);
    const opened = await openChange(change, run);
    if (opened.settings.updateBranch !== "on_turn") return;
    const { facts } = await readChangeFacts(change, opened.settings, run, {
      problems: opened.problems,
      review: "rules",
    });
    const next = nextStep(facts);
    if (next.kind !== "push" || next.command !== "update") return;
    const result = await update(undefined, commandContext(AUTOMATIC, change, opened, run));
    await auditRun(auditFactsOf(result), { change, asked: undefined }, run);
    const words = run.hostWords[change.host];
    const parts = renderResult(result, { change, words, links: linksOf(change, run), comments: "all" });
    await publish(run.host, change, parts, { runId: run.runId, posting: { urgency: "plan" } });
    await planUpdated({ result, settings: opened.settings }, change, run);
  } catch (error) {
    run.log.warn({ err: error }, "could not update a branch whose turn had come");
  }
}

/** Noted once a turn is taken: an attempt after a crash may find that it has left the queues already. */
const TAKEN: RunNotes = { started: [], skipped: [] };

/** The locks that are free and that it waits for, or an earlier attempt took. `left` are free, too, and it does not wait for them any more. */
async function stillFree(
  applications: readonly ApplicationName[],
  ref: ChangeRequestRef,
  { waiting, locks, ticket }: Run,
): Promise<Readonly<Record<"free" | "left", readonly ApplicationName[]>>> {
  // A turn that has only waited for long counts as started before, too.
  const wasTaken = ticket.again && (await ticket.journal.read()).started !== undefined;
  const [free, left]: [ApplicationName[], ApplicationName[]] = [[], []];
  for (const application of applications) {
    const waits = wasTaken || (await waiting.of(application)).some((one) => sameChangeRequest(one, ref));
    const lock = await locks.find(application);
    if (waits && (lock === undefined || sameChangeRequest(lock.holder, ref))) free.push(application);
    else if (lock === undefined) left.push(application);
  }
  if (free.length > 0) {
    await ticket.confirm();
    await ticket.journal.write(TAKEN);
  }
  return { free, left };
}

/** Reads the change request; undefined if the host no longer has it. One that cannot be read now goes to the end of the queues. */
async function factsOf(
  ref: ChangeRequestRef,
  applications: readonly ApplicationName[],
  { host, waiting }: Run,
): Promise<ChangeRequest | undefined> {
  try {
    return await host.getChangeRequest(ref);
  } catch (error) {
    if (error instanceof HostFailure && error.reason === "not-found") return undefined;
    for (const application of applications) {
      if (await waiting.leave(application, ref)) await waiting.join(application, ref);
    }
    throw error;
  }
}

/** The plan to run by itself: as somebody asked for this head, or an automatic one; undefined if a person has to ask, as for a fork or a draft. */
async function planOf(change: ChangeRequest, run: Run): Promise<Autoplan["command"] | undefined> {
  const plan = change.fork ? undefined : await ifReadable(run.plans.find(change), undefined);
  if (isPlanOf(plan, change)) return planAgain(plan);
  if (!plansAutomatically(change, run.config)) return undefined;
  return (await openChange(change, run)).settings.autoplan ? AUTOPLAN.command : undefined;
}

/** Leaves the queues after the turn, unless somebody was faster or a stopped plan is decided anew. Returns the locks that are free. */
async function stepOut(
  applications: readonly ApplicationName[],
  ref: ChangeRequestRef,
  { locks, waiting, signal, log }: Run,
): Promise<readonly ApplicationName[]> {
  if (signal.aborted) return [];
  const unused: ApplicationName[] = [];
  try {
    for (const application of applications) {
      const lock = await locks.find(application);
      if (lock !== undefined && !sameChangeRequest(lock.holder, ref)) continue;
      await waiting.leave(application, ref);
      if (lock === undefined) unused.push(application);
    }
  } catch (error) {
    log.warn({ applications, err: error }, "could not leave the queue for a lock");
  }
  return unused;
}
