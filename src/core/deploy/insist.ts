import { StoreUnavailable } from "../model/errors.js";
import type { Clock } from "../ports/clock.js";

const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15_000];

/**
 * Repeats a write to the store that must not be lost, for about half a minute while the store is away. The write has to
 * be repeatable: it may have happened although it failed.
 * @throws {StoreUnavailable} when the store stayed away.
 */
export async function insist(parts: { readonly clock: Clock }, write: () => Promise<unknown>): Promise<void> {
  for (const pause of [...PAUSES_MS, undefined]) {
    try {
      await write();
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || pause === undefined) throw error;
      await parts.clock.sleep(pause);
    }
  }
}
