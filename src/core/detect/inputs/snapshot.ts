import { LRUCache } from "lru-cache";
import type { Revision } from "../../model/brand.js";
import type { ChangeRequest } from "../../model/change-request.js";
import { ChangedPaths } from "../../model/changed-paths.js";
import type { CommitRange, RepositorySnapshot } from "../../ports/repositories.js";
import type { OpenedTree, Snapshot } from "../../ports/snapshot.js";
import type { Reading } from "../tree/foreign-text.js";
import { listTree, type ParsedFiles, type ReadFiles } from "../tree/repository-tree.js";
import { KnownInputs } from "./known-inputs.js";

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

/** Adds to a snapshot what can be worked out from it, each thing once. */
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
