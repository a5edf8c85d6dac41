import type { Clock } from "../../src/core/ports/clock.js";

/** A clock on which every sleep is over at once; it keeps how long they would have been, in milliseconds. */
export function skippingClock(): Clock & { readonly sleeps: readonly number[] } {
  const sleeps: number[] = [];
  let now = Date.parse("2026-03-02T10:00:00.000Z");
  return {
    sleeps,
    now: () => new Date(now),
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      sleeps.push(ms);
      now += ms;
    },
  };
}
