import { setImmediate as nextRound, setTimeout as timer } from "node:timers/promises";

/** A pause of an in-memory port; awaited before and after it looks at its state. */
export type Delay = () => Promise<void>;

/** Ports that answer at once. */
export const noDelay: Delay = () => Promise.resolve();

/** Pauses of every kind that Node knows: a few microtasks, a round of the event loop, a timer of up to 3 ms. */
export function randomDelay(random: () => number): Delay {
  return async () => {
    const kind = random();
    if (kind < 0.5) {
      for (let left = Math.floor(random() * 4); left > 0; left -= 1) await Promise.resolve();
    } else if (kind < 0.85) {
      await nextRound();
    } else {
      await timer(random() * 3);
    }
  };
}

/** Numbers from 0 up to 1, always the same for one seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
