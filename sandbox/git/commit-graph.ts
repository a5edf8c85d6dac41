/**
 * The parents of commits that were written here, so that questions about history need no process. A question about a
 * commit whose history is not known whole is answered with `undefined`.
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

  /** Takes over what another graph knows of a commit's history. */
  copy(from: CommitGraph, id: string): void {
    for (const known of from.#history(id) ?? []) this.add(known, from.#parents.get(known) ?? []);
  }

  isAncestor(ancestor: string, of: string): boolean | undefined {
    return this.#history(of)?.has(ancestor);
  }

  /** The commits that `to` has and `from` lacks, in no order. */
  between(from: string, to: string): readonly string[] | undefined {
    const [known, wanted] = [this.#history(from), this.#history(to)];
    if (known === undefined || wanted === undefined) return undefined;
    return [...wanted].filter((id) => !known.has(id));
  }

  /** The one best common ancestor; undefined too when there are none or several. */
  mergeBase(a: string, b: string): string | undefined {
    const [left, right] = [this.#history(a), this.#history(b)];
    if (left === undefined || right === undefined) return undefined;
    const common = [...left].filter((id) => right.has(id));
    const behind = new Set(common.flatMap((id) => this.#parents.get(id) ?? []));
    const best = common.filter((id) => !behind.has(id));
    return best.length === 1 ? best[0] : undefined;
  }

  /** The commit and all before it. */
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
