import { isAutoSynced, specEqual } from "../model/application-spec.js";
import type { LiveApplication } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef, sameChangeRequest } from "../model/change-request.js";
import type { DeployingCommand } from "../model/command.js";
import type { Deployment } from "../model/deployment.js";
import { DeployerFailure, LeaseLost, neverStarted, safeMessage, StoreUnavailable } from "../model/errors.js";
import { referenceTo } from "../model/host-words.js";
import type { ApplicationSync, AutomaticRollback, SyncOutcome } from "../model/result.js";
import type { DeployContext, SettleContext } from "./deploy.js";
import { settleRollback, settleSync } from "./settle.js";

/** A sync that left its application unhealthy, with the warnings for its answer. */
export type NotHealthySync = Extract<SyncOutcome, { kind: "failed" }> & Pick<ApplicationSync, "warnings">;

/** The id of a run's automatic rollback in Argo CD, by which an attempt after a crash finds it. */
export function undoIdOf(runId: string): string {
  return `${runId}-rollback`;
}

/**
 * Deploys the target branch again, as the rollback command does, unless somebody else has deployed the application since.
 * The record says so before the first write: a later attempt of the run follows this rollback and starts no second one.
 */
export async function undo(
  record: Deployment,
  failed: NotHealthySync,
  command: DeployingCommand,
  context: DeployContext,
): Promise<NotHealthySync> {
  const { application } = record;
  const { deployer, deployments, settings, change, progress, runId, log } = context;
  const message = failed.message;
  const undoing = { health: failed.notHealthy?.health ?? "Unknown", message };
  try {
    const live = await deployer.findApplication(application);
    const obstacle = await obstacleTo(record, live, context);
    if (obstacle !== undefined || live === undefined) {
      return await keep(
        record,
        failed,
        { kind: "skipped", message: obstacle ?? "the application no longer exists" },
        context,
      );
    }
    await deployments.save({ ...record, undoing });
    log.warn({ application, health: undoing.health }, "rolling back an application that did not get healthy");
    const spec = restored(record, live);
    if (spec !== live.spec) await deployer.updateSpec(live, spec);
    const outcome = await deployer.sync({
      application: { ...live, spec },
      at: "target",
      dryRun: false,
      prune: command.prune || settings.prune,
      runId: undoIdOf(runId),
      change: changeRequestRef(change),
      onProgress: (reported) => progress(application, { kind: "running", ...reported }),
    });
    return await endUndo(record, failed, outcome, context);
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    if (!(error instanceof DeployerFailure) && !(error instanceof StoreUnavailable)) throw error;
    log.warn({ application, err: error }, "could not roll back an application that did not get healthy");
    const kind = neverStarted(error) ? "failed" : "unknown";
    return keep(record, failed, { kind, message: safeMessage(error) }, context);
  }
}

/**
 * Writes down how the rollback ended: a success releases the lock and ends the record.
 * @param record the application's name if its record is gone.
 */
export async function endUndo(
  record: Deployment | ApplicationName,
  failed: NotHealthySync,
  outcome: SyncOutcome,
  context: SettleContext,
): Promise<NotHealthySync> {
  switch (outcome.kind) {
    case "succeeded": {
      const unsettled = await settleRollback(nameOf(record), outcome.kind, undefined, context);
      return ended(failed, { kind: "succeeded", message: "" }, unsettled);
    }
    case "failed":
      return keep(record, failed, { kind: "failed", message: outcome.message }, context);
    case "running":
    case "unknown":
      return keep(record, failed, { kind: "unknown", message: outcome.message }, context);
  }
}

function nameOf(record: Deployment | ApplicationName): ApplicationName {
  return typeof record === "string" ? record : record.application;
}

async function keep(
  record: Deployment | ApplicationName,
  failed: NotHealthySync,
  rollback: AutomaticRollback,
  context: SettleContext,
): Promise<NotHealthySync> {
  const unsettled = typeof record === "string" ? undefined : await settleSync(record, failed, context);
  return ended(failed, rollback, unsettled);
}

function ended(failed: NotHealthySync, rollback: AutomaticRollback, unsettled: string | undefined): NotHealthySync {
  const notHealthy = { health: failed.notHealthy?.health ?? "Unknown", rollback };
  return {
    ...failed,
    notHealthy,
    warnings: unsettled === undefined ? failed.warnings : [...failed.warnings, unsettled],
  };
}

/** The definition from before the first sync of this change request, if the live one is still what it wrote. */
function restored({ specBefore, specWritten }: Deployment, live: LiveApplication): LiveApplication["spec"] {
  return specWritten !== undefined && specEqual(live.spec, specWritten) ? specBefore : live.spec;
}

/** Why svc does not roll the application back by itself; undefined if it does. */
async function obstacleTo(
  record: Deployment,
  live: LiveApplication | undefined,
  { deployer, deployments, locks, change, hostWords, runId }: DeployContext,
): Promise<string | undefined> {
  if (live === undefined) return "the application no longer exists";
  const words = hostWords[change.host];
  const [records, lock] = await Promise.all([
    deployments.ofApplication(record.application),
    locks.find(record.application),
  ]);
  const since = records.find(
    (other) => !sameChangeRequest(other.change, change) && Date.parse(other.timestamp) >= Date.parse(record.timestamp),
  );
  if (since !== undefined) return `${referenceTo(since.change, change, words)} was deployed to it since`;
  if (lock === undefined || !sameChangeRequest(lock.holder, change)) {
    return `its lock is no longer this ${words.short}'s`;
  }
  if (isAutoSynced(live.spec)) return "auto-sync was turned on since";
  if (![record.specWritten, record.specBefore].some((spec) => spec !== undefined && specEqual(spec, live.spec))) {
    return `its definition is not the one of this ${words.short}`;
  }
  const at = record.pins.length === 0 ? "target" : record.pins;
  const spec = record.specWritten ?? live.spec;
  const ours = await deployer.findOutcome({ application: { ...live, spec }, at, runId });
  return ours === undefined ? "another operation ran in Argo CD since" : undefined;
}
