import type { ApplicationName } from "../../core/model/brand.js";
import { changeRequestKey, changeRequestRef, type ChangeRequestRef } from "../../core/model/change-request.js";
import { MAX_WAITING, WAITING_LIFETIME_MS, type Waiting } from "../../core/model/lock.js";
import type { Clock } from "../../core/ports/clock.js";
import type { WaitStore } from "../../core/ports/stores.js";
import { byApplication } from "../order.js";

interface Queue {
  /** By key, in the order in which they joined. */
  readonly changes: Map<string, ChangeRequestRef>;
  /** Milliseconds since 1970. */
  expires: number;
}

/** Every method is atomic, since none of them awaits anything. */
export class MemoryWaitStore implements WaitStore {
  readonly #queues = new Map<ApplicationName, Queue>();

  constructor(private readonly clock: Clock) {}

  join(application: ApplicationName, change: ChangeRequestRef): Promise<number | undefined> {
    const key = changeRequestKey(change);
    const queue = this.#current(application) ?? { changes: new Map<string, ChangeRequestRef>(), expires: 0 };
    if (!queue.changes.has(key)) {
      if (queue.changes.size >= MAX_WAITING) return Promise.resolve(undefined);
      queue.changes.set(key, changeRequestRef(change));
    }
    queue.expires = this.clock.now().getTime() + WAITING_LIFETIME_MS;
    this.#queues.set(application, queue);
    return Promise.resolve([...queue.changes.keys()].indexOf(key) + 1);
  }

  leave(application: ApplicationName, change: ChangeRequestRef): Promise<boolean> {
    const queue = this.#current(application);
    const waited = queue?.changes.delete(changeRequestKey(change)) ?? false;
    if (queue?.changes.size === 0) this.#queues.delete(application);
    return Promise.resolve(waited);
  }

  of(application: ApplicationName): Promise<readonly ChangeRequestRef[]> {
    return Promise.resolve([...(this.#current(application)?.changes.values() ?? [])]);
  }

  list(): Promise<readonly Waiting[]> {
    const queues = [...this.#queues.keys()].flatMap((application): readonly Waiting[] => {
      const queue = this.#current(application);
      return queue === undefined ? [] : [{ application, changes: [...queue.changes.values()] }];
    });
    return Promise.resolve(queues.sort(byApplication));
  }

  #current(application: ApplicationName): Queue | undefined {
    const queue = this.#queues.get(application);
    if (queue === undefined || queue.expires > this.clock.now().getTime()) return queue;
    this.#queues.delete(application);
    return undefined;
  }
}
