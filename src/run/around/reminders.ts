import type { Clock } from "../../core/ports/clock.js";
import type { StoreConnection } from "../../http/redis.js";
import { QUEUE_KEY_PREFIX } from "../../names.js";

const EVERY_MS = 24 * 60 * 60 * 1000;

/** When each change request was last reminded, shared by all replicas: not more than once a day. */
export class Reminders {
  readonly #inMemory = new Map<string, number>();

  constructor(
    private readonly connection: StoreConnection | undefined,
    private readonly clock: Clock,
  ) {}

  /**
   * Whether it is time to remind this change request. If so, it is not for a day, whatever becomes of the reminder.
   * @throws {StoreUnavailable}
   */
  async isTime(changeRequestKey: string): Promise<boolean> {
    if (this.connection !== undefined) {
      const key = `${QUEUE_KEY_PREFIX}:reminded:${changeRequestKey}`;
      return (await this.connection.run((redis) => redis.set(key, "1", "PX", EVERY_MS, "NX"))) === "OK";
    }
    const now = this.clock.now().getTime();
    for (const [key, last] of this.#inMemory) if (now - last >= EVERY_MS) this.#inMemory.delete(key);
    if (this.#inMemory.has(changeRequestKey)) return false;
    this.#inMemory.set(changeRequestKey, now);
    return true;
  }
}
