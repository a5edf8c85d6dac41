import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest, type ChangeRequestRef } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";
import { StoreUnavailable } from "../model/errors.js";
import { endOf } from "../model/progress.js";
import type { Clock } from "../ports/clock.js";
import type { DeployOutcome, SettleContext } from "./deploy.js";

/** A sync that Argo CD refused before anything was written: the record returns to what it was. */
interface Untouched {
  readonly kind: "untouched";
  readonly earlier: Deployment | undefined;
}

/** Updates record and lock after a sync. Returns a sentence for people if the store stays unavailable. */
export async function settleSync(
  record: Deployment,
  outcome: DeployOutcome | Untouched,
  context: SettleContext,
): Promise<string | undefined> {
  const { application } = record;
  return settle(application, context, [
    () => writeOutcome(record, outcome, context),
    ...(outcome.kind === "succeeded" ? [() => endDeployment(application, context.change, context)] : []),
  ]);
}

/**
 * Updates record and lock after a rollback. A success ends both. If it did not succeed, the head is no longer known to run,
 * so that nothing is merged. Returns a sentence for people if the store stays unavailable.
 */
export async function settleRollback(
  application: ApplicationName,
  outcome: DeployOutcome["kind"],
  record: Deployment | undefined,
  context: SettleContext,
): Promise<string | undefined> {
  const { deployments, locks, change } = context;
  switch (outcome) {
    case "rejected":
      return undefined;
    case "succeeded":
      return settle(application, context, [
        () => deployments.remove(application, change),
        () => locks.release(application, change),
      ]);
    case "failed":
    case "running":
    case "unknown":
      if (record === undefined) return undefined;
      return settle(application, context, [() => deployments.save({ ...record, outcome: "failed" })]);
  }
}

/** A deployed head replaces what other change requests deployed before, and needs no lock any more. */
export async function endDeployment(
  application: ApplicationName,
  change: ChangeRequestRef,
  { deployments, locks }: Pick<SettleContext, "deployments" | "locks">,
): Promise<void> {
  const records = await deployments.ofApplication(application);
  const replaced = records.filter((record) => !sameChangeRequest(record.change, change));
  await Promise.all(replaced.map((record) => deployments.remove(application, record.change)));
  await locks.release(application, change);
}

/** Runs the writes in order, each repeated while the store is unavailable. */
async function settle(
  application: ApplicationName,
  { clock, log }: Pick<SettleContext, "clock" | "log">,
  writes: readonly (() => Promise<unknown>)[],
): Promise<string | undefined> {
  try {
    for (const write of writes) await retryWhileUnavailable(clock, write);
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.error({ application, err: error }, "could not update lock and record");
    return "the store did not answer afterwards: its lock is kept until the next command or until it expires";
  }
}

async function writeOutcome(
  record: Deployment,
  outcome: DeployOutcome | Untouched,
  { deployments }: Pick<SettleContext, "deployments">,
): Promise<void> {
  if (outcome.kind !== "untouched") {
    return deployments.save({ ...record, outcome: endOf(outcome), undoing: undefined });
  }
  if (outcome.earlier !== undefined) return deployments.save(outcome.earlier);
  return deployments.remove(record.application, record.change);
}

const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15_000];

/**
 * Repeats a write to the store for about half a minute while the store is unavailable. The write must be idempotent:
 * one that failed may have happened.
 * @throws {StoreUnavailable} if the store stays unavailable.
 */
export async function retryWhileUnavailable(clock: Clock, write: () => Promise<unknown>): Promise<void> {
  for (const pause of [...PAUSES_MS, undefined]) {
    try {
      await write();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || pause === undefined) throw error;
      await clock.sleep(pause);
    }
  }
}
