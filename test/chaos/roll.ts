import { setTimeout as delay } from "node:timers/promises";
import type { Replica } from "./replica.js";

const PAUSE_MS = 1_500;

/** A rolling update: one replica at a time is stopped as a supervisor does it and started as the next version. */
export async function roll(
  replicas: readonly Replica[],
  builds: Map<Replica, string>,
  nextBuild: string,
  note: (what: string) => void,
): Promise<void> {
  for (const replica of replicas) {
    await delay(PAUSE_MS);
    note(`roll ${replica.name}`);
    const code = await replica.stop();
    if (code !== 0) throw new Error(`${replica.name} ended with ${String(code)}`);
    builds.set(replica, nextBuild);
    await replica.start(nextBuild);
    note(`${replica.name} is of the next version`);
  }
}
