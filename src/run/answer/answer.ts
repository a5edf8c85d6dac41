import { linksOf } from "../../comments/parts.js";
import { presentOf } from "../../comments/present.js";
import { settledText } from "../../comments/progress-comment.js";
import { hasAnswered, publish } from "../../comments/publish.js";
import { byApprovalText } from "../../comments/reminder.js";
import { renderResult } from "../../comments/render.js";
import { endStages } from "../../core/commands/next-stage.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { ChangeRequest, ChangeRequestRef } from "../../core/model/change-request.js";
import { nextTurn } from "../../core/model/collections.js";
import { LeaseLost, StoreUnavailable } from "../../core/model/errors.js";
import { type CommandResult, type Refusal, type ResultKind, wasRolledBack } from "../../core/model/result.js";
import { adviceAfter } from "../../core/policy/next-step.js";
import { mayStartOnApproval } from "../around/revisit.js";
import {
  type Advised,
  type Answerable,
  type Finished,
  type GivenCommand,
  type Outcome,
  silent,
  type Silent,
} from "../line/outcome.js";
import { outsiderIn } from "../line/permit.js";
import { openChange, readChangeFacts, type Run } from "../line/run.js";
import { auditFactsOf, auditRun } from "./audit.js";
import { tellReceivers } from "./notify.js";
import { PlanComment, planTexts } from "./plan-comment.js";
import { postingOf, replyTo, setsStatus, urgencyOf } from "./results.js";
import { orLater, showAgain } from "./show.js";
import { setCommitStatus } from "./status.js";

/** Records the outcome of a command and answers it, unless there is a reason to stay silent. */
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
    const facts = auditFactsOf(result);
    const took = TIMED.has(result.kind) ? { seconds: run.attempt.seconds } : {};
    await auditRun(facts && { ...facts, ...took }, { change, asked }, run);
  }
  // What is known of an earlier attempt does not say whom it answers.
  const outsider =
    ended.outsider ?? (recorded || run.ticket.givenUp ? await outsiderIn(asked, change, run) : undefined);
  const told = tellReceivers({ ...asked, outsider: outsider !== undefined }, result, change, run);
  const posted = await reply(asked, { ...ended, outsider }, change, run);
  await told;
  return posted ? { kind: "answered", result } : silent("left-out");
}

/** Whether a comment of this run already stands as its answer, so that a refusal adds nothing; looked for without a store as well. */
export async function isAlreadyAnswered({ reason }: Refusal, change: ChangeRequestRef, run: Run): Promise<boolean> {
  if (!run.ticket.again && reason !== "store-unavailable") return false;
  try {
    return await hasAnswered(run.host, change, run.runId, "plans-too");
  } catch (error) {
    run.log.warn({ err: error }, "could not check whether the command was already answered");
    return false;
  }
}

/** The commands whose duration is audited; the others are quick. */
const TIMED: ReadonlySet<ResultKind> = new Set<ResultKind>(["planned", "synced", "rolled-back"]);

/** Posts the answer to a finished command and does what follows from it; returns whether it was posted. */
export async function reply(asked: Answerable, finished: Finished, change: ChangeRequest, run: Run): Promise<boolean> {
  const { result, outsider = asked.access === "none" ? asked.by : undefined } = finished;
  const [into, advised] = await Promise.all([run.attempt.settle(), finished.advised ?? advise(finished, change, run)]);
  const texts = await renderAnswer({ ...finished, asked }, change, advised, run);
  const parts = isByApproval(asked) ? withNote(texts, byApprovalText(asked.by, run.hostWords[change.host])) : texts;
  // An outsider waits like somebody who asks for help.
  const posting = postingOf(outsider === undefined ? urgencyOf(result, asked.command) : "help", run);
  const automatic = asked.kind === "autoplan";
  const how = { runId: run.runId, into, automatic, posting, login: outsider?.login };
  const post = () => publish(run.host, change, parts, how);
  return replyTo(result, { asked, finished, change, run, parts, posting, advised, post });
}

/** Whether an approval started the command, which nobody wrote. */
function isByApproval(asked: Answerable): asked is GivenCommand {
  return asked.kind === "command" && asked.approved !== undefined;
}

async function staySilent(outcome: Silent, asked: Answerable, change: ChangeRequest, run: Run): Promise<Silent> {
  await run.attempt.settle();
  if (asked.kind === "command" && asked.stage !== undefined && outcome.reason !== "stage-over") {
    await endStages(change, run);
  }
  switch (outcome.reason) {
    case "not-planned":
      await endStages(change, run);
      if (change.state === "open") await orLater(change, run, () => showReopened(change, run));
      return outcome;
    case "already-answered":
      // A plan sets its own status, so the earlier answer was a refusal.
      if (asked.kind === "autoplan") {
        await setCommitStatus(change, { kind: "plan-failed", reason: "see the comment" }, run);
      }
      return outcome;
    case "approved-in-vain":
    case "refused-before":
    case "closed-meanwhile":
    case "left-out":
    case "rollout-looked-at":
    case "turn-over":
    case "turn-told":
    case "loss-told":
    case "not-addressed":
    case "not-served":
    case "still-open":
    case "settled":
    case "status-updated":
    case "nothing-to-update":
    case "stage-over":
      return outcome;
  }
}

/** Saves the plan once more, which notes the applications that it shows: closing had removed them from that list. */
async function showReopened(change: ChangeRequest, run: Run): Promise<void> {
  const plan = await run.plans.find(change);
  if (plan?.head === change.headRevision) await run.plans.save(plan);
  await showAgain(change, run);
}

/** Notes the result for the next attempt, in case this one is interrupted before it answers. A plan would be made again. */
async function writeToJournal(result: CommandResult, { ticket, attempt, log }: Run): Promise<void> {
  if (result.kind === "planned") return;
  try {
    // The replica that took over has notes of its own.
    await ticket.confirm();
    await ticket.journal.write({ started: attempt.started, result });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.warn({ err: error }, "could not record the result before its answer");
  }
}

/** Works out the next step of an answer. The answer does not fail if that cannot be read. */
export async function advise(
  { result, settings, problems }: Pick<Finished, "result" | "settings" | "problems">,
  change: ChangeRequest,
  run: Run,
): Promise<Advised> {
  if (!isAdvised(result)) return {};
  // A push or a close stops a plan. Other answers are given in any case, most of all the one that says what was stopped.
  const asking = result.kind === "planned" ? run : { ...run, signal: undefined };
  try {
    // A command on a closed change request is refused before its settings are read.
    const known = settings ?? (change.state === "open" ? undefined : (await openChange(change, asking)).settings);
    if (known === undefined) return {};
    const planned = result.kind === "planned" ? { plan: result.plan } : {};
    const followed = change.state === "open" && setsStatus(result);
    const review = followed ? ("required" as const) : ("rules" as const);
    const { facts, records } = await readChangeFacts(change, known, asking, { ...planned, problems, review });
    await nextTurn();
    const advice = adviceAfter(result, facts);
    await nextTurn();
    const planUrl = facts.plan?.current === true ? await new PlanComment(change, {}, run).storedUrl() : undefined;
    if (!followed) return { advice, planUrl };
    const { approval, missingForRules } = facts;
    const reviewed = facts.untold.approval === undefined ? { approval, missingForRules } : undefined;
    const present = result.kind === "planned" ? presentOf(result.plan, change, approval, records) : undefined;
    return { advice, planUrl, reviewed, present, startsOnApproval: mayStartOnApproval(facts) };
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    asking.signal?.throwIfAborted();
    run.log.warn({ err: error }, "could not work out the next step of an answer");
    return {};
  }
}

const UNADVISED: ReadonlySet<ResultKind> = new Set(["closed", "held", "help", "released", "reverted"]);

/** Whether the answer needs advice: most refusals already say what to do or carry their next step. */
function isAdvised(result: CommandResult): boolean {
  // What was updated is another head by now.
  if (result.kind === "updated") return result.done === undefined;
  if (result.kind !== "refused") return !UNADVISED.has(result.kind);
  const { reason } = result.refusal;
  return reason === "nothing-locked" || reason === "not-locked" || reason === "closed" || reason === "repository-file";
}

/** The comments that answer a command, the last one with a note of the earlier syncs whose outcome was looked up first. */
async function renderAnswer(
  { result, settled, asked }: Pick<Finished, "result" | "settled"> & { readonly asked: Answerable },
  change: ChangeRequest,
  { advice, present, planUrl }: Advised,
  run: Run,
): Promise<readonly string[]> {
  const words = run.hostWords[change.host];
  const facts = { by: asked.by?.login, command: asked.command, seconds: run.attempt.seconds, plan: planUrl };
  const parts =
    result.kind === "planned"
      ? await planTexts({ plan: result.plan, next: advice?.next, present }, change, run)
      : renderResult(result, { ...facts, change, words, links: linksOf(change, run), comments: "all", advice });
  if (settled.length === 0) return parts;
  return withNote(parts, settledText(settled, change.state === "open" ? words : undefined, unlockedBy(result)));
}

/** The applications whose lock a command has released. */
function unlockedBy(result: CommandResult): readonly ApplicationName[] {
  if (result.kind === "unlocked") return result.released;
  if (!("dryRun" in result) || result.dryRun) return [];
  return result.applications.flatMap((one) =>
    one.kind === "succeeded" || wasRolledBack(one) ? [one.application] : [],
  );
}

/** The size limit of a comment leaves room for the note. */
function withNote(parts: readonly string[], note: string): readonly string[] {
  return parts.map((part, index) => (index === parts.length - 1 ? `${part}\n\n${note}` : part));
}
