import { sameChangeRequest, type ChangeRequestRef } from "../model/change-request.js";
import { allInTurns } from "../model/in-turns.js";
import type { ApplicationPlan, Plan, PlanLock } from "../model/plan.js";
import type { LockStore, WaitStore } from "../ports/stores.js";

/** Where a lock and its queue are looked up. */
export interface LockPorts {
  readonly locks: Pick<LockStore, "find">;
  readonly waiting: Pick<WaitStore, "of">;
}

/** A stored plan with the locks as they are now: they change without it. @throws {StoreUnavailable} */
export async function withPresentLocks(plan: Plan, ports: LockPorts): Promise<Plan> {
  return { ...plan, applications: await allInTurns(plan.applications, (one) => presentLock(one, plan.change, ports)) };
}

/** One application of a plan of `change` with its lock as it is now. @throws {StoreUnavailable} */
export async function presentLock(
  planned: ApplicationPlan,
  change: ChangeRequestRef,
  { locks, waiting }: LockPorts,
): Promise<ApplicationPlan> {
  if (planned.kind === "unplanned" || planned.lock.kind === "not-needed") return planned;
  const { application } = planned;
  const lock = await locks.find(application);
  const now = async (): Promise<PlanLock> => {
    if (lock === undefined) return { kind: "free" };
    if (sameChangeRequest(lock.holder, change)) return { kind: "ours" };
    const queue = await waiting.of(application);
    const index = queue.findIndex((one) => sameChangeRequest(one, change));
    return { kind: "held", by: lock, place: index === -1 ? undefined : index + 1 };
  };
  return { ...planned, lock: await now() };
}
