import { settleRollback, settleSync } from "../deploy/settle.js";
import { movingPositions } from "../detect/inputs/moving-sources.js";
import type { ApplicationName } from "../model/brand.js";
import type { DeployingCommand } from "../model/command.js";
import type { Deployment } from "../model/deployment.js";
import { safeMessage } from "../model/errors.js";
import type { SyncProgress } from "../model/progress.js";
import type { ApplicationSync, CommandResult, SyncedResult, SyncOutcome } from "../model/result.js";
import type { RunNotes, StartedApplication } from "../model/run-notes.js";
import { specEqual } from "../model/spec-equality.js";
import { decideMerge } from "../policy/auto-merge.js";
import type { CommandContext } from "../ports/context.js";
import { rollback } from "./rollback.js";
import { releaseSkipped, sync } from "./sync.js";

/**
 * Finishes what an earlier attempt of this run started to deploy. Operations that reached Argo CD are followed, never
 * repeated; those that certainly did not are started after all checks. Undefined if none reached it, although some should.
 */
export async function resumeDeployment(
  command: DeployingCommand,
  { started = [], skipped = [] }: Pick<RunNotes, "started" | "skipped">,
  context: CommandContext,
): Promise<CommandResult | undefined> {
  const followed = await Promise.all(started.map((one) => follow(one, command, context)));
  const applications = followed.filter((one) => one !== undefined);
  if (applications.length === 0 && started.length > 0) return undefined;
  const missing = started.map(({ application }) => application).filter((_, index) => followed[index] === undefined);
  const restarted =
    missing.length === 0 ? undefined : await startMissing(command, missing, { started, skipped }, context);
  const all = [...applications, ...rest(restarted, missing)];
  const { dryRun } = command;
  if (command.name === "rollback") {
    const takenOver = restarted?.kind === "rolled-back" ? restarted.takenOver : [];
    return { kind: "rolled-back", dryRun, applications: all, takenOver };
  }
  const involved = [...started.map(({ application }) => application), ...skipped];
  const unchanged = dryRun ? skipped : await releaseSkipped(skipped, context);
  const plan = await context.plans.find(context.change);
  return {
    kind: "synced",
    dryRun,
    applications: all,
    announced: restarted?.kind === "synced" ? restarted.announced : [],
    skipped: [...unchanged, ...(restarted?.kind === "synced" ? restarted.skipped : [])],
    replaced: restarted?.kind === "synced" ? restarted.replaced : [],
    ...(await decideMerge({ dryRun, involved, deployed: all, plan }, context)),
  };
}

/**
 * The noted result of a sync that was about to be merged. Decides again whether to merge: since then the change request
 * may have got another commit, lost its approval, or been closed.
 */
export async function resumeSynced(result: SyncedResult, context: CommandContext): Promise<SyncedResult> {
  const { state } = context.change;
  if (state === "merged") return result;
  if (state === "closed") return { ...result, merge: undefined };
  const involved = result.applications.map(({ application }) => application);
  const plan = await context.plans.find(context.change);
  const deployed = result.applications;
  return { ...result, ...(await decideMerge({ dryRun: result.dryRun, involved, deployed, plan }, context)) };
}

/** Undefined if the operation never reached Argo CD. */
async function follow(
  { application, lastOperation }: StartedApplication,
  command: DeployingCommand,
  context: CommandContext,
): Promise<ApplicationSync | undefined> {
  const { deployer, deployments, change, runId, progress } = context;
  // A dry run writes no record; one that exists is of another command.
  const records = command.dryRun ? [] : await deployments.ofChange(change);
  const record = records.find((one) => one.application === application);
  const onProgress = (reported: SyncProgress) => progress(application, { kind: "running", ...reported });
  let outcome: SyncOutcome | undefined;
  let warnings: readonly string[] = command.name === "sync" && record?.reverted !== undefined ? [record.reverted] : [];
  try {
    const live = await deployer.findApplication(application);
    if (live === undefined) return unknown(application, "the application no longer exists");
    const spec = command.name === "sync" ? (record?.specWritten ?? live.spec) : live.spec;
    const pins = movingPositions(spec, change).map((position) => ({
      position,
      revision: record?.revision ?? change.headRevision,
    }));
    const at = command.name === "rollback" || pins.length === 0 ? "target" : pins;
    outcome = await deployer.follow({ application: { ...live, spec }, at, runId, onProgress });
    outcome ??= writtenDown(record, command, runId);
    if (outcome === undefined) {
      if (live.lastOperation === lastOperation) return undefined;
      return unknown(application, "another operation took the place of this one, so its outcome is not known");
    }
    if (outcome.kind === "failed" && keepsWritten(record, live.spec)) warnings = [...warnings, SPEC_LEFT];
  } catch (error) {
    context.log.warn({ application, err: error }, "could not look up an operation from before the restart");
    return unknown(application, safeMessage(error));
  }
  const kept = await writeDown(application, outcome, record, command, context);
  return { application, ...outcome, warnings: kept === undefined ? warnings : [...warnings, kept] };
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
  return { kind: "succeeded", message, resources: [], pruneSkipped: 0, health: "Unknown", unhealthy: [] };
}

function keepsWritten(record: Deployment | undefined, live: Deployment["specBefore"]): boolean {
  return record?.specWritten !== undefined && specEqual(record.specWritten, live);
}

const SPEC_LEFT =
  "svc was restarted meanwhile, and its definition is still the one of this PR: run the rollback command to restore it";

function unknown(application: ApplicationName, message: string): ApplicationSync {
  return { application, warnings: [], kind: "unknown", message };
}

async function writeDown(
  application: ApplicationName,
  outcome: SyncOutcome,
  record: Deployment | undefined,
  { name, dryRun }: DeployingCommand,
  context: CommandContext,
): Promise<string | undefined> {
  if (dryRun) return undefined;
  if (name === "sync") return record?.runId === context.runId ? settleSync(record, outcome, context) : undefined;
  return outcome.kind === "succeeded" ? settleRollback(application, context) : undefined;
}

/** Runs the command for the applications that never started, and keeps the notes of the others. */
async function startMissing(
  command: DeployingCommand,
  missing: readonly ApplicationName[],
  { started, skipped }: Required<Pick<RunNotes, "started" | "skipped">>,
  context: CommandContext,
): Promise<CommandResult> {
  const narrowed: CommandContext = {
    ...context,
    noteStarted: (more, moreSkipped) => {
      const others = started.filter(({ application }) => !more.some((one) => one.application === application));
      return context.noteStarted([...others, ...more], [...skipped, ...moreSkipped]);
    },
  };
  return command.name === "sync"
    ? sync({ ...command, applications: missing }, narrowed)
    : rollback({ ...command, applications: missing }, narrowed);
}

function rest(restarted: CommandResult | undefined, missing: readonly ApplicationName[]): readonly ApplicationSync[] {
  if (restarted?.kind === "synced" || restarted?.kind === "rolled-back") return restarted.applications;
  if (restarted === undefined) return [];
  const why = restarted.kind === "refused" ? ` (${restarted.refusal.reason})` : "";
  const message = `svc was restarted before it started, and the checks do not let it start now${why}: give the command again`;
  return missing.map((application) => ({ application, warnings: [], kind: "rejected", message }));
}
