import { changeRequestKey, type ChangeRequestRef } from "../../core/model/change-request.js";
import { PLAN_LIFETIME_MS, type Plan } from "../../core/model/plan.js";
import type { Clock } from "../../core/ports/clock.js";
import type { PlanStore } from "../../core/ports/plan-store.js";

interface Entry {
  readonly plan: Plan;
  /** Milliseconds since 1970. */
  readonly expires: number;
}

/** The last plan of each change request, in this process. */
export class MemoryPlanStore implements PlanStore {
  readonly #entries = new Map<string, Entry>();

  constructor(private readonly clock: Clock) {}

  save(plan: Plan): Promise<void> {
    const now = this.clock.now().getTime();
    for (const [key, entry] of this.#entries) if (entry.expires <= now) this.#entries.delete(key);
    this.#entries.set(changeRequestKey(plan.change), { plan, expires: now + PLAN_LIFETIME_MS });
    return Promise.resolve();
  }

  find(change: ChangeRequestRef): Promise<Plan | undefined> {
    const entry = this.#entries.get(changeRequestKey(change));
    const alive = entry !== undefined && entry.expires > this.clock.now().getTime();
    return Promise.resolve(alive ? entry.plan : undefined);
  }
}
