import type { Clock } from "../../src/core/ports/clock.js";

/** What the run waits with. */
export interface Waiting {
  readonly clock: Clock;
  /** Aborted when the person stops the run. */
  readonly signal: AbortSignal;
}

const EVERY_MS = 1_000;

/**
 * Looks every second until there is a value.
 * @param what completes "… within 60 seconds": `web is not deployed`.
 * @throws {Error} after the limit, or the signal's reason.
 */
export async function waitFor<T>(
  look: () => Promise<T | undefined>,
  what: string,
  limitMs: number,
  { clock, signal }: Waiting,
): Promise<T> {
  const end = clock.now().getTime() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (clock.now().getTime() >= end) throw new Error(`${what} within ${limitMs / 1000} seconds`);
    await clock.sleep(EVERY_MS, signal);
  }
}
