import { createHash } from "node:crypto";
import type { Application } from "../../model/application.js";
import { LruCache } from "../../model/lru-cache.js";
import type { TreeEntry } from "../../ports/repositories.js";
import type { InputSet } from "./input-set.js";

/** What an application reads at a commit, and what of the commit's tree decides that. */
export interface FoundInputs {
  readonly inputs: InputSet;
  /** The inputs are the same at a commit that differs at, above and below none of these paths; undefined: nobody knows. */
  readonly decidedBy: readonly string[] | undefined;
}

/** What applications read at a commit, from one plan to the next: the merge base of most pushes is the same. */
const known = new LruCache<FoundInputs>(16 * 1024 * 1024);
const numbers = new WeakMap<readonly TreeEntry[], number>();
let last = 0;

/**
 * The inputs that were found before, or those that `find` finds. `entries` are all files of the commit, by the list
 * itself, which a snapshot answers again for a commit that it knows; the application and `others` are everything else
 * that decides the answer. What could not be told, or failed, is looked at again.
 */
export async function knownInputs(
  entries: readonly TreeEntry[],
  { name, spec, annotations }: Application,
  others: readonly unknown[],
  find: () => Promise<FoundInputs>,
): Promise<FoundInputs> {
  const number = numbers.get(entries) ?? (last += 1);
  numbers.set(entries, number);
  const key = `${number} ${name} ${digestOf(spec)} ${digestOf(annotations)} ${JSON.stringify(others)}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const found = await find();
  if (found.inputs.some(({ whole }) => whole !== undefined)) return { ...found, decidedBy: undefined };
  known.set(key, found, 2 * key.length + weightOf(found));
  return found;
}

/** Of an object that nobody changes, so that one digest is enough for all commits that it is held against. */
function digestOf(value: object): string {
  const digest = digests.get(value) ?? createHash("sha256").update(JSON.stringify(value)).digest("base64");
  digests.set(value, digest);
  return digest;
}

const digests = new WeakMap<object, string>();

function weightOf({ inputs, decidedBy = [] }: FoundInputs): number {
  return [...inputs.flatMap(({ paths, patterns }) => [...paths, ...patterns]), ...decidedBy].reduce(
    (sum, text) => sum + 2 * text.length + 50,
    400,
  );
}
