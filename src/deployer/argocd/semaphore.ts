import { setMaxListeners } from "node:events";

/** Runs at most `limit` tasks at a time, in the order of the calls. */
export interface Semaphore {
  /** @throws the signal's reason if it is aborted before the task starts. */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createSemaphore(limit: number): Semaphore {
  let free = limit;
  const waiting: (() => void)[] = [];

  async function enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    // Hundreds of tasks of one plan share a signal; more than ten listeners are not a leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    if (free > 0) {
      free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(start), 1);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", leave, { once: true });
      waiting.push(start);
    });
  }

  /** Hands the place to the next waiting task, so that a later call cannot overtake it. */
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
