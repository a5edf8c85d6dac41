/** A queue of items by owner. Owners take turns, and each has at most `share` items in progress at a time. */
export class FairQueue<T> {
  /** Owners in the order in which they are served. */
  readonly #waiting = new Map<string, T[]>();
  readonly #out = new Map<string, number>();

  constructor(private readonly share: number) {}

  get size(): number {
    return [...this.#waiting.values()].reduce((sum, items) => sum + items.length, 0);
  }

  push(owner: string, item: T): void {
    const items = this.#waiting.get(owner);
    if (items === undefined) this.#waiting.set(owner, [item]);
    else items.push(item);
  }

  /** The next item of the next owner with a free share. Call `done` with the owner when the item is finished. */
  take(): { readonly owner: string; readonly item: T } | undefined {
    for (const [owner, items] of this.#waiting) {
      const out = this.#out.get(owner) ?? 0;
      if (out >= this.share) continue;
      const item = items.shift();
      this.#waiting.delete(owner);
      if (items.length > 0) this.#waiting.set(owner, items);
      if (item === undefined) continue;
      this.#out.set(owner, out + 1);
      return { owner, item };
    }
    return undefined;
  }

  done(owner: string): void {
    const out = (this.#out.get(owner) ?? 0) - 1;
    if (out > 0) this.#out.set(owner, out);
    else this.#out.delete(owner);
  }

  remove(owner: string, item: T): void {
    const items = this.#waiting.get(owner)?.filter((one) => one !== item) ?? [];
    if (items.length > 0) this.#waiting.set(owner, items);
    else this.#waiting.delete(owner);
  }

  drain(): readonly T[] {
    const items = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    return items;
  }
}
