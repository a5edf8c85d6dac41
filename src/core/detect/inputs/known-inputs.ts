import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Application } from "../../model/application.js";
import type { FoundInputs } from "../../model/input-set.js";
import type { TreeEntry } from "../../ports/repositories.js";

const MAX_BYTES = 16 * 1024 * 1024;

/** What applications read at a commit, from one plan to the next: the merge base of most pushes is the same. */
export class KnownInputs {
  readonly #found = new LRUCache<string, FoundInputs>({ maxSize: MAX_BYTES });
  /** By the list itself: a snapshot returns the same one for a commit that it knows. */
  readonly #numbers = new WeakMap<readonly TreeEntry[], number>();
  #last = 0;
  /** Of definitions, which never change and are compared with many commits. */
  readonly #digests = new WeakMap<object, string>();

  /**
   * The inputs of an application at the commit with these entries, remembered or found now. `others` are all other values
   * that decide the answer. What is unknown, or failed, is looked for again the next time.
   */
  async find(
    entries: readonly TreeEntry[],
    { name, spec, annotations }: Application,
    others: readonly unknown[],
    find: () => Promise<FoundInputs>,
  ): Promise<FoundInputs> {
    const number = this.#numbers.get(entries) ?? (this.#last += 1);
    this.#numbers.set(entries, number);
    const key = `${number} ${name} ${this.#digestOf(spec)} ${this.#digestOf(annotations)} ${JSON.stringify(others)}`;
    const before = this.#found.get(key);
    if (before !== undefined) return before;
    const found = await find();
    if (found.inputs.some(({ whole }) => whole !== undefined)) return { ...found, decidedBy: undefined };
    this.#found.set(key, found, { size: 2 * key.length + weightOf(found) });
    return found;
  }

  #digestOf(value: object): string {
    const digest = this.#digests.get(value) ?? createHash("sha256").update(JSON.stringify(value)).digest("base64");
    this.#digests.set(value, digest);
    return digest;
  }
}

function weightOf({ inputs, decidedBy = [] }: FoundInputs): number {
  return [...inputs.flatMap(({ paths, patterns }) => [...paths, ...patterns]), ...decidedBy].reduce(
    (sum, text) => sum + 2 * text.length + 50,
    400,
  );
}
