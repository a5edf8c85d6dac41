import type { Hold } from "../../core/model/hold.js";
import type { Clock } from "../../core/ports/clock.js";
import type { HoldStore } from "../../core/ports/stores.js";
import { byBegin } from "../stores.js";

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
