import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../core/ports/clock.js";

/** The machine's time. */
export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, { signal });
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : error;
    }
  },
};
