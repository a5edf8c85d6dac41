import { renderPlanTask } from "../comments/plan.js";
import { publish } from "../comments/publish.js";
import { renderMergeRefusal, renderResult, renderTakenOver } from "../comments/render.js";
import { settledText } from "../comments/settled.js";
import { auditFactsOf, auditFactsOfMerge } from "../core/commands/audit-facts.js";
import { changeRequestKey, type ChangeRequest, type User } from "../core/model/change-request.js";
import { HostFailure, safeMessage, StoreUnavailable } from "../core/model/errors.js";
import { sizeOfPlan } from "../core/model/plan.js";
import type { CommandResult, Refusal, SyncedResult } from "../core/model/result.js";
import type { Advice } from "../core/policy/advice.js";
import type { MergeOutcome, Posting } from "../core/ports/code-host.js";
import { tooMuch } from "../core/ports/compute.js";
import { advise } from "./advise.js";
import type { Answerable } from "./asked.js";
import { auditRun } from "./audit.js";
import { linksOf } from "./links.js";
import { tellReceivers } from "./notify.js";
import { silent, type Finished, type Outcome, type Silent } from "./outcome.js";
import { outsiderIn } from "./permit.js";
import { postPlan } from "./post-plan.js";
import { postingOf } from "./posting.js";
import { isAlreadyAnswered } from "./recover.js";
import type { Run } from "./run.js";
import { refreshPlanStatus, setCommitStatus, setDetectedStatus, setPlanStatus } from "./status.js";

/** Records what became of a command and answers it, unless there is a reason to stay silent. */
export async function answer(
  asked: Answerable,
  ended: Finished | Silent,
  change: ChangeRequest,
  run: Run,
): Promise<Outcome> {
  if (ended.kind === "silent") return staySilent(ended, asked, change, run);
  const { result, recorded = false } = ended;
  if (!recorded && result.kind === "refused" && (await isAlreadyAnswered(result.refusal, change, run))) {
    return staySilent(silent("already-answered"), asked, change, run);
  }
  // A plan that was stopped meanwhile is not posted.
  if (result.kind === "planned") run.signal.throwIfAborted();
  run.attempt.ended(result);
  if (!recorded) {
    await writeToJournal(result, run);
    await auditRun(auditFactsOf(result), { change, asked }, run);
  }
  // What is known of an earlier attempt does not say whom it answers.
  const outsider =
    ended.outsider ?? (recorded || run.ticket.givenUp ? await outsiderIn(asked, change, run) : undefined);
  const told = tellReceivers({ ...asked, outsider: outsider !== undefined }, result, change, run);
  const posted = await reply(asked, { ...ended, outsider }, change, run);
  await told;
  return posted ? { kind: "answered", result } : silent("left-out");
}

/**
 * Posts an answer, updates the commit status and merges.
 * @returns Whether it was posted: a refusal or help is left out while the host's limit of comments is used up.
 */
export async function reply(asked: Answerable, finished: Finished, change: ChangeRequest, run: Run): Promise<boolean> {
  const { result, settings, settled, earlier, outsider = outsiderOf(asked) } = finished;
  const { host, runId } = run;
  const [into, { advice, reviewed }] = await Promise.all([run.attempt.settle(), advise(finished, change, run)]);
  const rendered = await rendering(result, change, advice, run);
  const parts = settled.length === 0 ? rendered : withNote(rendered, settledText(settled, run.hostWords[change.host]));
  const posting = postingOf(result, run, { command: asked.command, outsider: outsider !== undefined });
  const automatic = asked.kind === "autoplan";
  const post = () => publish(host, change, parts, { runId, into, automatic, posting, login: outsider?.login });
  const postIfPossible = () =>
    post().then(
      () => true,
      (error: unknown) => leaveOut(error, posting, run),
    );
  switch (result.kind) {
    case "planned": {
      const quiet = automatic && settled.length === 0 && result.turn === undefined;
      await postPlan(result.plan, { parts, quiet, automatic, settings, reviewed, earlier, posting }, change, run);
      return true;
    }
    case "synced": {
      await post();
      if (settings !== undefined && !result.dryRun) {
        const rejected = result.applications.filter(({ kind }) => kind === "rejected");
        const notStarted = rejected.map(({ application }) => application);
        await setPlanStatus(change, { settings, notStarted, reviewed }, run);
      }
      for (const other of result.replaced) {
        if (other.host === change.host) await refreshPlanStatus(other, run);
      }
      await merge(asked, result, change, run);
      return true;
    }
    case "rolled-back":
      await post();
      if (settings !== undefined && change.state === "open") await setPlanStatus(change, { settings, reviewed }, run);
      await tellFormerHolders(result, change, asked, run);
      return true;
    case "unlocked":
      await post();
      if (settings !== undefined && change.state === "open") await setPlanStatus(change, { settings, reviewed }, run);
      return true;
    case "refused": {
      const posted = await postIfPossible();
      if (asked.kind === "autoplan") {
        await setCommitStatus(change, { kind: "plan-failed", reason: shortReason(result.refusal) }, run);
      } else if (settings !== undefined && settled.length > 0 && change.state === "open") {
        await setPlanStatus(change, { settings }, run);
      }
      return posted;
    }
    case "closed":
    case "help":
      return postIfPossible();
  }
}

/** Whose locks a rollback took over. What it did stands, whether or not they can be told. */
async function tellFormerHolders(
  { takenOver: taken, applications }: Extract<CommandResult, { kind: "rolled-back" }>,
  change: ChangeRequest,
  { by }: Answerable,
  run: Run,
): Promise<void> {
  const kept = applications.filter(({ kind }) => kind !== "succeeded").map(({ application }) => application);
  const holders = new Map(taken.map(({ holder }) => [changeRequestKey(holder), holder]));
  for (const [key, holder] of holders) {
    const theirs = taken.filter((lock) => changeRequestKey(lock.holder) === key);
    const host = holder.host === change.host ? run.host : run.hosts[holder.host];
    if (host === undefined) continue;
    try {
      const body = renderTakenOver(theirs, change, by?.login ?? "", run.hostWords[holder.host], kept);
      await publish(host, holder, [body], { runId: run.runId, posting: { urgency: "result" } });
      if (holder.host === change.host) await refreshPlanStatus(holder, run);
    } catch (error) {
      run.log.warn({ holder: key, err: error }, "could not tell a change request that its lock was taken over");
    }
  }
}

function outsiderOf({ access, by }: Answerable): User | undefined {
  return access === "none" ? by : undefined;
}

/** What nobody waits for long for is not posted late. Whoever asked sees the reaction. */
function leaveOut(error: unknown, { urgency }: Posting, { log }: Run): boolean {
  const isLimit = error instanceof HostFailure && error.reason === "rate-limited";
  if (!isLimit || urgency === "result" || urgency === "plan") throw error;
  log.warn({ urgency, err: error }, "an answer was left out: the code host's limit is used up");
  return false;
}

async function staySilent(outcome: Silent, asked: Answerable, change: ChangeRequest, run: Run): Promise<Silent> {
  await run.attempt.settle();
  switch (outcome.reason) {
    case "not-planned":
      await setDetectedStatus(change, run);
      return outcome;
    case "already-answered":
      // A plan sets its own status, so the earlier answer was a refusal.
      if (asked.kind === "autoplan") {
        await setCommitStatus(change, { kind: "plan-failed", reason: "see the comment" }, run);
      }
      return outcome;
    case "refused-before":
    case "closed-meanwhile":
    case "left-out":
    case "plan-marked":
    case "reminded":
    case "turn-over":
    case "turn-told":
    case "not-addressed":
    case "still-open":
    case "settled":
    case "status-updated":
    case "nothing-to-update":
      return outcome;
  }
}

/** For the next attempt, if this one is interrupted before it answers. A plan is made again instead. */
async function writeToJournal(result: CommandResult, { ticket, attempt, log }: Run): Promise<void> {
  if (result.kind === "planned") return;
  try {
    await ticket.journal.write({ started: attempt.started, result });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.warn({ err: error }, "could not record the result before its answer");
  }
}

/** Milliseconds. */
const RENDER_DEADLINE_MS = 60_000;
/** Characters of a plan whose comments take some tens of milliseconds. */
const SMALL_PLAN = 512 * 1024;

/** The comments that answer a command. Those of a large plan are written in a worker thread. */
async function rendering(
  result: CommandResult,
  change: ChangeRequest,
  advice: Advice | undefined,
  run: Run,
): Promise<readonly string[]> {
  const [words, links] = [run.hostWords[change.host], linksOf(change, run)];
  const wanted = run.config.comments.plan;
  const comments = wanted === "auto" ? (links.page === undefined ? "all" : "one") : wanted;
  if (result.kind !== "planned" || sizeOfPlan(result.plan) < SMALL_PLAN) {
    return renderResult(result, change, words, links, comments, advice);
  }
  const { plan, pruning, turn } = result;
  const input = { plan, options: { words, pruning, links, turn, comments, next: advice?.next } };
  const limits = { owner: changeRequestKey(change), deadlineMs: RENDER_DEADLINE_MS, signal: run.signal };
  const computed = await run.compute.run(renderPlanTask, input, limits);
  if (computed.kind === "exceeded") throw new Error(`writing the comments of a plan ${tooMuch(computed.limit)}`);
  return computed.output;
}

/** The size limit of a comment leaves room for the note. */
function withNote(parts: readonly string[], note: string): readonly string[] {
  return parts.map((part, index) => (index === parts.length - 1 ? `${part}\n\n${note}` : part));
}

/** For the commit status; the comment has the details. */
function shortReason({ reason }: Refusal): string {
  if (reason === "repository-file") return "the repository's file cannot be used";
  return reason === "store-unavailable" ? "the lock store did not answer" : "see the comment";
}

async function merge(asked: Answerable, result: SyncedResult, change: ChangeRequest, run: Run): Promise<void> {
  const intent = result.merge;
  if (intent === undefined) return;
  // An earlier attempt of this run merged it.
  if (run.ticket.again && change.state === "merged") return;
  // The branch's rules may require deployments.
  await run.attempt.shown();
  const merged = await run.host.merge(change, intent).catch((error: unknown): MergeOutcome => {
    run.log.error({ err: error }, "could not merge");
    return { kind: "refused", reason: safeMessage(error) };
  });
  await auditRun(auditFactsOfMerge(merged, intent), { change, asked }, run);
  if (merged.kind === "refused") {
    const posting = postingOf(result, run);
    await publish(run.host, change, [renderMergeRefusal(merged.reason, change, run.hostWords[change.host])], {
      runId: run.runId,
      posting,
    });
  } else run.log.info({ note: merged.note }, "merged");
}
