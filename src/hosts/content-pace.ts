import type { Clock } from "../core/ports/clock.js";

/** How many comments, reactions and statuses a host accepts from one account. */
export interface ContentLimits {
  readonly perMinute: number;
  readonly perHour: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Spaces writes of content so that they stay below the host's limits. */
export interface ContentPace {
  /** Resolves when the next write may be sent; rejects with the signal's reason when aborted. */
  turn(signal?: AbortSignal): Promise<void>;
  /** The host asked for a pause of so many milliseconds. */
  hold(ms: number): void;
}

/** Counts this process only: if several replicas exceed a limit together, the host answers 429. */
export function createContentPace({ perMinute, perHour }: ContentLimits, clock: Clock): ContentPace {
  /** Times of the newest writes, oldest first; at most `perHour`. */
  const sent: number[] = [];
  let heldUntil = 0;
  let last: Promise<void> = Promise.resolve();

  function pauseAt(now: number): number {
    const minuteAgo = sent.at(-perMinute);
    const hourAgo = sent.at(-perHour);
    const free = Math.max(
      heldUntil,
      minuteAgo === undefined ? 0 : minuteAgo + MINUTE_MS,
      hourAgo === undefined ? 0 : hourAgo + HOUR_MS,
    );
    return free - now;
  }

  async function pass(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    // `hold` may have been called during the sleep.
    for (let pause = pauseAt(clock.now().getTime()); pause > 0; pause = pauseAt(clock.now().getTime())) {
      await clock.sleep(pause, signal);
    }
    sent.push(clock.now().getTime());
    if (sent.length > perHour) sent.shift();
  }

  return {
    turn(signal) {
      const mine = last.then(() => pass(signal));
      last = mine.catch(() => undefined);
      return mine;
    },
    hold(ms) {
      heldUntil = Math.max(heldUntil, clock.now().getTime() + ms);
    },
  };
}
