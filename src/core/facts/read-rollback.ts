import { isMerged } from "../deploy/settle.js";
import { movingPositions } from "../detect/inputs/moving-sources.js";
import { type Application, type ApplicationSpec, type LiveApplication, syncsItself } from "../model/application.js";
import type { ApplicationName, Revision } from "../model/brand.js";
import { sameChangeRequest } from "../model/change-request.js";
import { allInTurns, groupedBy } from "../model/collections.js";
import type { Command } from "../model/command.js";
import { type Deployment, restoredSpec } from "../model/deployment.js";
import { HeadMoved, LeaseLost, only, RepositoryFailure, safeMessage } from "../model/errors.js";
import type { Lock, LockAttempt } from "../model/lock.js";
import { type LiveSubject, specBeforeOf } from "../model/subject.js";
import { approvalNeedsOf, touchedBy } from "../policy/application-state.js";
import type { ApplicationFacts, Asker, Facts, ReachedFacts, UntoldSoFar } from "../policy/facts.js";
import type { CommandContext, OpenedChange } from "../ports/context.js";
import { inputsOfSide, type RenderInputs } from "../render/render.js";
import { syncingSetOf } from "../survey/members.js";
import { type AccessContext, barredFrom, needsNoApproval, needsWriteAccess } from "./access.js";
import { leftOverIn } from "./pruned.js";
import { type ReadFacts, tell } from "./read-facts.js";

/** The facts of a rollback, and the applications that it deploys. */
export interface RollbackReading {
  readonly facts: Facts;
  readonly targets: readonly RollbackTarget[];
  /** Locks that plans alone hold, of applications that this change request deployed. */
  readonly takeable: readonly Lock[];
}

export interface RollbackTarget {
  readonly application: ApplicationName;
  readonly record: Deployment | undefined;
  /** All records, also those of other change requests: what one wrote and did not merge is not the target branch's definition. */
  readonly records: readonly Deployment[];
  /** Undefined if Argo CD does not show it, for the reason `problem`. */
  readonly live: LiveApplication | undefined;
  readonly problem: string;
}

/** Reads what a rollback has to know before its first call that deploys. @param attempts to lock the applications; empty for a dry run. */
export async function readForRollback(
  command: Command<"rollback">,
  names: readonly ApplicationName[],
  attempts: readonly LockAttempt[],
  { facts, plan, records, approvals }: ReadFacts,
  context: AccessContext & OpenedChange & Pick<CommandContext, "deployer" | "locks" | "signal">,
): Promise<RollbackReading> {
  const { host, change, settings, user } = context;
  const untold: UntoldSoFar = { ...facts.untold };
  const lockOf = new Map(attempts.map(({ lock }) => [lock.application, lock]));
  const recordsOf = (name: ApplicationName) => records.filter(({ application }) => application === name);
  const targets = await Promise.all(names.map((name) => lookAtTarget(name, recordsOf(name), context)));
  const liveOf = new Map(targets.map((target) => [target.application, target]));
  const readDeleted = () => deletedBelow(targets, facts, command.prune || settings.prune, context);
  const deletes = await tell(untold, "locks", readDeleted, undefined);
  const selected = facts.applications.filter(({ application }) => names.includes(application));
  const withoutApproval = await needsNoApproval(command, context);
  const looked = await Promise.all(
    selected.map(async (one): Promise<ApplicationFacts> => {
      const { application } = one;
      const target = liveOf.get(application);
      const lock = lockOf.get(application) ?? one.lock;
      const running = target?.live;
      const autoSynced = running !== undefined && syncsItself(running);
      const syncingSet = running && syncingSetOf(running);
      const takeable = isTakeable(one, lock);
      const now = { autoSynced, syncingSet, takeable, deletes: deletes?.get(application) };
      const asks = !withoutApproval && approvalNeedsOf(one, "rollback").length > 0;
      const baseKept = asks && target !== undefined && (await isBaseKept(target, context));
      return { ...one, lock, now, record: one.record && { ...one.record, baseKept } };
    }),
  );
  const asks = !withoutApproval && looked.some((one) => approvalNeedsOf(one, "rollback").length > 0);
  const members = (name: ApplicationName) =>
    plan?.applications.find(({ application }) => application === name)?.effect.members ?? [];
  const deployed = names.map((application) => ({ application, members: members(application) }));
  const [merged, approval, mayWrite, barred] = await Promise.all([
    isMerged(change, host),
    asks ? tell(untold, "approval", approvals, undefined) : undefined,
    needsWriteAccess(settings, change) ? tell(untold, "access", () => host.mayCommand(change, user), false) : true,
    barredFrom("rollback", deployed, context),
  ]);
  const asker: Asker = { login: user.login, mayWrite, withoutApproval, barred, selected: names };
  const rest = facts.applications.filter(({ application }) => !names.includes(application));
  return {
    facts: {
      ...facts,
      untold,
      asker,
      approval,
      applications: [...looked, ...rest],
      change: merged ? { ...facts.change, state: "merged" } : facts.change,
    },
    targets,
    takeable: looked.flatMap(({ lock, now }) =>
      lock !== undefined && now?.takeable === true && !sameChangeRequest(lock.holder, change) ? [lock] : [],
    ),
  };
}

/** Whether the lock's holder has only planned what this change request has deployed. */
function isTakeable({ record, foreign }: ApplicationFacts, lock: Lock | undefined): boolean {
  return record !== undefined && !foreign.some(({ change }) => lock && sameChangeRequest(change, lock.holder));
}

/**
 * The applications that go with the rollback of each target, with their locks: those that only the cluster has, if it prunes, and those
 * that an ApplicationSet generates only since somebody else deployed the target. Not what this change request has locked or deployed,
 * or takes over the lock of.
 */
async function deletedBelow(
  targets: readonly RollbackTarget[],
  facts: Facts,
  prunes: boolean,
  context: Pick<CommandContext, "deployer" | "locks" | "signal">,
): Promise<ReadonlyMap<ApplicationName, readonly ReachedFacts[]>> {
  const parents = targets.flatMap(({ application: name, live }) =>
    live === undefined || !prunes ? [] : [{ name, live }],
  );
  const pruned = (await leftOverIn(parents, context)).flatMap(({ application, deletedBy = [] }) =>
    deletedBy.map((parent) => ({ application, parent })),
  );
  const planned = facts.applications.filter(({ record, foreign }) => record === undefined && foreign.length > 0);
  const removed = planned.flatMap((one) =>
    touchedBy(one, facts).flatMap(({ parent, child, deletes, pruned }) =>
      deletes && !pruned ? [{ application: child.application, parent }] : [],
    ),
  );
  const held = await allInTurns([...pruned, ...removed], async ({ application, parent }) => {
    const lock = await context.locks.find(application);
    const known = facts.applications.find((one) => one.application === application);
    const isTarget = targets.some((one) => one.application === application);
    const isOwn = lock !== undefined && sameChangeRequest(lock.holder, facts.change);
    const goesAlong = isOwn || (known && isTakeable(known, lock) && (isTarget || lock === undefined));
    return goesAlong ? [] : [{ parent, application, lock }];
  });
  return groupedBy(held.flat(), ({ parent }) => parent);
}

const NOT_FOUND =
  "application not found: Argo CD does not know it any more, or svc's token may not see it. If it still exists, give the token `get` on it and run the rollback command again";

/** An application as it is now, for a rollback. Where Argo CD does not answer, that is its `problem`. */
export async function lookAtTarget(
  application: ApplicationName,
  records: readonly Deployment[],
  { deployer, change }: Pick<CommandContext, "deployer" | "change">,
): Promise<RollbackTarget> {
  const record = records.find((one) => sameChangeRequest(one.change, change));
  try {
    const live = await deployer.findApplication(application);
    return { application, record, records, live, problem: NOT_FOUND };
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    return { application, record, records, live: undefined, problem: safeMessage(error) };
  }
}

/** Whether what a rollback of this application would deploy depends on the target branch and on immutable things only. */
export async function isBasePinned(subject: LiveSubject, source: OpenedChange): Promise<boolean> {
  const inputs = rollbackInputs(subject.live, specBeforeOf(subject), source.change.baseRevision, source);
  return (await inputs.catch(only(RepositoryFailure, () => ({ pinned: false })))).pinned;
}

/**
 * Whether the target branch has what it had when the record was written, in everything that the application is deployed
 * from: then a rollback only restores what ran before, and nobody has to approve that. What is not certain is not the same.
 */
async function isBaseKept({ live, record, records }: RollbackTarget, source: OpenedChange): Promise<boolean> {
  const from = record?.baseRevision;
  if (live === undefined || from === undefined) return false;
  const { spec } = restoredSpec(live, records);
  try {
    const [before, now] = await Promise.all(
      [from, source.change.baseRevision].map((at) => rollbackInputs(live, spec, at, source)),
    );
    return before?.pinned === true && now?.pinned === true && before.fingerprint === now.fingerprint;
  } catch (error) {
    if (error instanceof HeadMoved || error instanceof LeaseLost) throw error;
    return false;
  }
}

/** Sources that follow another branch count as read from elsewhere: that branch may move. */
function rollbackInputs(
  live: Application,
  spec: ApplicationSpec,
  at: Revision,
  source: OpenedChange,
): Promise<RenderInputs> {
  return inputsOfSide(live, { spec, positions: movingPositions(spec, source.change), fixed: [] }, at, source);
}
