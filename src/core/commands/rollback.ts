import { deployAll, deployOne, type DeployContext } from "../deploy/deploy.js";
import { settleRollback } from "../deploy/settle.js";
import { isAutoSynced } from "../model/application-spec.js";
import type { LiveApplication } from "../model/application.js";
import { changeRequestRef } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import type { Deployment } from "../model/deployment.js";
import { destinationOf } from "../model/destination.js";
import type { Member } from "../model/effect.js";
import { safeMessage } from "../model/errors.js";
import type { Lock, LockAttempt } from "../model/lock.js";
import type { Plan } from "../model/plan.js";
import type { ApplicationSync, CommandResult, Refusal } from "../model/result.js";
import { specEqual } from "../model/spec-equality.js";
import { confirmAccess, needsNoApproval } from "../policy/access.js";
import { approvalOf } from "../policy/approval.js";
import { approvalNeeds, type Deployed } from "../policy/effect-rules.js";
import type { CommandContext } from "../ports/context.js";
import { labelsFor } from "./label-selector.js";
import { plannedIn, select } from "./selection.js";
import { isHeldByPlanAlone, takeOver, takenOverSentence, type TakeOver } from "./take-over.js";

/** Its `members` are what the newest plan says that a deployment reaches: a rollback writes there as well. */
interface Target extends Deployed {
  readonly record: Deployment | undefined;
  /** Whether a plan for the present target branch says what a deployment reaches. */
  readonly planned: boolean;
}

type RollbackContext = DeployContext & Pick<CommandContext, "snapshot">;

/**
 * Syncs the applications that this change request has locked or deployed to their configured target revision, after
 * restoring the definition from before its first sync.
 */
export async function rollback(command: Command<"rollback">, context: RollbackContext): Promise<CommandResult> {
  const planned = plannedIn(await context.plans.find(context.change));
  const selection = select(await targetsOf(context), command, planned, await labelsFor(command, context));
  if (selection.kind === "refused") return selection;
  const targets = selection.items;
  const attempts = command.dryRun ? [] : await takeLocks(targets, context);
  const held = command.dryRun ? await heldByOthers(targets, context) : heldIn(attempts);
  const { blocking, takeable } = await blockingAmong(held, targets, context);
  const live = await Promise.all(targets.map((target) => look(target, context)));
  const deployed = targets.map(({ application, members }) => ({ application, members }));
  const refusal =
    checkPlanned(targets) ??
    (blocking.length > 0 ? { reason: "locked-by-other" as const, locks: blocking } : undefined) ??
    ((await needsNoApproval(command, context)) ? undefined : await checkApproval(targets, context)) ??
    checkAutoSync(live) ??
    (await confirmAccess("rollback", deployed, context));
  if (refusal !== undefined) {
    await releaseFresh(attempts, context);
    return { kind: "refused", refusal };
  }
  const taken = command.dryRun ? NONE_TAKEN : await takeOver(takeable, context);
  if (taken.kind === "refused") {
    await releaseFresh(attempts, context);
    return { kind: "refused", refusal: { reason: "locked-by-other", locks: taken.locks } };
  }
  const applications = await deployAll(
    live.map((one) => ({
      application: one.application,
      live: one.found,
      pins: [],
      revision: context.change.baseRevision,
      destination: destinationOf(one.found === undefined ? {} : restoredSpec(one.found, one.record).spec),
      after: targets
        .map(({ application }) => application)
        .filter((name) => name === one.found?.parent && name !== one.application),
      deploy: (parents) => rollbackOne(one, parents, command, context),
    })),
    context,
  );
  return {
    kind: "rolled-back",
    dryRun: command.dryRun,
    applications: applications.map((one) => withNote(one, takenOverSentence(one.application, taken.locks, context))),
    takenOver: taken.locks,
  };
}

const NONE_TAKEN: TakeOver = { kind: "taken", locks: [] };

function withNote(one: ApplicationSync, note: string | undefined): ApplicationSync {
  return note === undefined ? one : { ...one, warnings: [...one.warnings, note] };
}

/** Locked or deployed applications, without new and deleted ones, which svc never deploys. */
async function targetsOf({ locks, deployments, plans, change }: DeployContext): Promise<readonly Target[]> {
  const [held, records, plan] = await Promise.all([
    locks.list(change),
    deployments.ofChange(change),
    plans.find(change),
  ]);
  const announced = new Set(
    plan?.applications.filter(({ kind }) => kind === "new" || kind === "deleted").map(({ application }) => application),
  );
  const names = new Set([
    ...records.map(({ application }) => application),
    ...held.map(({ application }) => application).filter((name) => !announced.has(name)),
  ]);
  return [...names].sort().map((application) => ({
    application,
    members: membersOf(plan, application),
    record: records.find((record) => record.application === application),
    planned: plan?.baseBranch === change.baseBranch,
  }));
}

interface Held {
  readonly blocking: readonly Lock[];
  /** Held by plans alone, of applications that this change request deployed. */
  readonly takeable: readonly Lock[];
}

/** An emergency does not wait for a plan of somebody else, and what this change request deployed is its own to take back. */
async function blockingAmong(held: readonly Lock[], targets: readonly Target[], context: DeployContext): Promise<Held> {
  const deployed = new Set(targets.filter(({ record }) => record !== undefined).map(({ application }) => application));
  const takes = await Promise.all(
    held.map(async (lock) => deployed.has(lock.application) && (await isHeldByPlanAlone(lock, context))),
  );
  return {
    blocking: held.filter((_lock, index) => takes[index] === false),
    takeable: held.filter((_lock, index) => takes[index] === true),
  };
}

/** Rules alone matter: a rollback moves nothing, and what could not be evaluated is left or put back as it was. */
function membersOf(plan: Plan | undefined, application: string): readonly Member[] {
  const planned = plan?.applications.find((one) => one.application === application);
  const members = planned?.effect.members ?? [];
  return members.map((member) => ({ ...member, definition: { kind: "unchanged" }, problem: undefined }));
}

async function heldByOthers(targets: readonly Target[], context: DeployContext): Promise<readonly Lock[]> {
  const ours = await context.locks.list(context.change);
  const missing = targets.filter(({ application }) => !ours.some((lock) => lock.application === application));
  const found = await Promise.all(missing.map(({ application }) => context.locks.find(application)));
  return found.filter((lock) => lock !== undefined);
}

async function takeLocks(targets: readonly Target[], context: DeployContext): Promise<readonly LockAttempt[]> {
  const { locks, change, user, clock } = context;
  const holder = changeRequestRef(change);
  const common = { holder, user: user.login, planRevision: undefined, sourceFile: undefined };
  return Promise.all(targets.map(({ application }) => locks.acquire({ ...common, application }, clock.now())));
}

function heldIn(attempts: readonly LockAttempt[]): readonly Lock[] {
  return attempts.filter(({ kind }) => kind === "held").map(({ lock }) => lock);
}

/** A refused rollback keeps only the locks that it had before. */
async function releaseFresh(attempts: readonly LockAttempt[], { locks, change }: DeployContext): Promise<void> {
  const fresh = attempts.filter((attempt) => attempt.kind === "acquired" && attempt.fresh);
  await Promise.all(fresh.map(({ lock }) => locks.release(lock.application, change)));
}

/** A lock that a plan for another target branch took gives no right to deploy; a deployment of our own is ours to take back. */
function checkPlanned(targets: readonly Target[]): Refusal | undefined {
  const unplanned = targets.filter(({ record, planned }) => record === undefined && !planned);
  if (unplanned.length === 0) return undefined;
  const applications = unplanned.map(({ application }) => ({ application, planFailure: undefined, moved: RETARGETED }));
  return { reason: "stale", applications, others: [] };
}

const RETARGETED = "there is no plan of it for the present target branch";

/** The approval of the recorded deployment is enough: a rollback deploys nothing new. */
async function checkApproval(targets: readonly Target[], context: RollbackContext): Promise<Refusal | undefined> {
  const unapproved = targets.filter(({ record }) => (record?.approvers.length ?? 0) === 0);
  const needs = approvalNeeds(unapproved, context.settings);
  if (needs.length === 0) return undefined;
  const approval = await approvalOf(context);
  if (approval.approved) return undefined;
  const requiring = [...new Set(needs.map(({ application }) => application))];
  const others = targets.map(({ application }) => application).filter((name) => !requiring.includes(name));
  return {
    reason: "not-approved",
    applications: requiring,
    needs: needs.filter(({ application, member, because }) => application !== member || because !== ""),
    missing: approval.missing ?? "",
    others,
    command: "rollback",
  };
}

function checkAutoSync(live: readonly Looked[]): Refusal | undefined {
  const failing = live
    .filter(({ found }) => found !== undefined && isAutoSynced(found.spec))
    .map(({ application }) => application);
  if (failing.length === 0) return undefined;
  const others = live.map(({ application }) => application).filter((name) => !failing.includes(name));
  return { reason: "auto-sync", applications: failing, others, command: "rollback" };
}

type Looked = Target & { readonly found: LiveApplication | undefined; readonly problem: string };

async function look(target: Target, { deployer }: DeployContext): Promise<Looked> {
  try {
    const found = await deployer.findApplication(target.application);
    return { ...target, found, problem: "application not found" };
  } catch (error) {
    return { ...target, found: undefined, problem: safeMessage(error) };
  }
}

async function rollbackOne(
  looked: Looked,
  parents: readonly ApplicationSync[],
  command: Command<"rollback">,
  context: DeployContext,
): Promise<ApplicationSync> {
  // Parents have been rolled back by now, and may have written its definition.
  const { application, record, found, problem } = parents.length === 0 ? looked : await look(looked, context);
  if (found === undefined) return { application, warnings: [], kind: "rejected", message: problem };
  const words = context.hostWords[context.change.host];
  const { restores, spec } = restoredSpec(found, record);
  const warnings =
    record?.specWritten === undefined || restores || parents.some(({ kind }) => kind === "succeeded")
      ? []
      : [`its definition is not the one that this ${words.short} wrote, and was left as it is`];
  const outcome = await deployOne({ live: found, spec, at: "target" }, command, context);
  const unsettled =
    outcome.kind === "succeeded" && !command.dryRun ? await settleRollback(application, context) : undefined;
  return { application, ...outcome, warnings: unsettled === undefined ? warnings : [...warnings, unsettled] };
}

/** Its definition after the rollback: the one from before the first sync, if the live one is still ours. */
function restoredSpec({ spec }: LiveApplication, record: Deployment | undefined) {
  if (record?.specWritten === undefined || !specEqual(spec, record.specWritten)) return { restores: false, spec };
  return { restores: true, spec: record.specBefore };
}
