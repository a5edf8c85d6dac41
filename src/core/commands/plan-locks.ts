import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef } from "../model/change-request.js";
import { allInTurns } from "../model/in-turns.js";
import type { LockAttempt } from "../model/lock.js";
import type { ApplicationPlan, PlanLock } from "../model/plan.js";
import type { Subject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";

/** Locks an application for a plan, without its revision. Applications that are not deployed from here stay unlocked. */
export async function acquireOne(
  subject: Subject,
  into: Map<ApplicationName, LockAttempt>,
  { locks, change, user, clock }: CommandContext,
): Promise<void> {
  const { name, sourceFile } = subject;
  if (subject.kind === "live" && subject.notDriven !== undefined) {
    // An earlier head may have locked it, without a change of its definition.
    await locks.release(name, change);
    return;
  }
  const request = {
    application: name,
    holder: changeRequestRef(change),
    user: user.login,
    planRevision: undefined,
    sourceFile,
  };
  into.set(name, await locks.acquire(request, clock.now()));
}

/** Releases the locks that an aborted plan took; earlier ones stay. */
export async function releaseFresh(
  taken: ReadonlyMap<ApplicationName, LockAttempt>,
  { locks, change, log }: CommandContext,
) {
  const fresh = [...taken].filter(([, attempt]) => attempt.kind === "acquired" && attempt.fresh);
  const released = await Promise.allSettled(fresh.map(([name]) => locks.release(name, change)));
  if (released.some(({ status }) => status === "rejected")) {
    log.warn({ applications: fresh.map(([name]) => name) }, "could not release the locks of a stopped plan");
  }
}

/** The lock of a plan; `attempt` is undefined if none was made. */
export function lockOf(attempt: LockAttempt | undefined): PlanLock {
  if (attempt === undefined) return { kind: "not-needed" };
  return attempt.kind === "held" ? { kind: "held", by: attempt.lock } : { kind: "ours" };
}

/**
 * Writes the plan revision into the locks of evaluated applications. Releases auto-synced ones that are proven unchanged,
 * so that they do not block others.
 */
export async function settleLocks(
  applications: readonly ApplicationPlan[],
  taken: Map<ApplicationName, LockAttempt>,
  { locks, change, user, clock }: CommandContext,
): Promise<readonly ApplicationPlan[]> {
  return allInTurns(applications, async (one): Promise<ApplicationPlan> => {
    if (one.lock.kind !== "ours" || one.kind === "unevaluated" || one.kind === "unplanned") return one;
    if (one.kind === "evaluated" && one.verdict === "unchanged" && one.atMerge !== undefined) {
      await locks.release(one.application, change);
      return { ...one, lock: { kind: "not-needed" } };
    }
    const attempt = await locks.acquire(
      {
        application: one.application,
        holder: changeRequestRef(change),
        user: user.login,
        planRevision: change.headRevision,
        sourceFile: one.sourceFile,
      },
      clock.now(),
    );
    // The lock was released meanwhile, for example by a close on another replica, and this plan took it again.
    if (attempt.kind === "acquired" && attempt.fresh) taken.set(one.application, attempt);
    return attempt.kind === "held" ? { ...one, lock: { kind: "held", by: attempt.lock } } : one;
  });
}

/** Releases the locks of applications that the change request no longer affects. */
export async function releaseOthers(
  affected: ReadonlySet<string>,
  { locks, change }: CommandContext,
): Promise<readonly ApplicationName[]> {
  const held = await locks.list(change);
  const others = held.filter(({ application }) => !affected.has(application)).map(({ application }) => application);
  await allInTurns(others, (name) => locks.release(name, change));
  return others;
}
