import type { Clock } from "../src/core/ports/clock.js";

/** A clock that jumps to the next timer instead of waiting; timers end in the order of their times. */
export class JumpClock implements Clock {
  #now: number;
  readonly #timers: { readonly due: number; readonly end: () => void }[] = [];

  constructor(start = Date.now()) {
    this.#now = start;
  }

  now(): Date {
    return new Date(this.#now);
  }

  /** Lets time pass without a timer. */
  advance(ms: number): void {
    this.#now += ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = () => reject(signal?.reason as Error);
      signal?.addEventListener("abort", onAbort, { once: true });
      const end = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#timers.push({ due: this.#now + ms, end });
      setImmediate(() => this.#jump());
    });
  }

  #jump(): void {
    this.#timers.sort((left, right) => left.due - right.due);
    const next = this.#timers.shift();
    if (next === undefined) return;
    this.#now = Math.max(this.#now, next.due);
    next.end();
  }
}
