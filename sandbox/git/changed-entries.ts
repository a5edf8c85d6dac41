import type { ChangedPath } from "./changed-paths.js";
import type { ObjectFolder, StoredObject } from "./object-folder.js";
import { FOLDER_MODE, readEntries, type TreeEntry } from "./tree-entries.js";

/** What differs at one path; undefined on the side where it does not exist. */
export interface ChangedEntry {
  readonly path: string;
  readonly before: TreeEntry | undefined;
  readonly after: TreeEntry | undefined;
}

/**
 * Compares the trees of two commits without a process, as git-diff-tree(1) does with `-r --no-renames`. Undefined if one
 * of them does not exist.
 */
export function changedEntries(objects: ObjectFolder, from: string, to: string): readonly ChangedEntry[] | undefined {
  const [before, after] = [objects.treeOf(from), objects.treeOf(to)];
  if (before === undefined || after === undefined) return undefined;
  const found = [...below(objects, "", before, after)];
  const keyed = found.map((entry) => ({ entry, key: Buffer.from(entry.path) }));
  return keyed.sort((one, other) => Buffer.compare(one.key, other.key)).map(({ entry }) => entry);
}

function* below(
  objects: ObjectFolder,
  prefix: string,
  before: StoredObject | undefined,
  after: StoredObject | undefined,
): Generator<ChangedEntry> {
  if (before?.id === after?.id) return;
  const [old, young] = [entriesOf(before), entriesOf(after)];
  for (const name of new Set([...old.keys(), ...young.keys()])) {
    const [left, right] = [old.get(name), young.get(name)];
    if (left?.id === right?.id && left?.mode === right?.mode) continue;
    const path = prefix + name;
    const [one, other] = [left, right].map((entry) => (entry?.mode === FOLDER_MODE ? undefined : entry));
    if (one !== undefined || other !== undefined) yield { path, before: one, after: other };
    const folder = (entry: TreeEntry | undefined) => (entry?.mode === FOLDER_MODE ? objects.read(entry.id) : undefined);
    yield* below(objects, `${path}/`, folder(left), folder(right));
  }
}

function entriesOf(tree: StoredObject | undefined): ReadonlyMap<string, TreeEntry> {
  return new Map([...(tree === undefined ? [] : readEntries(tree.content))].map((entry) => [entry.name, entry]));
}

/** More lines than this on both sides are left to git. */
const MOST_LINES = 100;

/**
 * What `readChangedPaths` answers, without a process. Undefined where git has to say: what may be a rename, another
 * kind of entry, a submodule, and long texts that changed in the middle.
 */
export function changedWithoutGit(objects: ObjectFolder, from: string, to: string): ChangedPath[] | undefined {
  const entries = changedEntries(objects, from, to);
  if (entries === undefined) return undefined;
  const mayRename =
    entries.some(({ before }) => before === undefined) && entries.some(({ after }) => after === undefined);
  if (mayRename) return undefined;
  const changed: ChangedPath[] = [];
  for (const { path, before, after } of entries) {
    const entry = after ?? before;
    const kinds = new Set([before, after].flatMap((side) => (side === undefined ? [] : [side.mode.slice(0, 3)])));
    if (entry === undefined || kinds.size > 1 || kinds.has("160")) return undefined;
    const lines = countLines(textOf(objects, before), textOf(objects, after));
    if (lines === undefined) return undefined;
    const status = before === undefined ? "added" : after === undefined ? "removed" : "modified";
    changed.push({ path, status, blob: entry.id, ...lines });
  }
  return changed;
}

function textOf(objects: ObjectFolder, entry: TreeEntry | undefined): Buffer {
  return entry === undefined ? Buffer.alloc(0) : (objects.read(entry.id)?.content ?? Buffer.alloc(0));
}

/** git looks for a zero byte here to tell whether a file is binary. */
const HEAD_BYTES = 8000;

/** Lines of the shortest difference; 0 for binary files. */
function countLines(before: Buffer, after: Buffer): Pick<ChangedPath, "additions" | "deletions"> | undefined {
  const isBinary = [before, after].some((content) => content.subarray(0, HEAD_BYTES).includes(0));
  if (isBinary) return { additions: 0, deletions: 0 };
  const [old, young] = [before, after].map((content) => content.toString("latin1").match(/[^\n]*\n|[^\n]+/g) ?? []);
  if (old === undefined || young === undefined) return undefined;
  let start = 0;
  while (start < old.length && old[start] === young[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, young.length) - start && old.at(-1 - end) === young.at(-1 - end)) end += 1;
  const [left, right] = [old.slice(start, old.length - end), young.slice(start, young.length - end)];
  if (left.length > MOST_LINES && right.length > MOST_LINES) return undefined;
  const kept = longestCommon(left, right);
  return { additions: right.length - kept, deletions: left.length - kept };
}

/** Length of the longest common subsequence. */
function longestCommon(left: readonly string[], right: readonly string[]): number {
  let row = new Array<number>(right.length + 1).fill(0);
  for (const line of left) {
    const next = [0];
    for (const [at, other] of right.entries()) {
      next.push(line === other ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
