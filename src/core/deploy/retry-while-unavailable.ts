import { StoreUnavailable } from "../model/errors.js";
import type { Clock } from "../ports/clock.js";

const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15_000];

/**
 * Repeats a write to the store for about half a minute while the store is unavailable. The write must be idempotent:
 * one that failed may have happened.
 * @throws {StoreUnavailable} if the store stays unavailable.
 */
export async function retryWhileUnavailable(clock: Clock, write: () => Promise<unknown>): Promise<void> {
  for (const pause of [...PAUSES_MS, undefined]) {
    try {
      await write();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || pause === undefined) throw error;
      await clock.sleep(pause);
    }
  }
}
