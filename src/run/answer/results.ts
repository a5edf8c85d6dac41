import { isDeploying } from "../../core/commands/commands.js";
import type { Command } from "../../core/model/command.js";
import type { CommandResultOf, Refusal, ResultKind } from "../../core/model/result.js";
import type { Urgency } from "../../core/ports/code-host.js";
import { postPlan } from "./post-plan.js";
import { postIfInTime, postWithStatus, type Answer } from "./posting.js";
import { replyToRollback, replyToSync } from "./reply-to-deployment.js";
import { setCommitStatus, setPlanStatus } from "./status.js";

/** What the line does with a result. */
interface ResultSpec<K extends ResultKind> {
  /** How long its answer may wait for the host. */
  readonly urgency: (result: CommandResultOf<K>, command: Command | undefined) => Urgency;
  /** Whether the command did everything that it was asked to do. */
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

/** Whether a command did everything that it was asked to do. */
export function didAsAsked<K extends ResultKind>(result: CommandResultOf<K>): boolean {
  return RESULTS[result.kind].didAsAsked(result);
}

/** Whether the answer is followed by a new commit status, which asks the host the same questions as the next step. */
export function setsStatus<K extends ResultKind>(result: CommandResultOf<K>): boolean {
  return RESULTS[result.kind].setsStatus(result);
}

/**
 * Posts an answer, updates the commit status and merges.
 * @returns Whether it was posted: refusals and help are left out while the host's limit of comments is used up.
 */
export function replyTo<K extends ResultKind>(result: CommandResultOf<K>, answer: Answer): Promise<boolean> {
  return RESULTS[result.kind].reply(result, answer);
}

/** A deployment that broke has a result as well. */
function urgencyOfRefusal({ reason }: Refusal, command: Command | undefined): Urgency {
  if (reason === "not-a-command") return "help";
  return reason === "failure" && command !== undefined && isDeploying(command) ? "result" : "refusal";
}

function everythingSucceeded({ applications }: CommandResultOf<"synced" | "rolled-back">): boolean {
  return applications.every(({ kind }) => kind === "succeeded");
}

async function replyWithPlan({ plan, turn }: CommandResultOf<"planned">, answer: Answer): Promise<boolean> {
  const { asked, finished, change, run, parts, posting, reviewed } = answer;
  const { settings, settled, earlier } = finished;
  const automatic = asked.kind === "autoplan";
  const quiet = automatic && settled.length === 0 && turn === undefined;
  await postPlan(plan, { parts, quiet, automatic, settings, reviewed, earlier, posting }, change, run);
  return true;
}

async function replyWithRefusal({ refusal }: CommandResultOf<"refused">, answer: Answer): Promise<boolean> {
  const { asked, finished, change, run } = answer;
  const { settings, settled } = finished;
  const posted = await postIfInTime(answer);
  if (asked.kind === "autoplan") {
    await setCommitStatus(change, { kind: "plan-failed", reason: shortReason(refusal) }, run);
  } else if (settings !== undefined && settled.length > 0 && change.state === "open") {
    await setPlanStatus(change, { settings }, run);
  }
  return posted;
}

/** For the commit status; the comment has the details. */
function shortReason({ reason }: Refusal): string {
  if (reason === "repository-file") return "the repository's file cannot be used";
  return reason === "store-unavailable" ? "the lock store did not answer" : "see the comment";
}
