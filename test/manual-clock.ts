import type { Clock } from "../src/core/ports/clock.js";

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now: number;
  #sleepers: { readonly due: number; readonly wake: () => void }[] = [];

  constructor(start = "2026-03-02T10:00:00.000Z") {
    this.#now = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#now);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = () => reject(signal?.reason as Error);
      if (signal?.aborted === true) {
        fail();
        return;
      }
      signal?.addEventListener("abort", fail, { once: true });
      const wake = () => {
        signal?.removeEventListener("abort", fail);
        resolve();
      };
      this.#sleepers.push({ due: this.#now + ms, wake });
    });
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#sleepers.filter((sleeper) => sleeper.due <= this.#now);
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.due > this.#now);
    for (const sleeper of due) sleeper.wake();
  }
}
