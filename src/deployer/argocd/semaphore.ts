import { setMaxListeners } from "node:events";

/** Runs at most `limit` tasks at a time, in the order of the calls. */
interface Semaphore {
  /** @throws the signal's reason if it is aborted before the task starts. */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Waiting {
  readonly start: () => void;
  readonly giveUp: (reason: unknown) => void;
}

export function createSemaphore(limit: number): Semaphore {
  let free = limit;
  const line = new Map<Waiting, AbortSignal | undefined>();
  // One listener for all tasks of a signal: adding the n-th listener to a signal compares it with all earlier ones.
  const bySignal = new WeakMap<AbortSignal, Set<Waiting>>();

  async function enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    // Hundreds of requests of one plan share a signal; more than ten listeners are not a leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    if (free > 0) {
      free -= 1;
      return;
    }
    await new Promise<void>((start, giveUp) => {
      const waiting = { start, giveUp };
      line.set(waiting, signal);
      if (signal !== undefined) waitingFor(signal).add(waiting);
    });
  }

  function waitingFor(signal: AbortSignal): Set<Waiting> {
    const known = bySignal.get(signal);
    if (known !== undefined) return known;
    const waiting = new Set<Waiting>();
    bySignal.set(signal, waiting);
    signal.addEventListener("abort", () => giveUpAll(waiting, signal.reason), { once: true });
    return waiting;
  }

  function giveUpAll(all: Set<Waiting>, reason: unknown): void {
    for (const waiting of all) {
      line.delete(waiting);
      waiting.giveUp(reason);
    }
    all.clear();
  }

  /** Hands the place to the next waiting task, so that a later call cannot overtake it. */
  function leave(): void {
    const [next] = line;
    if (next === undefined) {
      free += 1;
      return;
    }
    const [waiting, signal] = next;
    line.delete(waiting);
    if (signal !== undefined) bySignal.get(signal)?.delete(waiting);
    waiting.start();
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
