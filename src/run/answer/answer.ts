import { publish } from "../../comments/publish.js";
import { auditFactsOf } from "../../core/commands/audit-facts.js";
import type { ChangeRequest, User } from "../../core/model/change-request.js";
import { StoreUnavailable } from "../../core/model/errors.js";
import type { CommandResult } from "../../core/model/result.js";
import { isNoted } from "../../core/model/run-notes.js";
import type { Answerable } from "../line/asked.js";
import { silent, type Finished, type Outcome, type Silent } from "../line/outcome.js";
import { outsiderIn } from "../line/permit.js";
import { isAlreadyAnswered } from "../line/recover.js";
import type { Run } from "../line/run.js";
import { advise } from "./advise.js";
import { auditRun } from "./audit.js";
import { tellReceivers } from "./notify.js";
import { postingOf } from "./posting.js";
import { renderAnswer } from "./render-answer.js";
import { replyTo, urgencyOf } from "./results.js";
import { setCommitStatus, setDetectedStatus } from "./status.js";

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

/** Posts the answer to a finished command and does what follows from it; returns whether it was posted. */
export async function reply(asked: Answerable, finished: Finished, change: ChangeRequest, run: Run): Promise<boolean> {
  const { result, outsider = outsiderOf(asked) } = finished;
  const [into, { advice, reviewed }] = await Promise.all([run.attempt.settle(), advise(finished, change, run)]);
  const parts = await renderAnswer(finished, change, advice, run);
  // An outsider waits like somebody who asks for help.
  const posting = postingOf(outsider === undefined ? urgencyOf(result, asked.command) : "help", run);
  const automatic = asked.kind === "autoplan";
  const how = { runId: run.runId, into, automatic, posting, login: outsider?.login };
  const post = () => publish(run.host, change, parts, how);
  return replyTo(result, { asked, finished, change, run, parts, posting, reviewed, post });
}

function outsiderOf({ access, by }: Answerable): User | undefined {
  return access === "none" ? by : undefined;
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

/** For the next attempt, if this one is interrupted before it answers. */
async function writeToJournal(result: CommandResult, { ticket, attempt, log }: Run): Promise<void> {
  if (!isNoted(result)) return;
  try {
    await ticket.journal.write({ started: attempt.started, result });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.warn({ err: error }, "could not record the result before its answer");
  }
}
