/** Caches answers that depend on commit ids alone and so never change. Questions that name a ref are not cached. */
export class AnswerCache {
  readonly #known = new Map<string, Promise<unknown>>();

  get<T>(repository: string, question: string, revisions: readonly string[], ask: () => Promise<T>): Promise<T> {
    if (!revisions.every((id) => /^[0-9a-f]{40}$/.test(id))) return ask();
    const key = [repository, question, ...revisions].join(" ");
    const known = this.#known.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const answer = ask();
    this.#known.set(key, answer);
    answer.catch(() => this.#known.delete(key));
    return answer;
  }
}
