import { setImmediate } from "node:timers/promises";

const STARTED_PER_TURN = 50;

/**
 * Like `Promise.all` over `items.map(work)`, but the event loop gets a turn after every fifty starts: ten thousand starts in
 * one go would keep the process from answering anybody else.
 */
export async function allInTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const started: Promise<R>[] = [];
  for (const item of items) {
    const result = work(item);
    // Reported below; until then it must not end the process as an unhandled rejection.
    result.catch(() => undefined);
    started.push(result);
    if (started.length % STARTED_PER_TURN === 0) await setImmediate();
  }
  return Promise.all(started);
}

/** Groups items by a key, in their order; without those whose key is undefined. */
export function groupedBy<T, K>(items: readonly T[], keyOf: (item: T) => K | undefined): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
