import type { Clock } from "../core/ports/clock.js";

const PAUSES_MS = [500, 1000, 2000, 4000, 8000];

/** Reads what a host computes in the background until `settled` holds, at most 6 times in 16 s. Returns the last value. */
export async function readUntil<T>(
  read: () => Promise<T>,
  settled: (value: T) => boolean,
  clock: Clock,
  signal?: AbortSignal,
): Promise<T> {
  let value = await read();
  for (const pause of PAUSES_MS) {
    if (settled(value)) return value;
    await clock.sleep(pause, signal);
    value = await read();
  }
  return value;
}
