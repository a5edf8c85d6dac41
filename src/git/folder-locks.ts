/** Runs one piece of work at a time per key, in order. */
export class FolderLocks {
  readonly #last = new Map<string, Promise<void>>();

  /** Waits for its turn. @throws the signal's reason if it is aborted first. */
  async alone<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(async () => {
      signal.throwIfAborted();
      return work();
    });
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, settled);
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return orAborted(result, signal);
  }

  /** Resolves when no work is left. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}

function orAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason as Error);
    if (signal.aborted) aborted();
    signal.addEventListener("abort", aborted, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}
