import { publish } from "../../comments/publish.js";
import { renderTurn } from "../../comments/turn.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { type ChangeRequest, type ChangeRequestRef, sameChangeRequest } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { TurnCame } from "../../core/model/event.js";
import { isPlanOf } from "../../core/model/plan.js";
import { AUTOPLAN, type Autoplan } from "../line/asked.js";
import { openChange, plansAutomatically } from "../line/context.js";
import { silent, type Outcome } from "../line/outcome.js";
import type { Run } from "../line/run.js";
import { callNext, passTurn } from "./turns.js";

/**
 * Plans a change request whose turn has come for a lock, or tells it so if svc may not plan it by itself. Whoever does not
 * take the lock leaves the queue.
 * @param obey Runs and answers the plan.
 */
export async function takeTurn(
  ref: ChangeRequestRef,
  { applications, after }: TurnCame,
  run: Run,
  obey: (turn: Autoplan) => Promise<Outcome>,
): Promise<Outcome> {
  const free = await stillFree(applications, ref, run);
  if (free.length === 0) return silent("turn-over");
  const turn = { applications: free, after };
  const change = await factsOf(ref, free, run);
  if (change?.state !== "open" || (change.fork && !run.config.defaults.allowForks)) {
    await passTurn(ref, turn, run.runId, run);
    return silent("turn-over");
  }
  const command = await planOf(change, run);
  if (command === undefined) {
    const body = renderTurn(turn, change, run.hostWords[change.host]);
    await publish(run.host, change, [body], { runId: run.runId, posting: { urgency: "plan" } });
    for (const application of free) await run.waiting.leave(application, ref);
    return silent("turn-told");
  }
  let unused: readonly ApplicationName[] = [];
  const outcome = await obey({ ...AUTOPLAN, command, turn }).finally(async () => {
    unused = await stepOut(free, ref, run);
  });
  // A plan that did not need them is no reason to wait; after one that failed, the reconciler calls the next.
  if (outcome.kind === "answered" && outcome.result.kind === "planned") {
    await callNext({ applications: unused, after }, run.runId, run, ref);
  }
  return outcome;
}

/**
 * The locks that are free and that it waits for. An earlier attempt of the run may have taken them, and left the queues,
 * without an answer.
 */
async function stillFree(
  applications: readonly ApplicationName[],
  ref: ChangeRequestRef,
  { waiting, locks, ticket }: Run,
): Promise<readonly ApplicationName[]> {
  const free: ApplicationName[] = [];
  for (const application of applications) {
    const waits = (await waiting.of(application)).some((one) => sameChangeRequest(one, ref));
    if (!waits && !ticket.again) continue;
    const lock = await locks.find(application);
    if (lock === undefined || sameChangeRequest(lock.holder, ref)) free.push(application);
  }
  return free;
}

/** Undefined if it is gone from the host. One that cannot be read now goes to the end, so that others have their turn. */
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

/**
 * The plan to run by itself: one like the plan of this head that somebody asked for, or an automatic one. Undefined if a
 * person has to ask for it. Nobody has seen the new commits of a fork, or of a draft.
 */
async function planOf(change: ChangeRequest, run: Run): Promise<Autoplan["command"] | undefined> {
  const plan = change.fork ? undefined : await run.plans.find(change);
  if (isPlanOf(plan, change)) {
    const planned = plan.applications.filter(({ kind }) => kind !== "unplanned").map(({ application }) => application);
    return { name: "plan", applications: planned.length < plan.applications.length ? planned : [] };
  }
  if (!plansAutomatically(change, run.config)) return undefined;
  return (await openChange(change, run)).settings.autoplan ? AUTOPLAN.command : undefined;
}

/**
 * Leaves the queues after the turn, unless somebody else was faster, or a push or a close stopped the plan and decides anew.
 * Returns the locks that are free.
 */
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
