import { setMaxListeners } from "node:events";

/** Lets at most `limit` tasks run at a time; the others wait in the order of their coming. */
export interface Semaphore {
  /** @throws the signal's reason when it is aborted before the task began. */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createSemaphore(limit: number): Semaphore {
  let free = limit;
  const waiting: (() => void)[] = [];

  async function enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    // Hundreds of tasks of one plan wait with one signal; more than ten listeners are no leak here.
    if (signal !== undefined) setMaxListeners(0, signal);
    if (free > 0) {
      free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", leave, { once: true });
      waiting.push(begin);
    });
  }

  /** The place goes straight to the next in the row, so that a newcomer cannot overtake it. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  }

  return {
    async run(task, signal) {
      await enter(signal);
      try {
        signal?.throwIfAborted();
        return await task();
      } finally {
        leave();
      }
    },
  };
}
