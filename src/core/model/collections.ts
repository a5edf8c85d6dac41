import { setImmediate } from "node:timers/promises";

const PER_TURN = 50;

/** Like `items.map(work)`, but the event loop gets a turn after every fifty: ten thousand would keep it from everybody else. */
export async function mapInTurns<T, R>(items: readonly T[], work: (item: T) => R): Promise<R[]> {
  const done: R[] = [];
  for (const item of items) {
    done.push(work(item));
    if (done.length % PER_TURN === 0) await setImmediate();
  }
  return done;
}

/** Finishes a computation, with a turn for the event loop after every fifty of its steps. */
export async function finishInTurns<T>(steps: Generator<void, T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (count % PER_TURN === 0) await setImmediate();
  }
}

/** Like `Promise.all` over `items.map(work)`, but the event loop gets a turn after every fifty starts. */
export async function allInTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const started = await mapInTurns(items, (item) => {
    const result = work(item);
    // Reported below; until then it must not end the process as an unhandled rejection.
    result.catch(() => undefined);
    return result;
  });
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
