import type { Clock } from "../core/ports/clock.js";

/** Pauses between reads of something that the host computes in the background, in milliseconds. */
const PAUSES_MS = [500, 1000, 2000, 4000, 8000];

/** Reads until `settled` holds, six times within about 16 seconds at most, and returns what was read last. */
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
