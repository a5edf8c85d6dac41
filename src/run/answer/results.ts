import { renderBarredMerge, renderMergeRefusal, renderQueued } from "../../comments/merge.js";
import { linksOf } from "../../comments/parts.js";
import { renderTakenOver } from "../../comments/plan.js";
import { publish, publishPlan, isCurrentPlan } from "../../comments/publish.js";
import { hostAddresses } from "../../config/server/server.js";
import { isDeploying } from "../../core/commands/commands.js";
import { type ConfirmedMerge, confirmMerge } from "../../core/commands/merge.js";
import { endStages } from "../../core/commands/next-stage.js";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  changeRequestKey,
  changeRequestRef,
  identityKey,
} from "../../core/model/change-request.js";
import type { Command } from "../../core/model/command.js";
import { HostFailure, LeaseLost, safeMessage } from "../../core/model/errors.js";
import type { Hold } from "../../core/model/hold.js";
import { affectsNothing, type Plan } from "../../core/model/plan/plan.js";
import type { CommandResult, CommandResultOf, Refusal, ResultKind } from "../../core/model/result.js";
import type { Settings } from "../../core/model/settings.js";
import { matchesHold } from "../../core/policy/effect-rules.js";
import type { MergeOutcome, OwnComment, Posting, Urgency } from "../../core/ports/code-host.js";
import { leavesOut } from "../../core/ports/log.js";
import { noteShown } from "../around/revisit.js";
import type { Advised, Answerable, Finished } from "../line/outcome.js";
import { NOBODY, openChange, plansAutomatically, type Run } from "../line/run.js";
import { auditFactsOfMerge, auditRun } from "./audit.js";
import { postedPlan } from "./plan-comment.js";
import { addAnswers, show, showEnd } from "./show.js";
import { setCommitStatus } from "./status.js";

/** Posts what a sync did, updates the commit statuses that it changed, and merges if nothing is left to do. */
async function replyToSync(result: CommandResultOf<"synced">, answer: Answer): Promise<boolean> {
  await answer.post();
  const rejected = result.applications.filter(({ kind }) => kind === "rejected");
  const justFailed = rejected.map(({ application }) => application);
  if (!result.dryRun || answer.change.state !== "open") await showLeft(answer, justFailed);
  if (result.merge !== undefined) await merge(result, answer);
  return true;
}

/** Posts what a rollback did, updates the commit status, and tells those whose locks it took over. */
async function replyToRollback(result: CommandResultOf<"rolled-back">, answer: Answer): Promise<boolean> {
  await postWithStatus(answer);
  await tellFormerHolders(result, answer);
  return true;
}

async function replyToUpdate(_result: CommandResultOf<"updated">, answer: Answer): Promise<boolean> {
  const posted = await postIfInTime(answer);
  await planUpdated(answer.finished, answer.change, answer.run);
  return posted;
}

/** Plans the revert, where the event of its opening does not. */
async function replyToRevert({ revert, known }: CommandResultOf<"reverted">, answer: Answer): Promise<boolean> {
  const { finished, run } = answer;
  const posted = await postIfInTime(answer);
  if (!known && finished.settings?.autoplan !== true) {
    await run.push({ kind: "plan-wanted", delivery: `reverted-${run.runId}`, change: revert });
  }
  return posted;
}

/** Posts the answer, and has the texts of every change request updated that would deploy what is now held or released. */
async function replyToHolds(holds: readonly Hold[], answer: Answer): Promise<boolean> {
  await answer.run.publisher.touchedAll((application) => holds.some((hold) => matchesHold(hold, application)));
  return postIfInTime(answer);
}

/** Plans the head that an update made, where the event of its push does not. */
export async function planUpdated(
  { result, settings }: Pick<Finished, "result" | "settings">,
  change: ChangeRequest,
  run: Run,
): Promise<void> {
  if (result.kind !== "updated" || result.done === undefined) return;
  if (plansAutomatically(change, run.config) && settings?.autoplan === true) return;
  await run.push({ kind: "plan-wanted", delivery: `updated-${run.runId}`, change: changeRequestRef(change) });
}

const BY_HAND = "Merge it by hand.";

/** Merges a change request whose applications are all deployed, if that is still allowed; otherwise a comment says so. */
async function merge({ applications, skipped }: CommandResultOf<"synced">, answer: Answer): Promise<void> {
  const { asked, change, run } = answer;
  // An earlier attempt of this run merged it.
  if (run.ticket.again && change.state === "merged") return;
  // The branch's rules may require deployments.
  await run.attempt.shown();
  const involved = [...applications.map(({ application }) => application), ...skipped];
  const user = asked.by ?? change.author ?? NOBODY;
  const reload = (fresh: ChangeRequest) => openChange(fresh, { ...run, signal: undefined });
  const judged: ConfirmedMerge[] = [];
  const confirm = async () => {
    const one = await confirmMerge({ involved, deployed: applications }, { ...run, change, user, reload });
    judged.push(one);
    return one.kind === "merge" ? one.intent : undefined;
  };
  const tried = await run.host.merge(change, confirm).catch((error: unknown): MergeOutcome => {
    if (error instanceof LeaseLost) throw error;
    run.log.error({ err: error }, "could not merge");
    return { kind: "refused", reason: `${safeMessage(error).replace(/\.$/, "")}. ${BY_HAND}` };
  });
  // The base branch changed after it was confirmed.
  if (tried.kind === "barred" && judged.at(-1)?.kind === "merge") await confirm();
  const last = judged.at(-1);
  if (tried.kind === "barred" && last?.kind === "merged") return;
  await auditRun(auditFactsOfMerge(tried, last), { change, asked }, run);
  if (tried.kind === "merged") {
    run.log.info({ note: tried.note }, "merged");
    return;
  }
  const words = run.hostWords[change.host];
  const posting = postingOf("result", run);
  if (tried.kind === "queued") {
    await publish(run.host, change, [renderQueued(tried.in, change, words)], { runId: run.runId, posting });
    await run.publisher.mark(change);
    return;
  }
  const isBarred = tried.kind === "barred" && last?.kind === "barred";
  const reason = tried.kind === "refused" ? tried.reason : `its base branch changed for a moment. ${BY_HAND}`;
  const body = isBarred
    ? renderBarredMerge(last, change, words, linksOf(change, run))
    : renderMergeRefusal(reason, change, words);
  await publish(run.host, change, [body], { runId: run.runId, posting });
  if (isBarred) await run.publisher.mark(change);
}

/** Tells change requests that a rollback took over their locks. What it did stands, whether or not they can be told. */
async function tellFormerHolders(
  { takenOver: taken }: CommandResultOf<"rolled-back">,
  { asked: { by }, change, run }: Answer,
): Promise<void> {
  const holders = new Map(taken.map(({ holder }) => [identityKey(holder), holder]));
  for (const [key, known] of holders) {
    const theirs = taken.filter((lock) => identityKey(lock.holder) === key);
    const host = known.host === change.host ? run.host : run.hosts[known.host];
    if (host === undefined) continue;
    try {
      // Another repository may have the name of the lock by now.
      const holder = await host.getChangeRequest(known);
      const body = renderTakenOver(theirs, { change, login: by?.login ?? "" }, run.hostWords[holder.host], {
        hosts: hostAddresses(run.config),
      });
      await publish(host, holder, [body], { runId: run.runId, posting: { urgency: "result" } });
    } catch (error) {
      run.log.warn(
        { holder: changeRequestKey(known), err: error },
        "could not tell a change request that its lock was taken over",
      );
    }
  }
}

interface ResultSpec<K extends ResultKind> {
  /** How long its answer may wait for the host. */
  readonly urgency: (result: CommandResultOf<K>, command: Command | undefined) => Urgency;
  readonly didAsAsked: (result: CommandResultOf<K>) => boolean;
  /** Whether a new commit status follows the answer and asks the host the same questions as the next step. */
  readonly setsStatus: (result: CommandResultOf<K>) => boolean;
  /** Posts the answer and does what follows from it; returns whether it was posted. */
  readonly reply: (result: CommandResultOf<K>, answer: Answer) => Promise<boolean>;
}

const RESULTS: { readonly [K in ResultKind]: ResultSpec<K> } = {
  planned: {
    urgency: () => "plan",
    didAsAsked: () => true,
    setsStatus: () => true,
    reply: replyWithPlan,
  },
  synced: {
    urgency: () => "result",
    didAsAsked: everythingSucceeded,
    setsStatus: ({ dryRun }) => !dryRun,
    reply: replyToSync,
  },
  "rolled-back": {
    urgency: () => "result",
    didAsAsked: everythingSucceeded,
    setsStatus: () => true,
    reply: replyToRollback,
  },
  unlocked: {
    urgency: () => "plan",
    didAsAsked: () => true,
    setsStatus: () => true,
    reply: (_result, answer) => postWithStatus(answer),
  },
  updated: {
    urgency: () => "plan",
    didAsAsked: () => true,
    setsStatus: () => false,
    reply: replyToUpdate,
  },
  reverted: {
    urgency: () => "result",
    didAsAsked: () => true,
    setsStatus: () => false,
    reply: replyToRevert,
  },
  held: {
    urgency: () => "result",
    didAsAsked: () => true,
    setsStatus: () => false,
    reply: ({ hold }, answer) => replyToHolds([hold], answer),
  },
  released: {
    urgency: () => "result",
    didAsAsked: () => true,
    setsStatus: () => false,
    reply: ({ holds }, answer) => replyToHolds(holds, answer),
  },
  closed: {
    urgency: () => "plan",
    didAsAsked: () => true,
    setsStatus: () => false,
    reply: (_result, answer) => postIfInTime(answer),
  },
  help: {
    urgency: () => "help",
    didAsAsked: () => true,
    setsStatus: () => false,
    reply: (_result, answer) => postIfInTime(answer),
  },
  refused: {
    urgency: ({ refusal }, command) => urgencyOfRefusal(refusal, command),
    didAsAsked: () => false,
    setsStatus: () => false,
    reply: replyWithRefusal,
  },
};

export function urgencyOf<K extends ResultKind>(result: CommandResultOf<K>, command?: Command): Urgency {
  return RESULTS[result.kind].urgency(result, command);
}

export function didAsAsked<K extends ResultKind>(result: CommandResultOf<K>): boolean {
  return RESULTS[result.kind].didAsAsked(result);
}

/** Whether the answer is followed by a new commit status, which asks the host the same questions as the next step. */
export function setsStatus<K extends ResultKind>(result: CommandResultOf<K>): boolean {
  return RESULTS[result.kind].setsStatus(result);
}

const UNCHANGED: ReadonlySet<ResultKind> = new Set<ResultKind>(["planned", "closed", "help", "refused"]);

/** Whether the command did something that another attempt would find done. */
export function changedSomething({ kind }: CommandResult): boolean {
  return !UNCHANGED.has(kind);
}

/** Posts an answer, updates the commit status and merges. @returns Whether it was posted: the host's limit may leave out refusals and help. */
export function replyTo<K extends ResultKind>(result: CommandResultOf<K>, answer: Answer): Promise<boolean> {
  return RESULTS[result.kind].reply(result, answer);
}

/** A failure of a command that deploys is as urgent as its result. */
function urgencyOfRefusal({ reason }: Refusal, command: Command | undefined): Urgency {
  if (reason === "not-a-command") return "help";
  return reason === "failure" && command !== undefined && isDeploying(command) ? "result" : "refusal";
}

function everythingSucceeded({ applications }: CommandResultOf<"synced" | "rolled-back">): boolean {
  return applications.every(({ kind }) => kind === "succeeded");
}

async function replyWithPlan({ plan, asking }: CommandResultOf<"planned">, answer: Answer): Promise<boolean> {
  const { asked, finished, change, run, parts, posting, advised } = answer;
  const { settings, settled, earlier } = finished;
  const automatic = asked.kind === "autoplan";
  const quiet = automatic && settled.length === 0 && plan.turn === undefined;
  // Kubernetes answers while earlier plans are marked as outdated and the commit status is set. A failure is reported where the
  // answers are added to the plan.
  const onPosted = () => void asking?.answers(run.config.deployer.requestTimeout).catch(() => undefined);
  await postPlan(plan, { parts, quiet, automatic, settings, advised, earlier, posting, onPosted }, change, run);
  if (asking !== undefined) {
    const { advice, present, reviewed } = advised;
    await addAnswers(asking, { plan, next: advice?.next, present }, { change, settings, reviewed }, run);
  }
  return true;
}

async function replyWithRefusal({ refusal }: CommandResultOf<"refused">, answer: Answer): Promise<boolean> {
  const { asked, finished, change, run } = answer;
  const { settings, problems, settled } = finished;
  const posted = await postIfInTime(answer);
  if (asked.kind === "command" && asked.stage !== undefined) {
    await endStages(change, run);
    await run.publisher.mark(change);
  } else if (asked.kind === "autoplan") {
    await setCommitStatus(change, { kind: "plan-failed", reason: shortReason(refusal) }, run);
  } else if (settings !== undefined && settled.length > 0 && change.state === "open") {
    await show(change, { settings, problems }, run);
  } else if (refusal.reason === "not-deployable") {
    // The plan may lack an application, which only this command has found.
    await run.publisher.mark(change);
  }
  return posted;
}

/** A refusal's reason for the commit status; the comment has the details. */
function shortReason({ reason }: Refusal): string {
  if (reason === "repository-file") return "the repository's file cannot be used";
  return reason === "store-unavailable" ? "the lock store did not answer" : "see the comment";
}

interface PlanPosting extends Pick<Answer, "parts" | "advised" | "posting"> {
  /** Nobody waits for an answer: the commit status may say it alone. */
  readonly quiet: boolean;
  /** No command asked for it. */
  readonly automatic: boolean;
  /** Undefined if the plan ended before the settings were read: no status is set. */
  readonly settings: Settings | undefined;
  /** Our own comments on the change request, if they are known already. */
  readonly earlier: readonly OwnComment[] | undefined;
  readonly onPosted: () => void;
}

/** Posts a plan and sets the commit status, which alone says that nothing is affected where the host shows it. */
async function postPlan(
  plan: Plan,
  { parts, quiet, settings, advised, earlier, ...how }: PlanPosting,
  change: ChangeRequest,
  run: Run,
): Promise<void> {
  const { host, runId, config, log } = run;
  const own = earlier ?? (await host.listOwnComments(change));
  const byStatus = quiet && config.comments.nothingAffected === "status" && affectsNothing(plan);
  // An earlier plan would look as if it still held.
  const statusFirst = byStatus && !own.some(isCurrentPlan);
  if (settings !== undefined && statusFirst) {
    const { written } = await show(change, { settings, reviewed: advised.reviewed, withoutComment: true }, run);
    if (written) return;
  }
  const planComment = await publishPlan(host, change, parts, { ...how, runId, earlier: own, log });
  const { advice, present, reviewed } = advised;
  await noteShown({ plan, wanted: advised.startsOnApproval === true }, run);
  await postedPlan(change, { shown: { plan, next: advice?.next, present }, texts: parts, id: planComment }, run);
  if (settings !== undefined && !statusFirst) await show(change, { settings, planComment, reviewed }, run);
}

interface Answer {
  readonly asked: Answerable;
  readonly finished: Pick<Finished, "result" | "settings" | "problems" | "settled" | "earlier">;
  readonly change: ChangeRequest;
  readonly run: Run;
  readonly parts: readonly string[];
  readonly posting: Posting;
  readonly advised: Advised;
  readonly post: () => Promise<unknown>;
}

/** How an answer is posted: by its urgency, and without holding up other change requests while it waits. */
export function postingOf(urgency: Urgency, { ticket, signal }: Pick<Run, "ticket" | "signal">): Posting {
  return { urgency, signal: urgency === "plan" ? signal : undefined, onWait: () => ticket.stepAside() };
}

/** Posts an answer, but no refusal or help once the host's limit is used up: a late reply helps nobody. @returns Whether it was posted. */
async function postIfInTime({ post, posting: { urgency }, run }: Answer): Promise<boolean> {
  try {
    await post();
    return true;
  } catch (error) {
    const isLimit = error instanceof HostFailure && error.reason === "rate-limited";
    if (!isLimit || urgency === "result" || urgency === "plan") throw error;
    run.log.warn({ urgency, err: error }, "an answer was left out: the code host's limit is used up");
    return false;
  }
}

async function postWithStatus(answer: Answer): Promise<true> {
  await answer.post();
  await showLeft(answer);
  return true;
}

/** Shows what a command left behind: later, if its settings could not be read. */
async function showLeft(
  { finished: { settings, problems }, change, run, advised: { reviewed } }: Answer,
  justFailed: readonly ApplicationName[] = [],
): Promise<void> {
  if (change.state !== "open") {
    await showEnd(change, await run.deployments.ofChange(change, leavesOut(run.log)), run);
  } else if (settings === undefined) await run.publisher.mark(change);
  else await show(change, { settings, problems, justFailed, reviewed }, run);
}
