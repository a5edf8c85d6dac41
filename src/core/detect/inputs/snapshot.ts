import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Application } from "../../model/application.js";
import type { Revision } from "../../model/brand.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { ChangedPaths, type FoundInputs } from "../../model/input-set.js";
import type { CommitRange, RepositorySnapshot, TreeEntry } from "../../ports/repositories.js";
import type { OpenedTree, Snapshot } from "../../ports/snapshot.js";
import { listTree, type ParsedFiles, type ReadFiles } from "../tree/repository-tree.js";
import type { Reading } from "../tree/yaml-documents.js";

/** What detection remembers from one snapshot to the next, in memory. */
export interface DetectionCaches {
  readonly parsed: ParsedFiles;
  readonly inputs: KnownInputs;
}

/** In characters of the texts. */
const MAX_PARSED = 8 * 1024 * 1024;

export function createDetectionCaches(): DetectionCaches {
  return { parsed: new LRUCache({ maxSize: MAX_PARSED }), inputs: new KnownInputs() };
}

/** Extends a repository snapshot with values that are computed once and cached. */
export function openSnapshot(
  repository: RepositorySnapshot,
  { parsed, inputs }: DetectionCaches,
  reading: Reading,
): Snapshot {
  const files: ReadFiles = { parsed, documents: new Map(), texts: new Map(), reading };
  const trees = new Map<Revision, Promise<OpenedTree>>();
  const lost = new Map<string, Promise<ChangedPaths>>();
  const ranges = new Map<string, Promise<CommitRange>>();
  return {
    list: (revision) => repository.list(revision),
    read: (revision, paths) => repository.read(revision, paths),
    readLarge: (revision, path) => repository.readLarge(revision, path),
    changedPaths: (from, to) => repository.changedPaths(from, to),
    linkTargets: (revision) => repository.linkTargets(revision),
    refs: () => repository.refs(),
    // A failure is remembered too: a history that cannot be fetched is asked for once, not for each application.
    commitsBetween: (from, to) => once(ranges, `${from} ${to}`, () => repository.commitsBetween(from, to)),
    isCleanMerge: (commit) => repository.isCleanMerge(commit),
    revertConflicts: (reverted, onto) => repository.revertConflicts(reverted, onto),
    pastTexts: (revision, path) => repository.pastTexts(revision, path),
    tree(revision) {
      const tree = once(trees, revision, () => listTree(repository, revision, files));
      tree.catch(() => trees.delete(revision));
      return tree;
    },
    lostChanges(change) {
      const { mergeBase, baseRevision, headRevision } = change;
      return once(lost, `${mergeBase} ${baseRevision} ${headRevision}`, () => lostChanges(repository, change));
    },
    inputs: (entries, application, others, find) => inputs.find(entries, application, others, find),
  };
}

function once<K, T>(known: Map<K, Promise<T>>, key: K, find: () => Promise<T>): Promise<T> {
  const value = known.get(key) ?? find();
  known.set(key, value);
  return value;
}

async function lostChanges(
  repository: RepositorySnapshot,
  { mergeBase, baseRevision, headRevision }: ChangeRequest,
): Promise<ChangedPaths> {
  const [changed, different] = await Promise.all([
    repository.changedPaths(mergeBase, baseRevision),
    repository.changedPaths(headRevision, baseRevision),
  ]);
  const still = new Set(different);
  return new ChangedPaths(changed.filter((path) => still.has(path)));
}

const MAX_BYTES = 16 * 1024 * 1024;

/** What applications read at a commit, from one plan to the next: the merge base of most pushes is the same. */
class KnownInputs {
  readonly #found = new LRUCache<string, FoundInputs>({ maxSize: MAX_BYTES });
  /** By the list itself: a snapshot returns the same one for a commit that it knows. */
  readonly #numbers = new WeakMap<readonly TreeEntry[], number>();
  #last = 0;
  /** Of definitions, which never change and are compared with many commits. */
  readonly #digests = new WeakMap<object, string>();

  /**
   * The inputs of an application at the commit with these entries, remembered or found now. `others` are all other values
   * that decide the answer. Unknown and failed results are not cached.
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
