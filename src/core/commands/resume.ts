import { blockedBy, lockTaken, restoreSpec } from "../deploy/deploy-head.js";
import { type DeployContext, levelsOf, rejectedSync, type SettleContext } from "../deploy/deploy.js";
import { failure } from "../deploy/health.js";
import {
  confirmHealth,
  endUndo,
  retryWhileUnavailable,
  settleRollback,
  settleSync,
  undo,
  undoIdOf,
} from "../deploy/settle.js";
import { type LiveApplication, projectOf, specEqual } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest } from "../model/change-request.js";
import type { DeployingCommand } from "../model/command.js";
import type { Deployment } from "../model/deployment.js";
import { ifReadable, safeMessage } from "../model/errors.js";
import type { Lock } from "../model/lock.js";
import type { RunNotes, StartedApplication, SyncProgress } from "../model/progress.js";
import type { ApplicationSync, CommandResult, SyncOutcome } from "../model/result.js";
import type { CommandContext } from "../ports/context.js";
import { giveBack, releaseSkipped } from "./locks.js";
import { decideMerge } from "./merge.js";
import { noteNextStage } from "./next-stage.js";
import { asGone, rollback } from "./rollback.js";
import { sync } from "./sync.js";

/**
 * Finishes what an earlier attempt of this run started to deploy. Operations that reached Argo CD are followed, never
 * repeated; those that certainly did not are started after all checks. Undefined if none reached it, although some should.
 * @param isLate nobody expects it to start anything more
 */
export async function resumeDeployment(
  command: DeployingCommand,
  { started = [], skipped = [] }: Pick<RunNotes, "started" | "skipped">,
  context: CommandContext,
  isLate = false,
): Promise<CommandResult | undefined> {
  const { takenBefore: taken = [] } = context;
  const followed = (await Promise.all(started.map((one) => followStarted(one, command, context)))).filter(isFollowed);
  const applications = followed.map(({ operation }) => operation);
  const known = new Set(applications.map(({ application }) => application));
  const unstarted = started.filter(({ application }) => !known.has(application));
  await Promise.all(unstarted.map((one) => takeBack(one, command, context)));
  if (followed.length === 0 && started.length > 0) {
    await giveBackTaken(taken, context);
    return undefined;
  }
  const { missing, blocked } = splitMissing(started, applications, command, isLate);
  const [confirmed, restarted, stopped] = await Promise.all([
    Promise.all(followed.map(({ confirm }) => confirm())),
    missing.length === 0 ? undefined : startMissing(command, missing, { started, skipped, applications }, context),
    Promise.all(blocked.map((one) => giveUp(one, context))),
  ]);
  const all = [...confirmed, ...stopped, ...rest(restarted, missing)];
  const { dryRun } = command;
  if (command.name === "rollback") {
    const isBegun = ({ application }: Lock) => known.has(application) || restarted?.kind === "rolled-back";
    await giveBackTaken(
      taken.filter((lock) => !isBegun(lock)),
      context,
    );
    const takenOver = restarted?.kind === "rolled-back" ? restarted.takenOver : taken.filter(isBegun);
    return { kind: "rolled-back", dryRun, applications: all, takenOver };
  }
  const involved = [...started.map(({ application }) => application), ...skipped];
  const unchanged = dryRun ? skipped : await releaseSkipped(skipped, context);
  await noteNextStage({ command, deployed: all }, context);
  const plan = await ifReadable(context.plans.find(context.change), undefined);
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

/** Gives back what a rollback took over and did not begin: it is refused, or starts over. */
async function giveBackTaken(taken: readonly Lock[], context: CommandContext): Promise<void> {
  const { locks, waiting, clock } = context;
  await retryWhileUnavailable(clock, async () => {
    await giveBack(taken, context);
    for (const { application, holder } of taken) {
      const lock = await locks.find(application);
      // If somebody else got it meanwhile, its holder goes on waiting.
      if (lock !== undefined && sameChangeRequest(lock.holder, holder)) await waiting.leave(application, holder);
    }
  });
}

/** Runs the command for the applications that never started, and keeps the notes of the others. */
async function startMissing(
  command: DeployingCommand,
  missing: readonly ApplicationName[],
  { started, skipped, applications }: Required<Pick<RunNotes, "started" | "skipped">> & Followed,
  context: CommandContext,
): Promise<CommandResult> {
  const noted = new Map(started.map((one) => [one.application, one]));
  const narrowed: CommandContext = {
    ...context,
    noteStarted: (more, moreSkipped, takenOver) => {
      const others = started.filter(({ application }) => !more.some((one) => one.application === application));
      const again = more.map((one) => ({ ...one, after: noted.get(one.application)?.after ?? one.after }));
      return context.noteStarted([...others, ...again], [...skipped, ...moreSkipped], takenOver);
    },
  };
  if (command.name === "rollback") return rollback({ ...command, applications: missing }, narrowed);
  const parentsOf = (name: ApplicationName) =>
    applications.filter(({ application }) => noted.get(name)?.after.includes(application));
  return sync({ ...command, applications: missing }, narrowed, parentsOf);
}

interface Followed {
  /** The operations that reached Argo CD before this attempt, with their outcomes. */
  readonly applications: readonly ApplicationSync[];
}

type BlockedApplication = Pick<StartedApplication, "application"> & { readonly message: string };

/** Applications that never started: those to start now, and those that are not, since it is too late or their parents were not deployed. */
function splitMissing(
  started: readonly StartedApplication[],
  followed: readonly ApplicationSync[],
  { name, dryRun }: DeployingCommand,
  isLate: boolean,
): { readonly missing: readonly ApplicationName[]; readonly blocked: readonly BlockedApplication[] } {
  const ended = new Map<ApplicationName, ApplicationSync>(followed.map((one) => [one.application, one]));
  const waiting = started.filter(({ application }) => !ended.has(application));
  const blocked: BlockedApplication[] = [];
  for (const { application, after } of levelsOf(waiting).flat()) {
    const parents = after.flatMap((parent) => ended.get(parent) ?? []);
    const why = name === "rollback" || dryRun ? undefined : blockedBy([], parents);
    const message = why?.message ?? (isLate ? TOO_LATE : undefined);
    if (message === undefined) continue;
    blocked.push({ application, message });
    ended.set(application, rejectedSync(application, message));
  }
  const isBlocked = new Set(blocked.map(({ application }) => application));
  return {
    missing: waiting.map(({ application }) => application).filter((application) => !isBlocked.has(application)),
    blocked,
  };
}

const TOO_LATE = "svc had not started it ten minutes after the command: if you still want it, give the command again";

/** Ends the record that was written before it was blocked. */
async function giveUp(
  { application, message }: BlockedApplication,
  context: SettleContext & Pick<DeployContext, "runId">,
): Promise<ApplicationSync> {
  const record = ownIn(await context.deployments.ofApplication(application), context);
  const kept = record?.runId === context.runId ? await endUnstarted(record, context) : undefined;
  return { ...rejectedSync(application, message), warnings: kept === undefined ? [] : [kept] };
}

function ownIn(records: readonly Deployment[], { change }: Pick<SettleContext, "change">): Deployment | undefined {
  return records.find((one) => sameChangeRequest(one.change, change));
}

function rest(restarted: CommandResult | undefined, missing: readonly ApplicationName[]): readonly ApplicationSync[] {
  if (restarted?.kind === "synced" || restarted?.kind === "rolled-back") return restarted.applications;
  if (restarted === undefined) return [];
  const message =
    "svc was restarted before it started, and its checks do not let it start now: give the command again to read why";
  return missing.map((application) => rejectedSync(application, message));
}

/** The outcome of an operation of the earlier attempt, and what is left to do, such as waiting for its health. */
interface FollowedOperation {
  readonly operation: ApplicationSync;
  readonly confirm: () => Promise<ApplicationSync>;
}

function isFollowed(one: FollowedOperation | undefined): one is FollowedOperation {
  return one !== undefined;
}

function over(operation: ApplicationSync): FollowedOperation {
  return { operation, confirm: () => Promise.resolve(operation) };
}

/** Undoes what the earlier attempt wrote for an application that it did not start: if checks refuse the rest, nothing else would. */
async function takeBack(
  { application, after }: StartedApplication,
  command: DeployingCommand,
  context: DeployContext,
): Promise<void> {
  if (command.dryRun) return;
  const records = await context.deployments.ofApplication(application);
  const record = ownIn(records, context);
  if (record === undefined) return;
  const { runId, outcome, specBefore, specWritten, specReplaced } = record;
  if (command.name === "rollback") {
    // Where both are the same, the rollback has written nothing, and the head still runs.
    if (specWritten === undefined || specEqual(specWritten, specBefore)) return;
    const live = await context.deployer.findApplication(application);
    if (live && specEqual(live.spec, specBefore)) await settleRollback(application, "failed", record, context);
    return;
  }
  // A look at the change request between two attempts records the outcome as unknown.
  if (runId !== context.runId || (outcome !== "started" && outcome !== "unknown")) return;
  // If a parent wrote the definition, or others have deployed since, the record does not say what ran before.
  const isOwn = after.length === 0 && !records.some((other) => other !== record && other.specWritten !== undefined);
  const before = { name: application, spec: specReplaced ?? specBefore };
  if (specWritten !== undefined && isOwn && (await lockTaken(application, "", context)) === undefined) {
    await restoreSpec(before, specWritten, command.name, context);
  }
  await endUnstarted(record, context);
}

/** Ends a record whose operation never started. It loses its run id, so that no later attempt takes this for the end of an operation. */
function endUnstarted(record: Deployment, context: SettleContext): Promise<string | undefined> {
  return settleSync({ ...record, runId: undefined }, { kind: "failed", message: "", resources: [] }, context);
}

/** Undefined if the operation never reached Argo CD. */
async function followStarted(
  { application, lastOperation, pins, after }: StartedApplication,
  command: DeployingCommand,
  context: DeployContext,
): Promise<FollowedOperation | undefined> {
  const { deployer, deployments, runId, progress } = context;
  // A dry run writes no record; one that exists is of another command.
  const record = command.dryRun ? undefined : ownIn(await deployments.ofApplication(application), context);
  const onProgress = (reported: SyncProgress) => progress(application, { kind: "running", ...reported });
  let warnings: readonly string[] = command.name === "sync" && record?.reverted !== undefined ? [record.reverted] : [];
  const lookUp = async (): Promise<SyncOutcome | FollowedOperation | undefined> => {
    const live = await deployer.findApplication(application);
    if (live === undefined) {
      const isBelow = command.name === "rollback" && record !== undefined && after.length > 0;
      const isDeleted =
        isBelow && (await deployer.isGone(application, projectOf(record.specWritten ?? record.specBefore)));
      return isDeleted
        ? over(await asGone({ application, live, record }, context))
        : unknown("the application no longer exists");
    }
    const undone = await followUndo(live, record, command, context);
    if (undone !== undefined) return undone;
    const written = command.name === "sync" ? record?.specWritten : undefined;
    const spec = written ?? live.spec;
    const at = pins.length === 0 ? "target" : pins;
    const lookup = { application: { ...live, spec }, at, runId, readLater: written === undefined } as const;
    const followed = await deployer.follow({ ...lookup, onProgress });
    const isReplaced = followed === undefined && live.lastOperation !== lastOperation;
    const found = isReplaced ? (writtenDown(record, command, runId) ?? unknown(REPLACED)) : followed;
    if (found?.kind === "failed" && keepsWritten(record, live.spec)) warnings = [...warnings, specLeft(context)];
    return found;
  };
  const outcome = await lookUp().catch((error: unknown) => {
    context.log.warn({ application, err: error }, "could not look up an operation from before the restart");
    return writtenDown(record, command, runId) ?? unknown(safeMessage(error));
  });
  if (outcome === undefined || "confirm" in outcome) return outcome;
  const overridden = command.name === "sync" && record?.runId === runId ? record.overridden : undefined;
  const succeeded = record?.runId === runId && outcome.kind === "succeeded";
  // An earlier attempt that wrote a success down has seen it healthy and released the lock: others may have deployed since.
  const isSettled = succeeded && record.outcome === "succeeded";
  if (succeeded && !isSettled && record.health !== undefined) {
    const operation: ApplicationSync = { application, ...outcome, overridden, warnings };
    return { operation, confirm: () => confirmHealth(operation, record, command, context) };
  }
  // Whoever looks again finds how an automatic rollback ended.
  const isOpen = outcome.kind === "unknown" && record?.undoing !== undefined;
  const kept = isSettled || isOpen ? undefined : await writeDown(application, outcome, record, command, context);
  return over({ application, ...outcome, overridden, warnings: kept === undefined ? warnings : [...warnings, kept] });
}

/** The rollback of what did not get healthy, started if the earlier attempt had not; undefined if there is none. */
async function followUndo(
  live: LiveApplication,
  record: Deployment | undefined,
  command: DeployingCommand,
  context: DeployContext,
): Promise<FollowedOperation | undefined> {
  const { deployer, runId } = context;
  if (command.name !== "sync" || command.dryRun) return undefined;
  const undoing = record?.runId === runId ? record.undoing : undefined;
  // A record that is gone may have been ended by the rollback.
  if (record !== undefined && undoing === undefined) return undefined;
  const outcome = await deployer.follow({
    ...{ application: live, at: "target", runId: undoIdOf(runId) },
    readLater: true,
  });
  if (outcome === undefined && undoing === undefined) return undefined;
  const { health, message } = undoing ?? { health: "Unknown", message: "it did not get healthy" };
  const failed = { ...failure(health, message, []), warnings: [] };
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

const REPLACED = "another operation took the place of this one, so its outcome is not known";

/** The outcome in our record, for an operation that Argo CD no longer remembers because another one followed. */
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

function specLeft({ change, hostWords }: Pick<DeployContext, "change" | "hostWords">): string {
  return `svc was restarted meanwhile, and its definition is still the one of this ${hostWords[change.host].short}: run the rollback command to restore it`;
}

function unknown(message: string): SyncOutcome {
  return { kind: "unknown", message };
}

async function writeDown(
  application: ApplicationName,
  outcome: SyncOutcome,
  record: Deployment | undefined,
  { name, dryRun }: DeployingCommand,
  context: SettleContext & Pick<DeployContext, "runId">,
): Promise<string | undefined> {
  if (dryRun) return undefined;
  if (name === "sync") return record?.runId === context.runId ? settleSync(record, outcome, context) : undefined;
  return settleRollback(application, outcome.kind, record, context);
}
