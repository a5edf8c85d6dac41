import type { DeployContext } from "../deploy/deploy.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef, sameChangeRequest } from "../model/change-request.js";
import { referenceTo } from "../model/host-words.js";
import type { Lock, LockAttempt } from "../model/lock.js";

/** The locks that a rollback took over, or those that kept it from doing so. */
export type TakeOver =
  | { readonly kind: "taken"; readonly locks: readonly Lock[] }
  | { readonly kind: "refused"; readonly locks: readonly Lock[] };

/** Locks applications for a rollback, or says who holds them. */
export async function attemptLocks(
  applications: readonly ApplicationName[],
  { locks, change, user, clock }: DeployContext,
): Promise<readonly LockAttempt[]> {
  const holder = changeRequestRef(change);
  const common = { holder, user: user.login, planRevision: undefined, sourceFile: undefined };
  return Promise.all(applications.map((application) => locks.acquire({ ...common, application }, clock.now())));
}

/** A refused rollback keeps only the locks that it had before. */
export async function releaseFresh(
  attempts: readonly LockAttempt[],
  { locks, change }: Pick<DeployContext, "locks" | "change">,
): Promise<void> {
  const fresh = attempts.filter((attempt) => attempt.kind === "acquired" && attempt.fresh);
  await Promise.all(fresh.map(({ lock }) => locks.release(lock.application, change)));
}

/** Whether the holder has only planned the application: it never wrote anything of it to Argo CD. */
async function isHeldByPlanAlone(
  { application, holder }: Pick<Lock, "application" | "holder">,
  { deployments }: Pick<DeployContext, "deployments">,
): Promise<boolean> {
  const records = await deployments.ofApplication(application);
  return !records.some((record) => sameChangeRequest(record.change, holder));
}

/**
 * Takes over locks that only plans hold, all or none. A holder that starts to deploy meanwhile writes its record first and
 * then looks whether the lock is still its own, so one of the two always sees the other.
 */
export async function takeOver(held: readonly Lock[], context: DeployContext): Promise<TakeOver> {
  const { locks, change, user, clock } = context;
  const taken: Lock[] = [];
  const lost: Lock[] = [];
  for (const lock of held) {
    const request = { application: lock.application, holder: changeRequestRef(change), user: user.login };
    const attempt = await locks.acquire(
      { ...request, planRevision: undefined, sourceFile: undefined },
      clock.now(),
      lock.holder,
    );
    if (attempt.kind === "held") lost.push(attempt.lock);
    else {
      taken.push(lock);
      if (!(await isHeldByPlanAlone(lock, context))) lost.push(lock);
    }
  }
  if (lost.length === 0) return { kind: "taken", locks: taken };
  await giveBack(taken, context);
  return { kind: "refused", locks: lost };
}

/** Returns what was taken over to those who held it. */
async function giveBack(taken: readonly Lock[], { locks, change, clock }: DeployContext): Promise<void> {
  await Promise.all(taken.map((lock) => locks.acquire(lock, clock.now(), changeRequestRef(change))));
}

/** A sentence for the result of the application whose lock was taken over. */
export function takenOverSentence(
  application: ApplicationName,
  taken: readonly Lock[],
  { change, hostWords }: DeployContext,
): string | undefined {
  const lock = taken.find((one) => one.application === application);
  if (lock === undefined) return undefined;
  return `its lock was taken over from ${referenceTo(lock.holder, change, hostWords[change.host])} (${lock.user}), which had only planned it and has to plan it again`;
}
