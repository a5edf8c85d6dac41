import { isDeploying } from "../../core/commands/commands.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { HeadMoved, LeaseLost, safeMessage, StoreUnavailable } from "../../core/model/errors.js";
import type { Refusal } from "../../core/model/result.js";
import { Stopped, type StopReason } from "../../core/ports/event-queue.js";
import { SERVICE } from "../../names.js";
import type { Answerable } from "./asked.js";
import { openChange, plansAutomatically } from "./context.js";
import { isAlreadyAnswered } from "./recover.js";
import type { Run } from "./run.js";

/** How to answer a run that broke or was stopped; undefined if there is nothing to say. */
export async function explainFailure(
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
  if (reason === "shutdown") {
    return { reason: "failure", message: `${SERVICE} was restarted before the command started` };
  }
  if (command !== undefined && isDeploying(command)) {
    return reason === "pushed" ? { reason: "head-moved" } : { reason: "closed", state: "closed" };
  }
  if (reason === "closed") return { reason: "superseded", by: "closed" };
  return (await willReplan(change, run)) ? undefined : { reason: "superseded", by: "pushed" };
}

/** Whether the push that stopped a plan starts an automatic plan, which then is the answer. */
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
