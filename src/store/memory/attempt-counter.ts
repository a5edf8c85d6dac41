import type { AttemptCounter } from "../../core/ports/attempt-counter.js";
import type { Clock } from "../../core/ports/clock.js";

const MOST_KEYS = 10_000;

interface Window {
  count: number;
  readonly endsAt: number;
}

/** Counts in this process alone; of too many addresses the oldest windows are dropped. */
export class MemoryAttemptCounter implements AttemptCounter {
  readonly #windows = new Map<string, Window>();

  constructor(private readonly clock: Clock) {}

  add(key: string, windowMs: number): ReturnType<AttemptCounter["add"]> {
    const now = this.clock.now().getTime();
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      this.#windows.delete(key);
      const oldest = this.#windows.keys().next();
      if (this.#windows.size >= MOST_KEYS && oldest.done !== true) this.#windows.delete(oldest.value);
      window = { count: 0, endsAt: now + windowMs };
      this.#windows.set(key, window);
    }
    window.count += 1;
    return Promise.resolve({ count: window.count, resetsInMs: window.endsAt - now });
  }
}
