import { repost } from "../../comments/publish.js";
import { allowsRepository } from "../../config/repository-names.js";
import { isDeploying } from "../../core/commands/commands.js";
import { isHolding } from "../../core/commands/locks.js";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  changeRequestKey,
  type ChangeRequestRef,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import { mapInTurns } from "../../core/model/collections.js";
import {
  BaseBranchGone,
  HeadMoved,
  LeaseLost,
  NotRecovered,
  NotServed,
  safeMessage,
  StoreUnavailable,
} from "../../core/model/errors.js";
import type { HostEvent } from "../../core/model/event.js";
import type { Refusal } from "../../core/model/result.js";
import { reached, takingEffect } from "../../core/policy/effect-rules.js";
import { type RunEnd, type RunTicket, Stopped, type StopReason } from "../../core/ports/event-queue.js";
import { PORT_REACH, type Reach, type RunPorts } from "../../core/ports/reach.js";
import { DEPLOYER_TITLE, SERVICE } from "../../names.js";
import { type EveryCall, wrapPort } from "../../observe/wrap-port.js";
import { answer, isAlreadyAnswered, reply } from "../answer/answer.js";
import { auditFactsOf, auditRun } from "../answer/audit.js";
import { tellReceivers } from "../answer/notify.js";
import { changedSomething, didAsAsked, setsStatus } from "../answer/results.js";
import { isLeftAsking, showProgress } from "../answer/show.js";
import { giveUpGroup } from "../around/merge-group.js";
import { abandonRollout, giveUpRollout } from "../around/rollout.js";
import { callNext, giveUpTurn, passTurn } from "../around/turns.js";
import { ask, heedingStops } from "./ask.js";
import { closeChangeRequest } from "./execute.js";
import { handleEvent } from "./handle-event.js";
import { type Answerable, type Finished, type Outcome, outcomeText, refused, silent } from "./outcome.js";
import { outsiderIn } from "./permit.js";
import { Attempt, type Dependencies, openChange, plansAutomatically, type Run } from "./run.js";

/** Handles an event: logs it, fences it, marks its comment and answers failures. Never throws. */
export async function supervise(event: HostEvent, deps: Dependencies, given: RunTicket): Promise<RunEnd> {
  // A comment that was found may have been answered before the store forgot it.
  const ticket = event.kind === "commented" && event.found !== undefined ? { ...given, again: true } : given;
  const connected = deps.hosts[event.change.host];
  const served = isAllowed(event.change, deps) || (event.kind === "closed" && (await isHolding(event.change, deps)));
  if (connected === undefined || !served) {
    if (event.kind === "turn") await passTurn(event.change, { after: undefined, ...event }, event.delivery, deps);
    if (event.kind === "rollout") await abandonRollout(event.change, deps);
    return "done";
  }
  const freed = new Set<ApplicationName>();
  // A close releases what was locked under the old name, wherever the repository is by now.
  const isServed = event.kind === "closed" ? () => true : (change: ChangeRequest) => isAllowed(change, deps);
  const host = wrapPort(connected, {
    getChangeRequest: (call, ref) => (sameChangeRequest(ref, event.change) ? ifServed(call(), isServed, deps) : call()),
  });
  const marking = marksConcerned(deps, event.change, freed);
  const startedAt = deps.clock.now().getTime();
  // What it answers: a comment, however that was found, or else a delivery.
  const runKey = event.kind === "commented" ? runKeyOfComment(event.change, event.commentId) : event.delivery;
  const [delivery, runId] = [event.delivery, deps.newRunId(runKey)];
  const log = deps.log.child({ delivery, change: changeRequestKey(event.change), runId });
  const fenced = fence({ ...deps, ...marking.stores, host, ticket, signal: ticket.signal, runId, log, delivery });
  const alongside = (change: ChangeRequest) => showProgress(change, fenced);
  const outcome = await attempt(event, { ...fenced, attempt: new Attempt({ ...fenced, alongside }) });
  // Last: a sync may also have merged what the next one is planned against.
  if (freed.size > 0) await callNext({ applications: [...freed], after: event.change }, runId, deps);
  const mayAsk = !showsItself(outcome) && (ticket.again || outcome.kind !== "silent");
  // What an earlier attempt changed is not known.
  const mayHaveChanged = marking.changed() || (ticket.again && outcome.kind === "answered");
  const isBehind = mayHaveChanged || (mayAsk && (await isLeftAsking(event.change, deps)));
  if (isBehind && !showsItself(outcome)) await deps.publisher.mark(event.change);
  // Nothing else would push the event again: what was announced or approved would not begin, and a withdrawn approval would count.
  const isLost = outcome.kind === "failed" && ["stage-due", "approved", "reviewed"].includes(event.kind);
  if (isLost) await deps.publisher.retry(event.change);
  const [text, ms] = [outcomeText(outcome), deps.clock.now().getTime() - startedAt];
  if (outcome.kind === "failed") log.error({ event: event.kind, err: outcome.error, ms }, "event failed");
  else if (text !== undefined) log.info({ event: event.kind, outcome: text, ms }, "event handled");
  return runEndOf(outcome);
}

/** Stores that mark whoever shows the state of an application once it changes. @param freed receives those whose lock may have been released. */
function marksConcerned({ publisher, ...deps }: Dependencies, self: ChangeRequestRef, freed: Set<ApplicationName>) {
  let changed = false;
  type Concerned = [application: ApplicationName, whose?: ChangeRequestRef];
  const touched = async (...[application, whose]: Concerned) => {
    changed = true;
    await publisher.touched(application, self, whose);
  };
  /** A call that fails may have been done, and is not seen to be when it is repeated. */
  async function touching<T>(call: () => Promise<T>, isChange: (answer: T) => boolean, ...whose: Concerned) {
    const answer = await call().catch(async (error: unknown) => {
      await touched(...whose);
      throw error;
    });
    if (isChange(answer)) await touched(...whose);
    return answer;
  }
  const locks = wrapPort(deps.locks, {
    async acquire(call, { application, user }, _now, from) {
      const before = await deps.locks.find(application).catch(() => undefined);
      // Whoever plans again is named from then on.
      const isOthers = before?.user !== user;
      return touching(call, (one) => one.kind === "acquired" && (one.fresh || isOthers), application, from);
    },
    async release(call, application) {
      const released = call();
      if (await released.catch(() => true)) freed.add(application);
      return touching(
        () => released,
        () => freed.has(application),
        application,
      );
    },
  });
  const waiting = wrapPort(deps.waiting, {
    leave: (call, application) => touching(call, (left) => left, application),
  });
  const plans = wrapPort(deps.plans, {
    async save(call, plan) {
      const shown = await mapInTurns(takingEffect(plan), (deployed) => [...reached(deployed)]);
      // Before: a save that fails may have been done.
      await publisher.concern(plan.change, [...new Set(shown.flat())]);
      await call();
    },
  });
  const deployments = wrapPort(deps.deployments, {
    save: (call, { application }) => touching(call, () => true, application),
    remove: (call, application, whose) => touching(call, () => true, application, whose),
  });
  return { stores: { locks, waiting, plans, deployments }, changed: () => changed };
}

/** Whether the answer has brought the change request up to date, or nobody has to. */
function showsItself(outcome: Outcome): boolean {
  return outcome.kind === "answered" && (setsStatus(outcome.result) || outcome.result.kind === "closed");
}

function isAllowed({ host, repository }: ChangeRequestRef, { config }: Pick<Dependencies, "config">): boolean {
  return allowsRepository(config.defaults.allowedRepos, host, repository);
}

/** @throws {NotServed} if the repository has another name by now, which is not allowed. */
async function ifServed(
  reading: Promise<ChangeRequest>,
  isServed: (change: ChangeRequest) => boolean,
  { publisher }: Pick<Dependencies, "publisher">,
): Promise<ChangeRequest> {
  const change = await reading;
  if (!isServed(change)) throw new NotServed(change.repository);
  await publisher.describe(change);
  return change;
}

async function attempt(event: HostEvent, run: Run): Promise<Outcome> {
  let outcome: Outcome;
  try {
    outcome = run.ticket.givenUp ? await giveUp(event, run) : await handleEvent(event, run);
  } catch (error) {
    outcome = await answerFailure(error, event, run).catch((broken: unknown) => ({ kind: "failed", error: broken }));
  }
  await run.attempt.end(markFor(outcome));
  return outcome;
}

/** Answers a failure. What a command changed is not reported as failed if only its answer could not be posted. */
async function answerFailure(error: unknown, event: HostEvent, given: Run): Promise<Outcome> {
  const { asked, result } = given.attempt;
  if (error instanceof NotServed && given.attempt.change === undefined) {
    await given.attempt.settle();
    return silent("not-served");
  }
  if (asked === undefined) return isStopped(given) ? { kind: "stopped" } : { kind: "failed", error };
  const run = heedingStops(asked, given);
  await run.attempt.settle();
  if (result !== undefined && changedSomething(result)) return { kind: "failed", error, result };
  if (error instanceof NotRecovered) return { kind: "failed", error };
  // Nobody waits for an automatic plan, or a stage that is due: the queue runs it again when the store is back.
  const unasked = (asked.kind === "autoplan" || event.kind === "stage-due") && !isStopped(given);
  if (unasked && error instanceof StoreUnavailable) return { kind: "failed", error };
  const refusal = await explainFailure(error, asked, event.change, run);
  if (refusal === undefined) return { kind: "stopped" };
  const failure = refused(refusal);
  const known = run.attempt.change ?? (error instanceof BaseBranchGone ? error.change : undefined);
  const change = known ?? (await run.host.getChangeRequest(event.change));
  const outsider = await outsiderIn(asked, change, run);
  if (outsider !== undefined && (await run.outsiders.wereAnswered(run.host, change))) return silent("refused-before");
  await auditRun(auditFactsOf(failure.result), { change, asked }, run);
  const told = tellReceivers({ ...asked, outsider: outsider !== undefined }, failure.result, change, run);
  await reply(asked, { ...failure, outsider }, change, run);
  await told;
  return { kind: "answered", result: failure.result };
}

/** Whether a push, a close or a shutdown stopped the run. */
function isStopped({ signal }: Run): boolean {
  return signal.aborted && signal.reason instanceof Stopped;
}

/** The last mark on a person's command. None if an earlier answer stands, or a newer plan will replace this one. */
function markFor(outcome: Outcome): "done" | "failed" | undefined {
  switch (outcome.kind) {
    case "answered":
      return didAsAsked(outcome.result) ? "done" : "failed";
    case "silent":
      return outcome.reason === "already-answered" ? undefined : "failed";
    case "stopped":
      return undefined;
    case "failed":
      return outcome.result !== undefined && didAsAsked(outcome.result) ? "done" : "failed";
  }
}

function runEndOf(outcome: Outcome): RunEnd {
  switch (outcome.kind) {
    case "answered":
    case "silent":
      return "done";
    case "stopped":
    case "failed":
      return outcome.kind;
  }
}

/** Answers an event whose earlier attempts ended their processes. Does nothing that may have done so, such as reading a repository. */
async function giveUp(event: HostEvent, run: Run): Promise<Outcome> {
  const asked = await ask(event, run);
  switch (asked.kind) {
    case "silent":
      return asked;
    case "close":
      return closeChangeRequest(event.change, run, { briefly: true });
    case "revisit":
    case "lock-lost":
    case "marked":
      return { kind: "stopped" };
    case "merge-group":
      return giveUpGroup({ ...asked, ...event.change }, run);
    case "turn":
      return giveUpTurn(event.change, asked, run);
    case "rollout":
      return giveUpRollout(event.change, run);
    case "command":
    case "autoplan":
    case "invalid": {
      run.attempt.start(asked, event.change);
      const change = await run.host.getChangeRequest(event.change);
      return answer(asked, await whatIsKnown(change, run), change, run);
    }
  }
}

/** The result that an earlier attempt could not post, without its merge; otherwise a refusal. @throws {NotRecovered} */
async function whatIsKnown(change: ChangeRequest, { ticket, attempt }: Run): Promise<Finished> {
  const { started = [], result } = await ticket.journal.read().catch((cause: unknown) => {
    throw new NotRecovered("could not read what an earlier attempt of this run did", { cause });
  });
  attempt.deploying(started, change);
  if (result !== undefined) {
    const kept = result.kind === "synced" ? { ...result, merge: undefined } : result;
    return { kind: "finished", result: kept, settled: [], recorded: true };
  }
  const deployed = started.map(({ application }) => application).join(", ");
  const left =
    deployed === "" ? "" : ` It may have deployed ${deployed}: look at the last operation in ${DEPLOYER_TITLE}.`;
  const message = `${SERVICE} ended unexpectedly each time it ran this. It is not started again.${left} The log of ${SERVICE} says more.`;
  return refused({ reason: "failure", message });
}

/** How to answer a run that broke or was stopped; undefined if there is nothing to say. */
async function explainFailure(
  error: unknown,
  asked: Answerable,
  change: ChangeRequestRef,
  run: Run,
): Promise<Refusal | undefined> {
  const refusal = await refusalFor(error, asked, change, run);
  return refusal === undefined || (await isAlreadyAnswered(refusal, change, run)) ? undefined : refusal;
}

async function refusalFor(
  error: unknown,
  asked: Answerable,
  change: ChangeRequestRef,
  run: Run,
): Promise<Refusal | undefined> {
  const { signal, log } = run;
  if (error instanceof LeaseLost) return undefined;
  if (signal.aborted && signal.reason instanceof Stopped) {
    log.info({ reason: signal.reason.reason }, "command stopped");
    return refusalForStop(signal.reason.reason, asked, change, run);
  }
  if (error instanceof HeadMoved) return { reason: "head-moved" };
  if (error instanceof StoreUnavailable) {
    log.error({ err: error }, "the store is unavailable; nothing was run");
    return { reason: "store-unavailable" };
  }
  log.error({ err: error }, "command failed");
  return { reason: "failure", message: safeMessage(error) };
}

async function refusalForStop(
  reason: StopReason,
  { by, command }: Answerable,
  change: ChangeRequestRef,
  run: Run,
): Promise<Refusal | undefined> {
  if (by === undefined || reason === "handed-back") return undefined;
  const message = `${SERVICE} was restarted before the command started`;
  if (reason === "shutdown") return { reason: "failure", message };
  if (command !== undefined && isDeploying(command)) {
    if (reason !== "pushed") return { reason: "closed", state: "closed" };
    return { reason: "head-moved", base: await newBaseOf(change, run) };
  }
  if (reason === "closed") return { reason: "superseded", by: "closed" };
  return (await willReplan(change, run)) ? undefined : { reason: "superseded", by: "pushed" };
}

/** The base branch, if that changed since the run started: the same event tells of it and of a push. */
async function newBaseOf(change: ChangeRequestRef, { host, attempt }: Run): Promise<string | undefined> {
  if (attempt.change === undefined) return undefined;
  try {
    const { baseBranch } = await host.getChangeRequest(change);
    return baseBranch === attempt.change.baseBranch ? undefined : baseBranch;
  } catch {
    return undefined;
  }
}

/** Whether the push that stopped a plan also starts an automatic one, which is then the answer. */
async function willReplan(change: ChangeRequestRef, run: Run): Promise<boolean> {
  const { config, host } = run;
  try {
    const fresh = await host.getChangeRequest(change);
    if (!plansAutomatically({ ...fresh, state: "open" }, config)) return false;
    return (await openChange(fresh, { ...run, signal: undefined })).settings.autoplan;
  } catch {
    return config.defaults.autoplan;
  }
}

export function runKeyOfComment(change: ChangeRequestRef, commentId: string): string {
  return `${changeRequestKey(change)} comment ${commentId}`;
}

/** Blocks the writes of a run whose change request another replica has taken over; while that is unknown, all but comments. */
function fence<Parts extends RunPorts & { readonly ticket: RunTicket }>(parts: Parts): Parts {
  const { ticket } = parts;
  const host = wrapPort(parts.host, confirmFirst(PORT_REACH.host, ticket));
  const ports: RunPorts = {
    // An interrupted attempt may have posted the same comment.
    host: ticket.again ? wrapPort(host, { postComment: (_call, ...given) => repost(host, ...given) }) : host,
    repositories: wrapPort(parts.repositories, confirmFirst(PORT_REACH.repositories, ticket)),
    deployer: wrapPort(parts.deployer, confirmFirst(PORT_REACH.deployer, ticket)),
    locks: wrapPort(parts.locks, confirmFirst(PORT_REACH.locks, ticket)),
    waiting: wrapPort(parts.waiting, confirmFirst(PORT_REACH.waiting, ticket)),
    holds: wrapPort(parts.holds, confirmFirst(PORT_REACH.holds, ticket)),
    rollouts: wrapPort(parts.rollouts, confirmFirst(PORT_REACH.rollouts, ticket)),
    plans: wrapPort(parts.plans, confirmFirst(PORT_REACH.plans, ticket)),
    deployments: wrapPort(parts.deployments, confirmFirst(PORT_REACH.deployments, ticket)),
    statuses: wrapPort(parts.statuses, confirmFirst(PORT_REACH.statuses, ticket)),
    audit: wrapPort(parts.audit, confirmFirst(PORT_REACH.audit, ticket)),
    live: wrapPort(parts.live, confirmFirst(PORT_REACH.live, ticket)),
    notifications: wrapPort(parts.notifications, confirmFirst(PORT_REACH.notifications, ticket)),
  };
  return { ...parts, ...ports };
}

function confirmFirst(reach: Readonly<Record<string, Reach | undefined>>, ticket: RunTicket): EveryCall {
  return (method, call) => {
    switch (Object.hasOwn(reach, method) ? reach[method] : undefined) {
      case "act":
        return ticket.confirm().then(call);
      case "speak":
        return confirmIfPossible(ticket).then(call);
      case "read":
      case "record":
      case undefined:
        return call();
    }
  };
}

async function confirmIfPossible(ticket: RunTicket): Promise<void> {
  try {
    await ticket.confirm();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
  }
}
