import { LRUCache } from "lru-cache";
import {
  afterAttempt,
  brokenAfter,
  type Outbox,
  type OutboxOptions,
  type OutgoingMessage,
  type ReceiverState,
} from "../../core/ports/notifications.js";
import type { ContentBudget, ContentLimit, Taken } from "../../core/ports/stores.js";

const MAX_IDS = 10_000;

/** An outbox in memory: messages that are not delivered are lost when the process ends. */
export function createMemoryOutbox(options: OutboxOptions): Outbox {
  return new MemoryOutbox(options);
}

class MemoryOutbox implements Outbox {
  readonly #known = new LRUCache<string, true>({ maxSize: MAX_IDS, sizeCalculation: () => 1 });
  readonly #lines: ReadonlyMap<string, Line>;
  /** Wakes the deliveries that wait for a retry. */
  readonly #closing = new AbortController();
  readonly #stopping = new AbortController();

  constructor(private readonly options: OutboxOptions) {
    this.#lines = new Map(options.receivers.map((name) => [name, new Line()]));
  }

  add(messages: readonly OutgoingMessage[]): Promise<void> {
    for (const message of messages) {
      const line = this.#lines.get(message.receiver);
      const key = `${message.receiver} ${message.id}`;
      if (line === undefined || this.#known.has(key) || this.#closing.signal.aborted) continue;
      this.#known.set(key, true);
      const work: Promise<void> = this.#work(message, line).finally(() => line.working.delete(work));
      line.working.add(work);
    }
    return Promise.resolve();
  }

  states(): Promise<readonly ReceiverState[]> {
    const states = [...this.#lines].map(([receiver, { working, broken }]) => {
      return { receiver, waiting: working.size, broken };
    });
    return Promise.resolve(states);
  }

  async close(graceMs: number): Promise<void> {
    this.#closing.abort(CLOSED);
    const timer = new AbortController();
    const ended = Promise.all([...this.#lines.values()].flatMap(({ working }) => [...working]));
    const late = this.options.clock.sleep(graceMs, timer.signal).catch(() => undefined);
    await Promise.race([ended, late]);
    timer.abort();
    this.#stopping.abort(CLOSED);
    await ended;
  }

  async #work(message: OutgoingMessage, line: Line): Promise<void> {
    const { clock, deliver, onAttempt, retryAfterMs } = this.options;
    try {
      for (let attempts = 1; ; attempts += 1) {
        const delivery = await line.inTurn(async () => {
          this.#closing.signal.throwIfAborted();
          return deliver(message, this.#stopping.signal);
        });
        this.#stopping.signal.throwIfAborted();
        line.broken = brokenAfter(delivery, line.broken, clock.now());
        const { pause, outcome } = afterAttempt(attempts, delivery, retryAfterMs);
        onAttempt(message.receiver, outcome, delivery);
        if (pause === undefined) return;
        await clock.sleep(pause, this.#closing.signal);
      }
    } catch (error) {
      if (error !== CLOSED) throw error;
    }
  }
}

const CLOSED = new Error("the outbox is closed");

/** The messages of one receiver, which gets one at a time. */
class Line {
  readonly working = new Set<Promise<void>>();
  broken: ReceiverState["broken"];
  #last: Promise<unknown> = Promise.resolve();

  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

interface Write {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly rank: number;
}

export class MemoryContentBudget implements ContentBudget {
  readonly #writes = new Map<string, readonly Write[]>();

  /** @param now Returns the time in milliseconds since 1970. */
  constructor(private readonly now: () => number) {}

  take(account: string, rank: number, limits: readonly ContentLimit[]): Promise<Taken> {
    const now = this.now();
    const writes = this.#recent(account, limits);
    const freeAt = Math.max(now, ...limits.map((limit) => freeAtOf(writes, limit, now)));
    if (freeAt > now) return Promise.resolve({ kind: "full", freeInMs: freeAt - now });
    this.#writes.set(account, [...writes, { at: now, rank }]);
    return Promise.resolve({ kind: "taken" });
  }

  add(account: string, rank: number, limits: readonly ContentLimit[]): void {
    this.#writes.set(account, [...this.#recent(account, limits), { at: this.now(), rank }]);
  }

  #recent(account: string, limits: readonly ContentLimit[]): readonly Write[] {
    const since = this.now() - Math.max(0, ...limits.map(({ windowMs }) => windowMs));
    return (this.#writes.get(account) ?? []).filter(({ at }) => at > since);
  }
}

/** When the oldest of the newest `max` writes leaves the window; 0 if there are fewer. */
function freeAtOf(writes: readonly Write[], { windowMs, max, rank }: ContentLimit, now: number): number {
  const counted = writes.filter((write) => write.rank <= rank && write.at > now - windowMs);
  const oldest = counted.at(-max);
  return oldest === undefined ? 0 : oldest.at + windowMs;
}
