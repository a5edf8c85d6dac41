import type { Clock } from "../../src/core/ports/clock.js";
import type { Log } from "../../src/core/ports/log.js";
import { createLimitWaits } from "../../src/hosts/limit-waits.js";
import { MemoryContentBudget } from "../../src/store/memory/outbox.js";

/** What a host's adapter needs beside its configuration, with a budget of its own. */
export function hostParts<L extends Log>(clock: Clock, log: L) {
  const budget = new MemoryContentBudget(() => clock.now().getTime());
  return { clock, log, budget, waits: createLimitWaits(clock, log) };
}
