import { type ApplicationSpec, type LiveApplication, specEqual, syncsItself } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { type ChangeRequestRef, changeRequestRef, sameChangeRequest } from "../model/change-request.js";
import type { DeployingCommand } from "../model/command.js";
import { type Deployment, restoredSpec } from "../model/deployment.js";
import {
  DeployerFailure,
  HostFailure,
  LeaseLost,
  neverStarted,
  safeMessage,
  StoreUnavailable,
  only,
} from "../model/errors.js";
import { referenceTo } from "../model/host-words.js";
import { endOf } from "../model/progress.js";
import type { ApplicationSync, AutomaticRollback, SyncedResource, SyncOutcome } from "../model/result.js";
import type { Clock } from "../ports/clock.js";
import type { DeployContext, DeployOutcome, SettleContext } from "./deploy.js";
import { awaitHealth, failure, type HealthEnd, lookupOf } from "./health.js";

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
  const { change, locks } = context;
  const later = "svc notes how it ended, and releases its lock if it succeeded, once the store is back";
  const end = [() => endOthers(application, change, context), () => locks.release(application, change)];
  return settle(application, later, context, [
    ...(outcome.kind === "succeeded" ? end : []),
    // Last: a record without an outcome is looked at again.
    () => writeOutcome(record, outcome, context),
  ]);
}

/** Ends record and lock on success; otherwise the head is no longer known to run. Returns a sentence if the store stays unavailable. */
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
      return settle(application, LOCK_STAYS, context, [
        // First: its own record tells which of the others are older.
        () => endOthers(application, change, context),
        () => deployments.remove(application, change),
        () => locks.release(application, change),
      ]);
    case "failed":
    case "running":
    case "unknown":
      if (record === undefined) return undefined;
      return settle(application, LOCK_STAYS, context, [() => updateRecord({ ...record, outcome: "failed" }, context)]);
  }
}

const LOCK_STAYS = "its lock is kept until the next command or until it expires";

/**
 * Ends the records of other change requests, which what was deployed replaces. Another one may have got the lock meanwhile, by a
 * restart or an administrator: what it has deployed since is on top.
 * @param isLast Whether this one was not planned again since. If it was, others may have deployed since, and that stays as well.
 */
export async function endOthers(
  application: ApplicationName,
  change: ChangeRequestRef,
  { deployments, locks }: Pick<SettleContext, "deployments" | "locks">,
  isLast = true,
): Promise<void> {
  const [lock, records] = await Promise.all([locks.find(application), deployments.ofApplication(application)]);
  const own = records.find((record) => sameChangeRequest(record.change, change));
  const isOnTop = isLast && (lock === undefined || sameChangeRequest(lock.holder, change));
  // Without a record of its own, it held the lock until the present holder got that.
  const until = (own ?? lock)?.timestamp ?? "";
  const replaced = records.filter((one) => one !== own && (isOnTop || one.timestamp < until));
  await Promise.all(replaced.map((record) => deployments.remove(application, record.change)));
}

/** Writes a record anew, unless somebody who deployed since has ended it. */
export async function updateRecord(
  record: Deployment,
  { deployments }: Pick<SettleContext, "deployments">,
): Promise<void> {
  const known = await deployments.ofApplication(record.application);
  if (known.some(({ change }) => sameChangeRequest(change, record.change))) await deployments.save(record);
}

/**
 * Runs the writes in order, each repeated while the store is unavailable: once the lock is released, none may remove a record of
 * others. If the store stays away, `later` says what follows.
 */
async function settle(
  application: ApplicationName,
  later: string,
  { clock, log }: Pick<SettleContext, "clock" | "log">,
  writes: readonly (() => Promise<unknown>)[],
): Promise<string | undefined> {
  try {
    for (const write of writes) await retryWhileUnavailable(clock, write);
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.error({ application, err: error }, "could not update lock and record");
    return `the store did not answer afterwards: ${later}`;
  }
}

async function writeOutcome(
  record: Deployment,
  outcome: DeployOutcome | Untouched,
  { deployments, clock }: Pick<SettleContext, "deployments" | "clock">,
): Promise<void> {
  if (outcome.kind !== "untouched") {
    const seconds = Math.round((clock.now().getTime() - Date.parse(record.timestamp)) / 1000);
    return updateRecord({ ...record, outcome: endOf(outcome), undoing: undefined, seconds }, { deployments });
  }
  const { earlier } = outcome;
  const records = await deployments.ofApplication(record.application);
  // A success of another change request has ended it since this sync was judged.
  const isEnded = (before: Deployment) =>
    records.some(
      ({ change, outcome: end, timestamp }) =>
        !sameChangeRequest(change, before.change) && end === "succeeded" && timestamp > before.timestamp,
    );
  if (earlier !== undefined && !isEnded(earlier)) return updateRecord(earlier, { deployments });
  return deployments.remove(record.application, record.change);
}

const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15_000];

/** Repeats an idempotent write for about half a minute while the store is unavailable. @throws {StoreUnavailable} */
export async function retryWhileUnavailable<T>(clock: Clock, write: () => Promise<T>): Promise<T> {
  for (const pause of PAUSES_MS) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await clock.sleep(pause);
    }
  }
  return write();
}

/** A sync that left its application unhealthy, with the warnings for its answer. */
type NotHealthySync = Extract<SyncOutcome, { kind: "failed" }> & Pick<ApplicationSync, "warnings">;

/** The id of a run's automatic rollback in Argo CD, by which an attempt after a crash finds it. */
export function undoIdOf(runId: string): string {
  return `${runId}-rollback`;
}

/** Deploys the target branch again unless somebody else has deployed since; the record says so first, so that it starts once. */
export async function undo(
  record: Deployment,
  failed: NotHealthySync,
  command: DeployingCommand,
  context: DeployContext,
): Promise<NotHealthySync> {
  const { application } = record;
  const { deployer, deployments, settings, change, progress, runId, clock, log } = context;
  const undoing = { health: failed.notHealthy?.health ?? "Unknown", message: failed.message };
  try {
    const { live, obstacle } = await retryWhileUnavailable(clock, async () => {
      const found = await deployer.findApplication(application);
      const known = { live: found, obstacle: await obstacleTo(record, found, context) };
      if (known.obstacle === undefined) await deployments.save({ ...record, undoing });
      return known;
    });
    if (obstacle !== undefined || live === undefined) {
      const message = obstacle ?? "the application no longer exists";
      return await keep(record, failed, { kind: "skipped", message }, context);
    }
    log.warn({ application, health: undoing.health }, "rolling back an application that did not get healthy");
    const spec = restoredSpec(live, [record]).spec;
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

/** A success releases the lock and ends the record. @param record the application's name if its record is gone. */
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
  const warnings = unsettled === undefined ? failed.warnings : [...failed.warnings, unsettled];
  return { ...failed, notHealthy, warnings };
}

/** Why svc does not roll the application back by itself; undefined if it does. */
async function obstacleTo(
  record: Deployment,
  live: LiveApplication | undefined,
  { deployer, deployments, locks, change, host, hostWords, runId }: DeployContext,
): Promise<string | undefined> {
  if (live === undefined) return "the application no longer exists";
  const words = hostWords[change.host];
  if (await isMerged(change, host)) {
    return `this ${words.short} was merged meanwhile, so the target branch has what is not healthy: revert it`;
  }
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
  if (syncsItself(live)) return "auto-sync was turned on since";
  if (![record.specWritten, record.specBefore].some((spec) => spec !== undefined && specEqual(spec, live.spec))) {
    return `its definition is not the one of this ${words.short}`;
  }
  const stays = keptBySet(live, restoredSpec(live, [record]).spec, record);
  if (stays !== undefined) return stays;
  const ours = await deployer.findOutcome(lookupOf(record, live, runId));
  return ours === undefined ? "another operation ran in Argo CD since" : undefined;
}

/** Why a rollback leaves the definition that an ApplicationSet wrote. @param isApplied it has just applied the earlier set. */
export function keptBySet(
  live: LiveApplication,
  before: ApplicationSpec,
  record: Pick<Deployment, "given"> | undefined,
  isApplied = false,
): string | undefined {
  if (live.owningSet === undefined || specEqual(before, live.spec)) return undefined;
  const set = `the ApplicationSet ${live.owningSet}`;
  if (isApplied) {
    return `${set} has not written its earlier definition yet. Run the rollback command again once it has, or look at that set in Argo CD`;
  }
  const parent = record?.given?.parent ?? "what applies that set";
  return `its definition comes from ${set}, which would write it again: run the rollback command for ${parent} as well`;
}

/** Whether a change request is merged by now. False if the host does not tell: a rollback must not wait for that. */
export async function isMerged(change: ChangeRequestRef, host: Pick<DeployContext["host"], "state">): Promise<boolean> {
  return (await host.state(change).catch(only(HostFailure, () => undefined))) === "merged";
}

type Succeeded = Extract<ApplicationSync, { kind: "succeeded" }>;

/** The end of a sync whose operation succeeded, once the application is healthy; otherwise it has failed, and is kept or rolled back. */
export async function confirmHealth(
  deployed: ApplicationSync,
  record: Deployment,
  command: DeployingCommand,
  context: DeployContext,
): Promise<ApplicationSync> {
  if (deployed.kind !== "succeeded" || record.health === undefined) return deployed;
  const { application, warnings, overridden } = deployed;
  const started = context.clock.now().getTime();
  const end = await watch(deployed, record, context);
  const outcome = outcomeOf(deployed, end);
  const ms = context.clock.now().getTime() - started;
  context.log.info({ application, outcome: outcome.kind, ms }, "health wait ended");
  if (outcome.kind === "failed" && record.health.onFailure === "rollback") {
    return { application, overridden, ...(await undo(record, { ...outcome, warnings }, command, context)) };
  }
  const unsettled = await settleSync(record, outcome, context);
  return {
    application,
    overridden,
    ...outcome,
    warnings: unsettled === undefined ? warnings : [...warnings, unsettled],
  };
}

async function watch(
  deployed: Succeeded,
  record: Deployment,
  context: Pick<DeployContext, "deployer" | "clock" | "progress" | "runId">,
): Promise<HealthEnd> {
  const { deployer, progress, runId } = context;
  const { application, resources } = deployed;
  try {
    const live = await deployer.findApplication(application);
    if (live === undefined) return { kind: "unknown", message: "the application no longer exists" };
    const all = { done: resources.length, total: resources.length };
    const onLook = (health: string, unhealthy: readonly SyncedResource[]) =>
      progress(application, { kind: "running", ...all, message: waitingFor(unhealthy), health });
    const timeoutMs = record.health?.timeoutMs ?? 0;
    return await awaitHealth(lookupOf(record, live, runId), { timeoutMs, onLook }, context);
  } catch (error) {
    if (!(error instanceof DeployerFailure)) throw error;
    return { kind: "unknown", message: `svc could not look at its health: ${safeMessage(error)}` };
  }
}

/** The first unhealthy object, in one line. */
function waitingFor([first, ...others]: readonly SyncedResource[]): string {
  if (first === undefined) return "";
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `${[first.title, first.status, first.message].filter((text) => text !== "").join(": ")}${more}`;
}

function outcomeOf(deployed: Succeeded, end: HealthEnd): SyncOutcome {
  switch (end.kind) {
    case "healthy": {
      const { kind, message, resources, revisions, pruneSkipped, pruned } = deployed;
      const { health, unhealthy } = end;
      return { kind, message, resources, revisions, pruneSkipped, ...(pruned && { pruned }), health, unhealthy };
    }
    case "unhealthy":
      return failure(end.health, end.message, end.unhealthy);
    case "unknown":
      return { kind: "unknown", message: `Argo CD deployed it, but ${end.message}` };
  }
}
