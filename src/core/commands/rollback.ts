import { placeOf } from "../../config/rules/rule-match.js";
import { findWritten, lockTaken, restoreSpec } from "../deploy/deploy-head.js";
import { deployAll, type DeployContext, deployOne, rejectedSync, writesSpec } from "../deploy/deploy.js";
import { endReplacedOf } from "../deploy/settle-records.js";
import { isMerged, keptBySet, retryWhileUnavailable, settleRollback } from "../deploy/settle.js";
import { boundToRollBack, forgottenPlan } from "../facts/pruned.js";
import { type ReadFacts, readStores } from "../facts/read-facts.js";
import { lookAtTarget, readForRollback, type RollbackReading, type RollbackTarget } from "../facts/read-rollback.js";
import { destinationOf, type LiveApplication, specEqual, syncsItself } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef, sameChangeRequest } from "../model/change-request.js";
import { allInTurns } from "../model/collections.js";
import type { Command } from "../model/command.js";
import { restoredSpec } from "../model/deployment.js";
import { DeployerFailure, only } from "../model/errors.js";
import { listed, type Message, referenceTo } from "../model/host-words.js";
import type { Lock, LockAttempt } from "../model/lock.js";
import { isPlanOf, type Plan } from "../model/plan/plan.js";
import type { ApplicationSync, CommandResult, CommandResultOf } from "../model/result.js";
import { isAnnounced } from "../policy/application-state.js";
import type { ApplicationFacts, Facts } from "../policy/facts.js";
import { barsOf, judge } from "../policy/judge.js";
import { refusedInDoubt, undoing } from "../policy/next-step.js";
import { waitsIn } from "../policy/stages.js";
import type { CommandContext } from "../ports/context.js";
import { giveBack, type Locking } from "./locks.js";
import { endStages } from "./next-stage.js";
import { labelsFor, plannedIn, select } from "./selection.js";

/**
 * Syncs the applications that this change request has deployed to their configured target revision, after restoring the
 * definition from before its first sync. If it has deployed nothing, or an application is named, what it has locked.
 */
export async function rollback(command: Command<"rollback">, context: CommandContext): Promise<CommandResult> {
  await endReplacedOf(context.change, context);
  // Also the plan of an earlier commit: what it deployed is still there after a push.
  const prunes = command.prune || context.settings.prune;
  const asNow = (stored = forgottenPlan(context.change)) => boundToRollBack(stored, prunes, context);
  const [read, labelsOf] = await Promise.all([readStores(context, { asNow }), labelsFor(command, context)]);
  const doubtful = refusedInDoubt("rollback", read.facts);
  if (doubtful !== undefined) return doubtful;
  const held = read.facts.applications.filter((one) => isTarget(one, read.facts));
  const deployed = held.filter(({ record }) => record !== undefined);
  const isNarrowed = command.applications.length > 0;
  const candidates = isNarrowed || deployed.length === 0 ? held : deployed;
  const selection = select(candidates, command, plannedIn(read.plan), labelsOf);
  if (selection.kind === "refused") {
    const apart = selection.refusal.reason === "not-locked" && lockedAndDeployed(held, context);
    return { kind: "refused", refusal: { ...selection.refusal, ...apart } };
  }
  const attempts = command.dryRun ? [] : await attemptLocks(selection.items, context);
  // Until the deployment is noted, nobody would know of these locks.
  const giveUp = async (undo?: () => Promise<void>) => {
    await retryWhileUnavailable(context.clock, () => releaseFresh(attempts, context));
    if (undo !== undefined) await retryWhileUnavailable(context.clock, undo);
  };
  const failed = (undo?: () => Promise<void>) => async (error: unknown) => {
    await giveUp(undo).catch(() => undefined);
    throw error;
  };
  const locked = { attempts, selected: selection.items, isNarrowed, read };
  const ready = await prepare(command, locked, context).catch(failed());
  if (ready.kind !== "ready") await giveUp();
  if (ready.kind === "again") return rollback(command, context);
  if (ready.kind === "refused") return ready;
  const { reading, taken } = ready;
  const noteStarted: typeof context.noteStarted = (...noted) => context.noteStarted(...noted).catch(failed(taken.undo));
  return {
    ...(await deployTargets(reading, taken.locks, placesIn(read.plan, context), command, { ...context, noteStarted })),
    kept: isNarrowed ? [] : namesIn(held.filter((one) => !selection.items.includes(one))),
  };
}

function namesIn(some: readonly Pick<ApplicationFacts, "application">[]): readonly ApplicationName[] {
  return some.map(({ application }) => application);
}

interface Locked {
  readonly attempts: readonly LockAttempt[];
  readonly selected: readonly ApplicationFacts[];
  readonly isNarrowed: boolean;
  readonly read: ReadFacts;
}

type Prepared =
  | { readonly kind: "ready"; readonly reading: RollbackReading; readonly taken: Extract<TakeOver, { kind: "taken" }> }
  /** A record of what it had deployed has ended, so the rollback starts over. */
  | { readonly kind: "again" }
  | CommandResultOf<"refused">;

/** Reads and judges what is locked now, and takes over what plans of others hold. Deploys nothing. */
async function prepare(
  command: Command<"rollback">,
  { attempts, selected, isNarrowed, read }: Locked,
  context: CommandContext,
): Promise<Prepared> {
  // Until the locks were taken, a sync of another change request could end what this one had deployed.
  const present = command.dryRun ? read.records : await context.deployments.ofChange(context.change);
  const left = new Set(present.map(({ application }) => application));
  if (selected.some(({ application, record }) => record !== undefined && !left.has(application))) {
    return { kind: "again" };
  }
  const reading = await readForRollback(command, namesIn(selected), attempts, read, context);
  const refused = refusedWith(reading.facts, isNarrowed);
  const { mayWrite, barred = [] } = reading.facts.asker ?? {};
  // Whoever wants to undo a stage, and may, wants no further one, even if this is refused.
  if (!command.dryRun && mayWrite !== false && barred.length === 0) await endStages(context.change, context);
  if (refused !== undefined) return refused;
  const taken = await takeOver(command.dryRun ? [] : reading.takeable, context);
  if (taken.kind === "refused") return heldByOthers(taken.locks, reading.facts, isNarrowed);
  return { kind: "ready", reading, taken };
}

/** Whether a rollback can act on it: it was deployed from here, or is locked and deployable. */
function isTarget(one: ApplicationFacts, { change }: Facts): boolean {
  if (one.record !== undefined) return true;
  return one.lock !== undefined && sameChangeRequest(one.lock.holder, change) && !isAnnounced(one);
}

/** Tells what is locked from what was only deployed from here. */
function lockedAndDeployed(targets: readonly ApplicationFacts[], { change }: Pick<CommandContext, "change">) {
  const isLocked = ({ lock }: ApplicationFacts) => lock !== undefined && sameChangeRequest(lock.holder, change);
  return { held: namesIn(targets.filter(isLocked)), deployed: namesIn(targets.filter((one) => !isLocked(one))) };
}

function refusedWith(facts: Facts, isNarrowed: boolean): CommandResultOf<"refused"> | undefined {
  const judged = judge("rollback", facts);
  const { refusal } = judged;
  if (refusal === undefined) return undefined;
  const [gate, ...others] = new Set(barsOf(judged).map((bar) => bar.gate));
  // If anything else bars it, the refusal itself says what to do first.
  const step = others.length === 0 && (gate === "approval" || gate === "locked-by-other");
  const next = step ? undoing(facts.asker?.selected ?? [], facts, !isNarrowed) : undefined;
  return { kind: "refused", refusal, next: next?.kind === "command" ? undefined : next };
}

/** The refusal if others began to deploy what was to be taken over. */
function heldByOthers(locks: readonly Lock[], facts: Facts, isNarrowed: boolean): CommandResultOf<"refused"> {
  const found = new Map(locks.map((lock) => [lock.application, lock]));
  const applications = facts.applications.map((one): ApplicationFacts => {
    const lock = found.get(one.application);
    return lock === undefined ? one : { ...one, lock, now: one.now && { ...one.now, takeable: false } };
  });
  const refused = refusedWith({ ...facts, applications }, isNarrowed);
  if (refused === undefined) throw new Error("a lock that another change request holds must refuse a rollback");
  return refused;
}

/** The position of an application's stage. Later stages are rolled back first. */
type PlaceOf = (application: ApplicationName) => number;

function placesIn(plan: Plan | undefined, { change, settings }: Pick<CommandContext, "change" | "settings">): PlaceOf {
  const [stages = []] = settings.stages;
  const waits = isPlanOf(plan, change) ? waitsIn(plan, stages) : undefined;
  return (name) => waits?.get(name)?.place ?? placeOf(name, stages);
}

async function deployTargets(
  { targets, facts }: RollbackReading,
  taken: readonly Lock[],
  places: PlaceOf,
  command: Command<"rollback">,
  context: DeployContext,
): Promise<CommandResultOf<"rolled-back">> {
  const takenOver = [...(context.takenBefore ?? []), ...taken];
  const applications = await deployAll(
    targets.map((target) => ({
      application: target.application,
      live: target.live,
      pins: [],
      revision: context.change.baseRevision,
      destination: destinationOf(target.live === undefined ? {} : restoredSpec(target.live, target.records).spec),
      after: targets.filter((other) => isBefore(other, target, places)).map(({ application }) => application),
      deploy: (earlier) => rollbackOne(target, earlier, command, context),
    })),
    { ...context, noteStarted: (started, skipped) => context.noteStarted(started, skipped, takenOver) },
    { between: () => whyStopped(context) },
  );
  const noted = applications.map(async (one) => {
    const known = withNote(one, takenOverSentence(one.application, takenOver, context));
    if (command.dryRun || one.kind !== "succeeded") return known;
    return withNote(known, await anewSentence(one, facts, context));
  });
  return { kind: "rolled-back", dryRun: command.dryRun, applications: await Promise.all(noted), takenOver };
}

/** Why nothing more is rolled back: what came before may have taken minutes. */
async function whyStopped({ change, host, hostWords }: DeployContext): Promise<string | undefined> {
  if (!(await isMerged(change, host))) return undefined;
  return `nothing was deployed: this ${hostWords[change.host].short} was merged meanwhile. To undo it, revert it`;
}

const MOST_NAMED = 20;

/** Names what the head of a parent deletes and its rollback has applied, where nothing has ever been deployed to that. */
async function anewSentence(
  { application: parent }: ApplicationSync,
  { applications, reached = [] }: Facts,
  context: DeployContext,
): Promise<string | undefined> {
  const deleted = [...applications, ...reached].filter((child) => {
    const { deletedBy = [], removedBy = [] } = ("planned" in child ? child.planned : child) ?? {};
    return [...deletedBy, ...removedBy].includes(parent);
  });
  const looked = await allInTurns(deleted, ({ application }) => lookAtTarget(application, [], context));
  const names = looked.flatMap(({ application, live }) =>
    live && live.lastOperation === undefined && !syncsItself(live) ? [application] : [],
  );
  if (names.length === 0) return undefined;
  return `applied ${listed(names, MOST_NAMED)}, to which nothing was deployed yet: sync ${names.length === 1 ? "it" : "them"} in Argo CD`;
}

function withNote(one: ApplicationSync, note: Message | undefined): ApplicationSync {
  return note === undefined ? one : { ...one, warnings: [...one.warnings, note] };
}

/** Later stages come first. Parents come before their children whatever their stage, since they write their definitions. */
function isBefore(other: RollbackTarget, target: RollbackTarget, places: PlaceOf): boolean {
  if (other === target || parentsOf(other).includes(target.application)) return false;
  return parentsOf(target).includes(other.application) || places(other.application) > places(target.application);
}

function parentsOf({ live, record }: RollbackTarget): readonly (ApplicationName | undefined)[] {
  return [live?.parent, live?.generatedBy?.parent, record?.given?.parent];
}

async function rollbackOne(
  given: RollbackTarget,
  earlier: readonly ApplicationSync[],
  command: Command<"rollback">,
  context: DeployContext,
): Promise<ApplicationSync> {
  const { application, record, records } = given;
  // Parents have been rolled back by now, and may have written its definition.
  const isWritten = earlier.some((one) => one.kind === "succeeded" && parentsOf(given).includes(one.application));
  const rejected = (message: string) => rejectedSync(application, message);
  if (record?.given !== undefined && isWritten && !command.dryRun) {
    await findWritten(application, record.specBefore, context).catch(only(DeployerFailure, () => undefined));
  }
  // What was rolled back before it may have taken minutes. What could not be seen until then was not judged.
  const stays = earlier.length === 0 || (given.live === undefined && !isWritten);
  const { live, problem } = stays ? given : await lookAtTarget(application, records, context);
  if (isWritten && !command.dryRun && (await isGoing(given, live, context))) return asGone(given, context);
  if (live === undefined) return rejected(problem);
  if (earlier.length > 0 && !isWritten && syncsItself(live)) return rejected(AUTO_SYNCED);
  const taken = command.dryRun ? undefined : await lockTaken(application, "Run the rollback command again", context);
  if (taken !== undefined) return rejected(taken);
  const { restores, spec } = restoredSpec(live, records);
  const kept = command.dryRun ? undefined : keptBySet(live, spec, record, isWritten);
  if (kept !== undefined) return rejected(`nothing was deployed: ${kept}`);
  const { short } = context.hostWords[context.change.host];
  const isOther = record?.specWritten && !restores && !isWritten && !specEqual(live.spec, record.specBefore);
  const warnings = isOther ? [`its definition is not the one that this ${short} wrote, and was left as it is`] : [];
  const outcome = await deployOne({ live, spec, at: "target" }, command, context);
  if (command.dryRun) return { application, ...outcome, warnings };
  if (isWritten && live.owningSet !== undefined && outcome.kind !== "succeeded") {
    // The controller of a set deletes what the set drops some seconds after the sync that applied it.
    const later = await findWritten(application, {}, context).catch(only(DeployerFailure, () => live));
    if (await isGoing(given, later, context)) return asGone(given, context);
  }
  // If the head's definition cannot be put back, the head no longer runs, whatever its record says.
  const writes = outcome.kind === "rejected" && writesSpec({ live, spec });
  const restored = writes ? await restoreSpec(live, spec, command.name, context) : undefined;
  const kind = restored === undefined || restored.kind === "restored" ? outcome.kind : "failed";
  const unsettled = await settleRollback(application, kind, record, context);
  const sentences = [restored?.sentence, unsettled].filter((one) => one !== undefined);
  return { application, ...outcome, warnings: [...warnings, ...sentences] };
}

/** Whether an application that was there before is gone or about to go. One that Argo CD only does not show now is not. */
async function isGoing(
  { live: before }: RollbackTarget,
  now: LiveApplication | undefined,
  { deployer }: Pick<DeployContext, "deployer">,
): Promise<boolean> {
  if (now !== undefined || before === undefined) return now?.deleting === true;
  return deployer.isGone(before.name, before.project).catch(only(DeployerFailure, () => false));
}

/** Ends the record of an application that the rollback of its parent deleted, since the target branch does not have it. */
export async function asGone(
  { application, live, record }: Pick<RollbackTarget, "application" | "live" | "record">,
  context: DeployContext,
): Promise<ApplicationSync> {
  const unsettled = await settleRollback(application, "succeeded", record, context);
  const left = live?.cascades === false ? LEFT_BEHIND : undefined;
  const warnings = [left, unsettled].filter((one) => one !== undefined);
  const nothing = { message: "", resources: [], revisions: [], pruneSkipped: 0, health: "", unhealthy: [] };
  return { application, kind: "succeeded", deleted: true, ...nothing, warnings };
}

const LEFT_BEHIND =
  "what it had deployed stays in the cluster, since it had no finalizer resources-finalizer.argocd.argoproj.io: delete that there";

const AUTO_SYNCED =
  "auto-sync was turned on meanwhile: nothing was deployed. Turn it off, then run the rollback command again";

/** The locks that a rollback took over, or those that kept it from doing so. */
type TakeOver =
  | { readonly kind: "taken"; readonly locks: readonly Lock[]; readonly undo: () => Promise<void> }
  | { readonly kind: "refused"; readonly locks: readonly Lock[] };

/** Locks applications for a rollback, or says who holds them. If the store fails, it keeps only the locks that it had before. */
export async function attemptLocks(
  selected: readonly Pick<ApplicationFacts, "application" | "lock">[],
  { locks, change, user, clock }: Locking,
): Promise<readonly LockAttempt[]> {
  const holder = changeRequestRef(change);
  const common = { holder, user: user.login, planRevision: undefined, sourceFile: undefined };
  const ended = await Promise.allSettled(
    selected.map(({ application }) => locks.acquire({ ...common, application }, clock.now())),
  );
  const attempts = ended.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = ended.find((one) => one.status === "rejected");
  if (failed === undefined) return attempts;
  // One that failed may have taken its lock all the same.
  const unsure = selected.filter(
    ({ lock }, index) =>
      ended[index]?.status === "rejected" && !(lock !== undefined && sameChangeRequest(lock.holder, change)),
  );
  const undo = async () => {
    await releaseFresh(attempts, { locks, change });
    await Promise.all(unsure.map(({ application }) => locks.release(application, change)));
  };
  await retryWhileUnavailable(clock, undo).catch(() => undefined);
  throw failed.reason;
}

/** A refused rollback keeps only the locks that it had before. */
export async function releaseFresh(
  attempts: readonly LockAttempt[],
  { locks, change }: Pick<DeployContext, "locks" | "change">,
): Promise<void> {
  const fresh = attempts.filter((attempt) => attempt.kind === "acquired" && attempt.fresh);
  await Promise.all(fresh.map(({ lock }) => locks.release(lock.application, change)));
}

/**
 * Takes over locks that only plans hold, all or none; who loses one is the first who waits for it. A holder that starts to deploy
 * meanwhile writes its record first and then looks whether the lock is still its own, so one of the two always sees the other.
 */
async function takeOver(
  held: readonly Lock[],
  context: Locking & Pick<CommandContext, "deployments" | "waiting">,
): Promise<TakeOver> {
  const { locks, waiting, change, user, clock } = context;
  const tried: Lock[] = [];
  const lost: Lock[] = [];
  const joined: Lock[] = [];
  const undo = async () => {
    await giveBack(tried, context);
    for (const { application, holder } of joined) await waiting.leave(application, holder);
  };
  try {
    for (const lock of held) {
      const { application, holder } = lock;
      // Queued before it loses the lock, so that its turn comes whatever ends this run.
      const waits = (await waiting.of(application)).some((one) => sameChangeRequest(one, holder));
      // Noted before it is done: a call that fails may have been carried out.
      if (!waits) joined.push(lock);
      await waiting.join(application, holder, "first");
      tried.push(lock);
      const request = { application, holder: changeRequestRef(change), user: user.login, planRevision: undefined };
      const attempt = await locks.acquire({ ...request, sourceFile: undefined }, clock.now(), holder);
      // A holder with a record has written something of the application to Argo CD.
      const records = await context.deployments.ofApplication(application);
      if (attempt.kind === "held") lost.push(attempt.lock);
      else if (records.some((record) => sameChangeRequest(record.change, holder))) lost.push(lock);
    }
  } catch (error) {
    // Nothing was deployed, and nobody tells their holders.
    await retryWhileUnavailable(clock, undo).catch(() => undefined);
    throw error;
  }
  if (lost.length === 0) return { kind: "taken", locks: held, undo };
  await retryWhileUnavailable(clock, undo);
  return { kind: "refused", locks: lost };
}

function takenOverSentence(
  application: ApplicationName,
  taken: readonly Lock[],
  { change, hostWords }: Pick<DeployContext, "change" | "hostWords">,
): Message | undefined {
  const lock = taken.find((one) => one.application === application);
  if (lock === undefined) return undefined;
  return {
    before: "its lock was taken over from ",
    reference: referenceTo(lock.holder, change, hostWords[change.host]),
    change: lock.holder,
    after: ` (${lock.user}), which had only planned it and is the first to get it back`,
  };
}
