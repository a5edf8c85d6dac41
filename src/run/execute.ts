import type { Settings } from "../config/settings.js";
import { close } from "../core/commands/close.js";
import { runCommand } from "../core/commands/commands.js";
import type { Settled } from "../core/deploy/settle-records.js";
import type { ChangeRequest } from "../core/model/change-request.js";
import type { TellProgress } from "../core/model/progress.js";
import type { CommandResult } from "../core/model/result.js";
import type { OwnComment } from "../core/ports/code-host.js";
import { auditClose } from "./audit-run.js";
import { toldBefore } from "./broken-run.js";
import { commandContext } from "./command-context.js";
import { openChange } from "./open-change.js";
import { mayNot, plansByItself } from "./permitted.js";
import { resumeRun } from "./resume-run.js";
import type { Asked, Run } from "./run.js";
import { settleEarlier } from "./settle-earlier.js";
import { wasWrittenBeforePlan } from "./written-before-plan.js";

/** What became of what was asked for. */
export interface Executed {
  readonly result: CommandResult;
  /** Undefined where the command came to its end before the settings were read. */
  readonly settings: Settings | undefined;
  /** Earlier syncs whose end was looked up before. */
  readonly settled: readonly Settled[];
  /** What svc said on the change request before, of a plan; undefined where it is not known yet. */
  readonly earlier?: readonly OwnComment[] | undefined;
  /** An earlier attempt of the run wrote it down, before it was cut off. */
  readonly noted?: boolean;
}

/**
 * Why nothing was run and nothing is to be said: an event that plans nothing by itself, a person who was told before, or
 * a run that had told its end before it was cut off.
 */
export type Silence = "not-planned" | "told-before" | "closed-meanwhile" | "answered-before";

/** Runs a command. A refusal is nothing to say after an earlier attempt of the run that has answered. */
export async function execute(
  asked: Asked,
  change: ChangeRequest,
  run: Run,
  progress: TellProgress,
): Promise<Executed | Silence> {
  const executed = await decideAndRun(asked, change, run, progress);
  if (typeof executed === "string" || executed.noted === true || executed.result.kind !== "refused") return executed;
  return (await toldBefore(executed.result.refusal, change, run)) ? "answered-before" : executed;
}

/** Asks whether the command is allowed, reads the settings and runs it. */
async function decideAndRun(
  asked: Asked,
  change: ChangeRequest,
  run: Run,
  progress: TellProgress,
): Promise<Executed | Silence> {
  const { command, by, commentId } = asked;
  if (run.ticket.again) {
    const resumed = await resumeRun(asked, change, run, progress);
    if (resumed === "answered-before") return resumed;
    if (resumed !== undefined) return { ...resumed, settled: [] };
  }
  if (command === "not-a-command") return refusedBefore({ reason: "not-a-command" });
  if (by === undefined && !plansByItself(change, run.config)) return "not-planned";
  const refusal = by === undefined ? undefined : await mayNot(command, by, change, run);
  if (refusal === "told-before") return "told-before";
  if (refusal !== undefined) return refusedBefore(refusal);
  if (command.name === "help") return { result: { kind: "help" }, settings: undefined, settled: [] };
  await run.locks.ping();
  const settled = await settleEarlier(change, run);
  const { settings, problems, snapshot } = await openChange(change, run);
  if (by === undefined && !settings.autoplan) return "not-planned";
  if (problems.length > 0 && (command.name === "plan" || command.name === "sync")) {
    return { result: { kind: "refused", refusal: { reason: "repository-file", problems } }, settings, settled };
  }
  if (command.name === "sync" && (await wasWrittenBeforePlan(commentId, change, run.host))) {
    return { result: { kind: "refused", refusal: { reason: "plan-unseen" } }, settings, settled };
  }
  const result = await runCommand(command, commandContext(by, change, { settings, snapshot }, { run, progress }));
  const [ended, earlier] = await Promise.all([
    endIfClosed(change, run),
    result.kind === "planned" ? earlierComments(change, run) : undefined,
  ]);
  if (ended === undefined || result.kind !== "planned") return { result, settings, settled, earlier };
  return by === undefined ? "closed-meanwhile" : refusedBefore({ reason: "closed", state: ended });
}

function refusedBefore(refusal: Extract<CommandResult, { kind: "refused" }>["refusal"]): Executed {
  return { result: { kind: "refused", refusal }, settings: undefined, settled: [] };
}

/** Undefined when the host does not tell: whoever needs them asks again, and says what went wrong. */
async function earlierComments(change: ChangeRequest, run: Run): Promise<readonly OwnComment[] | undefined> {
  return run.host.listOwnComments(change).catch(() => undefined);
}

/**
 * A change request may be closed while a command takes locks, and its event may be handled elsewhere before the last of
 * them is taken: whoever took locks looks once more, and a closed one keeps none.
 */
async function endIfClosed(change: ChangeRequest, run: Run): Promise<"closed" | "merged" | undefined> {
  try {
    const state = await run.host.state(change);
    if (state === "open") return undefined;
    const merged = state === "merged";
    await auditClose(await close(change, merged, run), { ...change, merged }, run);
    return state;
  } catch (error) {
    run.log.warn({ err: error }, "could not look whether the change request was closed meanwhile");
    return undefined;
  }
}
