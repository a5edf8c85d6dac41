import { type ChangeRequestRef, identityKey } from "../../core/model/change-request.js";
import type { Hold } from "../../core/model/hold.js";
import { PLAN_LIFETIME_MS } from "../../core/model/plan/plan.js";
import type { Rollout } from "../../core/model/rollout.js";
import type { Clock } from "../../core/ports/clock.js";
import type { HoldStore, RolloutStore } from "../../core/ports/stores.js";
import { byBegin, bySince } from "../stores.js";

export class MemoryHoldStore implements HoldStore {
  readonly #holds = new Map<string, Hold>();

  constructor(private readonly clock: Clock) {}

  save(hold: Hold): Promise<void> {
    this.#holds.set(hold.id, hold);
    return Promise.resolve();
  }

  async remove(id: string): Promise<Hold | undefined> {
    const hold = (await this.list()).find((one) => one.id === id);
    this.#holds.delete(id);
    return hold;
  }

  list(): Promise<readonly Hold[]> {
    const now = this.clock.now().getTime();
    for (const { id, until } of this.#holds.values()) if (Date.parse(until) <= now) this.#holds.delete(id);
    return Promise.resolve([...this.#holds.values()].sort(byBegin));
  }
}

/** The rollouts of merged change requests. */
export class MemoryRolloutStore implements RolloutStore {
  readonly #rollouts = new Map<string, Rollout>();

  constructor(private readonly clock: Clock) {}

  save(rollout: Rollout): Promise<void> {
    this.#rollouts.set(identityKey(rollout.change), rollout);
    return Promise.resolve();
  }

  find(change: ChangeRequestRef): Promise<Rollout | undefined> {
    return Promise.resolve(this.#present().get(identityKey(change)));
  }

  list(): Promise<readonly Rollout[]> {
    const followed = [...this.#present().values()].filter(({ ended }) => ended === undefined);
    return Promise.resolve(followed.sort(bySince));
  }

  #present(): ReadonlyMap<string, Rollout> {
    const now = this.clock.now().getTime();
    for (const [key, { until }] of this.#rollouts) {
      if (Date.parse(until) + PLAN_LIFETIME_MS <= now) this.#rollouts.delete(key);
    }
    return this.#rollouts;
  }
}
