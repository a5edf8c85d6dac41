import { changeRequestKey, type ChangeRequestRef } from "../../core/model/change-request.js";
import type { LiveFeed, LiveRun } from "../../core/ports/live-feed.js";

type Listener = (run: LiveRun) => void;

/** Publishes the runs of this process to the pages that it serves. */
export class MemoryLiveFeed implements LiveFeed {
  readonly #running = new Map<string, LiveRun>();
  readonly #listeners = new Map<string, Set<Listener>>();

  publish(change: ChangeRequestRef, run: LiveRun): void {
    const key = changeRequestKey(change);
    if (run.ended) this.#running.delete(key);
    else this.#running.set(key, run);
    for (const listener of this.#listeners.get(key) ?? []) listener(run);
  }

  subscribe(change: ChangeRequestRef, listener: Listener): () => void {
    const key = changeRequestKey(change);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners);
    listeners.add(listener);
    const running = this.#running.get(key);
    if (running !== undefined) listener(running);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }
}
