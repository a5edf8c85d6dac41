import type { ContentBudget, ContentLimit, Taken } from "../../core/ports/stores.js";

interface Write {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly rank: number;
}

export class MemoryContentBudget implements ContentBudget {
  readonly #writes = new Map<string, readonly Write[]>();

  /** @param now Milliseconds since 1970. */
  constructor(private readonly now: () => number) {}

  take(account: string, rank: number, limits: readonly ContentLimit[]): Promise<Taken> {
    const now = this.now();
    const writes = this.#recent(account, limits);
    const freeAt = Math.max(now, ...limits.map((limit) => freeAtOf(writes, limit, now)));
    if (freeAt > now) return Promise.resolve({ kind: "full", freeInMs: freeAt - now });
    this.#writes.set(account, [...writes, { at: now, rank }]);
    return Promise.resolve({ kind: "taken" });
  }

  add(account: string, rank: number, limits: readonly ContentLimit[]): void {
    this.#writes.set(account, [...this.#recent(account, limits), { at: this.now(), rank }]);
  }

  #recent(account: string, limits: readonly ContentLimit[]): readonly Write[] {
    const since = this.now() - Math.max(0, ...limits.map(({ windowMs }) => windowMs));
    return (this.#writes.get(account) ?? []).filter(({ at }) => at > since);
  }
}

/** When the oldest of the newest `max` writes leaves the window; 0 if there are fewer. */
function freeAtOf(writes: readonly Write[], { windowMs, max, rank }: ContentLimit, now: number): number {
  const counted = writes.filter((write) => write.rank <= rank && write.at > now - windowMs);
  const oldest = counted.at(-max);
  return oldest === undefined ? 0 : oldest.at + windowMs;
}
