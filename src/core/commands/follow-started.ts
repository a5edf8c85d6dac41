import { confirmHealth, failure } from "../deploy/confirm-health.js";
import { settleRollback, settleSync } from "../deploy/settle.js";
import { endUndo, undo, undoIdOf, type NotHealthySync } from "../deploy/undo.js";
import type { LiveApplication } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import type { DeployingCommand } from "../model/command.js";
import type { Deployment } from "../model/deployment.js";
import { safeMessage } from "../model/errors.js";
import type { SyncProgress } from "../model/progress.js";
import type { ApplicationSync, SyncOutcome } from "../model/result.js";
import type { StartedApplication } from "../model/run-notes.js";
import { specEqual } from "../model/spec-equality.js";
import type { CommandContext } from "../ports/context.js";

/** How an operation of the earlier attempt ended, and what is left to do about it: it may have to get healthy. */
export interface FollowedOperation {
  readonly operation: ApplicationSync;
  readonly confirm: () => Promise<ApplicationSync>;
}

export function isFollowed(one: FollowedOperation | undefined): one is FollowedOperation {
  return one !== undefined;
}

function over(operation: ApplicationSync): FollowedOperation {
  return { operation, confirm: () => Promise.resolve(operation) };
}

/** Undefined if the operation never reached Argo CD. */
export async function followStarted(
  { application, lastOperation, pins }: StartedApplication,
  command: DeployingCommand,
  context: CommandContext,
): Promise<FollowedOperation | undefined> {
  const { deployer, deployments, change, runId, progress } = context;
  // A dry run writes no record; one that exists is of another command.
  const records = command.dryRun ? [] : await deployments.ofChange(change);
  const record = records.find((one) => one.application === application);
  const onProgress = (reported: SyncProgress) => progress(application, { kind: "running", ...reported });
  let outcome: SyncOutcome | undefined;
  let warnings: readonly string[] = command.name === "sync" && record?.reverted !== undefined ? [record.reverted] : [];
  try {
    const live = await deployer.findApplication(application);
    if (live === undefined) return over(unknown(application, "the application no longer exists"));
    const undone = await followUndo(live, record, command, context);
    if (undone !== undefined) return undone;
    const spec = command.name === "sync" ? (record?.specWritten ?? live.spec) : live.spec;
    const at = pins.length === 0 ? "target" : pins;
    outcome = await deployer.follow({ application: { ...live, spec }, at, runId, onProgress });
    outcome ??= writtenDown(record, command, runId);
    if (outcome === undefined) {
      if (live.lastOperation === lastOperation) return undefined;
      return over(unknown(application, "another operation took the place of this one, so its outcome is not known"));
    }
    if (outcome.kind === "failed" && keepsWritten(record, live.spec)) warnings = [...warnings, specLeft(context)];
  } catch (error) {
    context.log.warn({ application, err: error }, "could not look up an operation from before the restart");
    return over(unknown(application, safeMessage(error)));
  }
  const overridden = command.name === "sync" && record?.runId === runId ? record.overridden : undefined;
  if (record?.runId === runId && record.health !== undefined && outcome.kind === "succeeded") {
    const operation: ApplicationSync = { application, ...outcome, overridden, warnings };
    // An earlier attempt that wrote a success down has seen it healthy.
    if (record.outcome !== "succeeded") {
      return { operation, confirm: () => confirmHealth(operation, record, command, context) };
    }
  }
  const kept = await writeDown(application, outcome, record, command, context);
  return over({ application, ...outcome, overridden, warnings: kept === undefined ? warnings : [...warnings, kept] });
}

/**
 * The rollback by which the earlier attempt took back what did not get healthy; it is started if it did not come to that.
 * Undefined if there is none.
 */
async function followUndo(
  live: LiveApplication,
  record: Deployment | undefined,
  command: DeployingCommand,
  context: CommandContext,
): Promise<FollowedOperation | undefined> {
  const { deployer, runId } = context;
  if (command.name !== "sync" || command.dryRun) return undefined;
  const undoing = record?.runId === runId ? record.undoing : undefined;
  // A record that is gone may have been ended by the rollback.
  if (record !== undefined && undoing === undefined) return undefined;
  const outcome = await deployer.follow({ application: live, at: "target", runId: undoIdOf(runId) });
  if (outcome === undefined && undoing === undefined) return undefined;
  const { health, message } = undoing ?? { health: "Unknown", message: "it did not get healthy" };
  const failed: NotHealthySync = { ...failure(health, message, []), warnings: [] };
  const name = { application: live.name, overridden: record?.overridden };
  const operation: ApplicationSync = { ...name, ...failed };
  const confirm = async (): Promise<ApplicationSync> => {
    if (outcome !== undefined) {
      return { ...name, ...(await endUndo(record ?? live.name, failed, outcome, context)) };
    }
    return record === undefined ? operation : { ...name, ...(await undo(record, failed, command, context)) };
  };
  return { operation, confirm };
}

/** Argo CD remembers only the last operation; our record may say how an earlier one ended. */
function writtenDown(
  record: Deployment | undefined,
  { name }: DeployingCommand,
  runId: string,
): SyncOutcome | undefined {
  if (name !== "sync" || record?.runId !== runId) return undefined;
  const message = "another operation ran after it";
  if (record.outcome === "failed") return { kind: "failed", message, resources: [] };
  if (record.outcome !== "succeeded") return undefined;
  return {
    kind: "succeeded",
    message,
    resources: [],
    revisions: [],
    pruneSkipped: 0,
    health: "Unknown",
    unhealthy: [],
  };
}

function keepsWritten(record: Deployment | undefined, live: Deployment["specBefore"]): boolean {
  return record?.specWritten !== undefined && specEqual(record.specWritten, live);
}

function specLeft({ change, hostWords }: CommandContext): string {
  return `svc was restarted meanwhile, and its definition is still the one of this ${hostWords[change.host].short}: run the rollback command to restore it`;
}

function unknown(application: ApplicationName, message: string): ApplicationSync {
  return { application, warnings: [], kind: "unknown", message };
}

export async function writeDown(
  application: ApplicationName,
  outcome: SyncOutcome,
  record: Deployment | undefined,
  { name, dryRun }: DeployingCommand,
  context: CommandContext,
): Promise<string | undefined> {
  if (dryRun) return undefined;
  if (name === "sync") return record?.runId === context.runId ? settleSync(record, outcome, context) : undefined;
  return settleRollback(application, outcome.kind, record, context);
}
