import { hasTold } from "../comments/repost.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HeadMoved, LeaseLost, safeMessage, StoreUnavailable } from "../core/model/errors.js";
import type { Refusal } from "../core/model/result.js";
import type { StopReason } from "../core/ports/event-queue.js";
import { Stopped } from "../core/ports/stop.js";
import { loadSettings } from "./load-settings.js";
import { plansByItself } from "./permitted.js";
import type { Asked, Run } from "./run.js";

/** What to answer when a run broke; undefined when nothing is to be said. */
export async function refusalFor(
  error: unknown,
  asked: Asked,
  change: ChangeRequestRef,
  run: Run,
): Promise<Refusal | undefined> {
  const refusal = await refusalOf(error, asked, change, run);
  return refusal === undefined || (await toldBefore(refusal, change, run)) ? undefined : refusal;
}

/**
 * What stands there is the answer: a run that is repeated, or a delivery that comes twice while the store is away, which
 * knows nothing of the first, does not add that it failed.
 */
export async function toldBefore({ reason }: Refusal, change: ChangeRequestRef, run: Run): Promise<boolean> {
  if (!run.ticket.again && reason !== "store-unavailable") return false;
  try {
    return await hasTold(run.host, change, run.run, "plans-too");
  } catch (error) {
    run.log.warn({ err: error }, "whether the command was answered before could not be looked up");
    return false;
  }
}

async function refusalOf(
  error: unknown,
  asked: Asked,
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
    log.error({ err: error }, "the store is away; nothing was run");
    return { reason: "store-unavailable" };
  }
  log.error({ err: error }, "command failed");
  return { reason: "failure", message: safeMessage(error) };
}

async function refusalForStop(
  reason: StopReason,
  asked: Asked,
  change: ChangeRequestRef,
  run: Run,
): Promise<Refusal | undefined> {
  if (asked.by === undefined || reason === "handed-back") return undefined;
  if (reason === "shutdown") return { reason: "failure", message: "svc was restarted before the command had begun" };
  if (asked.command !== "not-a-command" && asked.command.name === "sync") {
    return reason === "pushed" ? { reason: "head-moved" } : { reason: "closed", state: "closed" };
  }
  if (reason === "closed") return { reason: "superseded", by: "closed" };
  return (await willReplan(change, run)) ? undefined : { reason: "superseded", by: "pushed" };
}

/** Whether the push that stopped a plan brings an automatic plan, which then is the answer. */
async function willReplan(change: ChangeRequestRef, run: Run): Promise<boolean> {
  const { config } = run;
  try {
    const fresh = await run.host.getChangeRequest(change);
    if (!plansByItself({ ...fresh, state: "open" }, config)) return false;
    const snapshot = await run.repositories.open(fresh, await run.host.cloneSource(fresh));
    return (await loadSettings(config, fresh, snapshot)).settings.autoplan;
  } catch {
    return config.defaults.autoplan;
  }
}
