/**
 * The parents of commits written by the sandbox, so that history needs no process. Methods return undefined for a
 * commit whose history is not fully known.
 */
export class CommitGraph {
  readonly #parents: Map<string, readonly string[]>;

  constructor(from?: CommitGraph) {
    this.#parents = new Map(from === undefined ? [] : from.#parents);
  }

  add(id: string, parents: readonly string[]): void {
    this.#parents.set(id, parents);
  }

  has(id: string): boolean {
    return this.#parents.has(id);
  }

  /** Copies a commit's history from another graph. */
  copy(from: CommitGraph, id: string): void {
    for (const known of from.#history(id) ?? []) this.add(known, from.#parents.get(known) ?? []);
  }

  isAncestor(ancestor: string, of: string): boolean | undefined {
    return this.#history(of)?.has(ancestor);
  }

  /** The commits of `to` that `from` lacks, unordered. */
  between(from: string, to: string): readonly string[] | undefined {
    const [known, wanted] = [this.#history(from), this.#history(to)];
    if (known === undefined || wanted === undefined) return undefined;
    return [...wanted].filter((id) => !known.has(id));
  }

  /** The best common ancestor; undefined too if there are none or several. */
  mergeBase(a: string, b: string): string | undefined {
    const [left, right] = [this.#history(a), this.#history(b)];
    if (left === undefined || right === undefined) return undefined;
    const common = [...left].filter((id) => right.has(id));
    const behind = new Set(common.flatMap((id) => this.#parents.get(id) ?? []));
    const best = common.filter((id) => !behind.has(id));
    return best.length === 1 ? best[0] : undefined;
  }

  /** The commit and its ancestors. */
  #history(tip: string): ReadonlySet<string> | undefined {
    const found = new Set([tip]);
    for (const id of found) {
      const parents = this.#parents.get(id);
      if (parents === undefined) return undefined;
      for (const parent of parents) found.add(parent);
    }
    return found;
  }
}
