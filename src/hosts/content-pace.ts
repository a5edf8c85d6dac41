import type { Clock } from "../core/ports/clock.js";

/** How many comments, reactions and statuses a host takes from one account. */
export interface ContentLimits {
  readonly perMinute: number;
  readonly perHour: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Lets writes of content through one after the other, and not faster than the host takes them. */
export interface ContentPace {
  /** Resolves when the next write may be sent; rejects with the signal's reason when aborted. */
  turn(signal?: AbortSignal): Promise<void>;
  /** The host asked for a pause of so many milliseconds. */
  hold(ms: number): void;
}

/** Counts what this process sends; a second replica has its own count, and what that adds the host answers with 429. */
export function createContentPace({ perMinute, perHour }: ContentLimits, clock: Clock): ContentPace {
  /** Times of the newest writes, oldest first; no more than the limit of an hour. */
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
    // A pause that was asked for meanwhile counts as well.
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
