import { extname } from "node:path";
import type { LRUCache } from "lru-cache";
import { type Revision, revision as toRevision } from "../core/model/brand.js";
import type { CloneSource, RevertedCommits } from "../core/ports/code-host.js";
import type { CommitRange, RepositorySnapshot, TreeEntry } from "../core/ports/repositories.js";
import { GitFailure } from "./git-process.js";
import { commitsBetween, fileVersions, type History, isCleanMerge, printedPaths, revertConflicts } from "./history.js";
import type { MirrorRepository } from "./mirror-repository.js";
import type { GitObject } from "./object-reader.js";
import { type TreeNode, TreeReader } from "./tree-reader.js";

/** Caches that all snapshots share: contents by id, folders, lists of files and ranges by repository and id. Entries never change. */
interface SnapshotCaches {
  readonly texts: TextCache;
  readonly folders: LRUCache<string, TreeNode>;
  readonly lists: LRUCache<string, readonly TreeEntry[]>;
  readonly ranges: LRUCache<string, CommitRange>;
}

/** What svc does not know of a history is asked for again after this time. */
const UNKNOWN_MS = 10 * 60_000;

const VERSIONS_AT_ONCE = 10;
const MAX_LINK_BYTES = 4 * 1024;

/** A repository at the commits of one change request. Paths are git's and never reach a file system. */
export class MirrorSnapshot implements RepositorySnapshot {
  readonly #history: History;
  readonly #trees: TreeReader;
  readonly #blobs: BlobReader;
  /** Every application asks for the same few pairs of commits. */
  readonly #changed = new Map<string, Promise<readonly string[]>>();
  readonly #printed = new Map<string, Promise<readonly string[]>>();
  readonly #refs = new Map<string, Promise<ReadonlyMap<string, Revision>>>();

  constructor(
    private readonly folder: MirrorRepository,
    private readonly source: CloneSource,
    private readonly commits: readonly Revision[],
    private readonly signal: AbortSignal,
    private readonly caches: SnapshotCaches,
    private readonly alone: <T>(work: () => Promise<T>) => Promise<T>,
    private readonly keptRef: string,
  ) {
    this.#history = { folder, source, signal };
    this.#trees = new TreeReader(folder, caches.folders, signal);
    this.#blobs = new BlobReader(folder, source, caches.texts, signal);
  }

  list(revision: Revision): Promise<readonly TreeEntry[]> {
    return this.alone(() => this.#tree(revision));
  }

  changedPaths(from: Revision, to: Revision): Promise<readonly string[]> {
    return once(this.#changed, `${from} ${to}`, () => this.alone(() => this.#changedPaths(from, to)));
  }

  printedPaths(from: Revision, to: Revision): Promise<readonly string[]> {
    return once(this.#printed, `${from} ${to}`, () =>
      this.alone(async () => {
        await this.#provide(from, to);
        return printedPaths(this.#history, from, to);
      }),
    );
  }

  read(revision: Revision, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.alone(async () => {
      const [tree, wanted] = [await this.#tree(revision), new Set(paths)];
      const blobs = regularFiles(tree, wanted);
      const texts = await this.#blobs.texts([...new Set(blobs.values())], () => this.#neighbours(tree, wanted));
      const found = new Map<string, string>();
      for (const [path, blob] of blobs) {
        const text = texts.get(blob);
        if (text !== undefined) found.set(path, text);
      }
      return found;
    });
  }

  readLarge(revision: Revision, path: string): Promise<string | undefined> {
    return this.alone(async () => {
      const blob = regularFiles(await this.#tree(revision), new Set([path])).get(path);
      return blob === undefined ? undefined : this.#blobs.largeText(blob);
    });
  }

  linkTargets(revision: Revision): Promise<ReadonlyMap<string, string>> {
    return this.alone(async () => {
      const links = (await this.#tree(revision)).filter(({ kind }) => kind === "symlink");
      const texts = await this.#blobs.texts([...new Set(links.map(({ blob }) => blob))], () => []);
      return new Map(
        links.flatMap(({ path, blob }): [string, string][] => {
          const text = texts.get(blob);
          return text === undefined || Buffer.byteLength(text) > MAX_LINK_BYTES ? [] : [[path, text]];
        }),
      );
    });
  }

  async commitsBetween(from: Revision, to: Revision): Promise<CommitRange> {
    const key = this.#key(`${from} ${to}`);
    const known = this.caches.ranges.get(key);
    if (known !== undefined) return known;
    const range = await this.alone(() => commitsBetween(this.#history, from, to));
    const size = range.commits.reduce((sum, { paths }) => sum + 500 + 2 * paths.join().length, 1);
    this.caches.ranges.set(key, range, { size, ttl: range.complete ? 0 : UNKNOWN_MS });
    return range;
  }

  isCleanMerge(commit: Revision, of?: readonly [Revision, Revision]): Promise<boolean> {
    return this.alone(() => isCleanMerge(this.#history, commit, of));
  }

  revertConflicts(reverted: RevertedCommits, onto: Revision): Promise<readonly string[] | undefined> {
    return this.alone(async () => {
      await this.#provide(reverted.newest, onto);
      return revertConflicts(this.#history, reverted, onto);
    });
  }

  async *pastTexts(revision: Revision, path: string): AsyncGenerator<string | undefined> {
    const versions = await this.alone(async () => {
      await this.#provide(revision);
      return fileVersions(this.#history, revision, path);
    });
    for (let at = 0; at < versions.length; at += VERSIONS_AT_ONCE) {
      const some = versions.slice(at, at + VERSIONS_AT_ONCE);
      const texts = await this.alone(() => this.#blobs.texts(some, () => []));
      for (const version of some) yield texts.get(version);
    }
  }

  refs(): Promise<ReadonlyMap<string, Revision>> {
    return once(this.#refs, "", () =>
      this.alone(async () => {
        const found = await this.folder.remoteRefs(this.source, this.signal);
        return new Map([...found].map(([name, id]) => [name, toRevision(id)]));
      }),
    );
  }

  /** One call to the host for each commit that is neither of the change request nor on disk. */
  async #provide(...commits: readonly Revision[]): Promise<void> {
    const { folder, source, signal, keptRef } = this;
    for (const commit of commits.filter((one) => !this.commits.includes(one))) {
      if (await folder.hasCommits([commit], signal)) continue;
      await folder.fetchCommits(source, [{ from: commit, into: keptRef }], { first: false, signal });
    }
  }

  async #changedPaths(from: Revision, to: Revision): Promise<readonly string[]> {
    await this.#provide(from, to);
    return [...(await this.#trees.changes(from, to)).keys()].sort();
  }

  async #tree(revision: Revision): Promise<readonly TreeEntry[]> {
    const key = this.#key(revision);
    const cached = this.caches.lists.get(key);
    if (cached !== undefined) return cached;
    await this.#provide(revision);
    const entries = await this.#trees.list(revision, this.#nearList());
    const weight = entries.reduce((sum, entry) => sum + 2 * entry.path.length + 200, 1);
    this.caches.lists.set(key, entries, { size: weight });
    return entries;
  }

  /** The list of the merge base, or else of another commit of the change request. */
  #nearList(): Parameters<TreeReader["list"]>[1] {
    for (const revision of this.commits.toReversed()) {
      const entries = this.caches.lists.get(this.#key(revision));
      if (entries !== undefined) return { revision, entries };
    }
    return undefined;
  }

  /** Files that are likely to be read next: the wanted ones at the other commits, and new files of the same kind. */
  #neighbours(tree: readonly TreeEntry[], wanted: ReadonlySet<string>): readonly string[] {
    const here = new Set(tree.map(({ path }) => path));
    const kinds = new Set([...wanted].map(extname));
    const lists = this.commits.flatMap((revision) => this.caches.lists.get(this.#key(revision)) ?? []);
    const others = lists.filter(({ path, kind }) => {
      return kind === "file" && (wanted.has(path) || (!here.has(path) && kinds.has(extname(path))));
    });
    return others.map(({ blob }) => blob);
  }

  #key(revisions: string): string {
    return `${this.folder.path} ${revisions}`;
  }
}

function once<T>(known: Map<string, Promise<T>>, key: string, find: () => Promise<T>): Promise<T> {
  const answer = known.get(key) ?? find();
  known.set(key, answer);
  answer.catch(() => known.delete(key));
  return answer;
}

/** The wanted paths that are regular files. Names that differ only in bytes that are not UTF-8 are ambiguous and left out. */
function regularFiles(tree: readonly TreeEntry[], wanted: ReadonlySet<string>): ReadonlyMap<string, string> {
  const blobs = new Map<string, string>();
  const seen = new Set<string>();
  for (const { path, kind, blob } of tree) {
    if (!wanted.has(path)) continue;
    if (seen.has(path)) blobs.delete(path);
    else if (kind === "file") blobs.set(path, blob);
    seen.add(path);
  }
  return blobs;
}

/** Texts by blob id; `text` is undefined for content that is not text. */
type TextCache = LRUCache<string, { readonly text: string | undefined }>;

/** Larger files are read one at a time only. */
const MAX_FILE_BYTES = 1024 * 1024;
/** Larger files are not read at all. */
const MAX_LARGE_BYTES = 16 * 1024 * 1024;
/** Limit of what one call may load into memory. */
const MAX_READ_BYTES = 256 * 1024 * 1024;

/** Reads file contents by blob id, and fetches those that the mirror lacks. Not safe for concurrent use. */
class BlobReader {
  constructor(
    private readonly folder: MirrorRepository,
    private readonly source: CloneSource,
    private readonly cache: TextCache,
    private readonly signal: AbortSignal,
  ) {}

  /** The texts of these blobs, without binary and large ones. If any must be fetched, those of `also` are fetched with it. */
  async texts(blobs: readonly string[], also: () => readonly string[]): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>();
    const unknown: string[] = [];
    for (const blob of blobs) {
      const cached = this.cache.get(blob);
      if (cached === undefined) unknown.push(blob);
      else if (cached.text !== undefined) texts.set(blob, cached.text);
    }
    if (unknown.length === 0) return texts;
    const sizes = await this.#sizesOf(unknown, also);
    const small = unknown.filter((blob) => (sizes.get(blob) ?? Infinity) <= MAX_FILE_BYTES);
    const bytes = small.reduce((sum, blob) => sum + (sizes.get(blob) ?? 0), 0);
    if (bytes > MAX_READ_BYTES) throw new GitFailure("too-much-output", "");
    const read = new Map<string, string | undefined>();
    const objects = await this.folder.contents(small, this.signal, bytes + 128 * small.length);
    for (const [index, blob] of small.entries()) read.set(blob, textOf(blobOf(objects[index]).content));
    for (const blob of unknown) {
      const text = read.get(blob);
      this.cache.set(blob, { text }, { size: 2 * (text?.length ?? 0) + 200 });
      if (text !== undefined) texts.set(blob, text);
    }
    return texts;
  }

  /** The text of one blob, which may be large; undefined if it is binary or too large even so. */
  async largeText(blob: string): Promise<string | undefined> {
    const size = (await this.#sizesOf([blob], () => [])).get(blob) ?? Infinity;
    if (size > MAX_LARGE_BYTES) return undefined;
    const [object] = await this.folder.contents([blob], this.signal, size + 128);
    return textOf(blobOf(object).content);
  }

  /** Sizes in bytes. Missing blobs are fetched first, all at once. */
  async #sizesOf(blobs: readonly string[], also: () => readonly string[]): Promise<ReadonlyMap<string, number>> {
    const before = await this.folder.sizes(blobs, this.signal);
    const missing = blobs.filter((_, index) => before[index] === undefined);
    if (missing.length > 0) await this.#fetch(missing, also());
    const fetched = await this.folder.sizes(missing, this.signal);
    const found = [...before.filter((object) => object !== undefined), ...fetched];
    return new Map(found.map(blobOf).map(({ id, size }) => [id, size]));
  }

  async #fetch(missing: readonly string[], also: readonly string[]): Promise<void> {
    const others = [...new Set(also)].filter((blob) => this.cache.get(blob) === undefined);
    const sizes = await this.folder.sizes(others, this.signal);
    const absent = others.filter((_, index) => sizes[index] === undefined);
    await this.folder.fetchBlobs(this.source, [...new Set([...missing, ...absent])], this.signal);
  }
}

function blobOf(object: GitObject | undefined): GitObject {
  if (object?.type !== "blob") throw new GitFailure("unexpected-answer", "the host did not send a file");
  return object;
}

const DECODER = new TextDecoder("utf-8", { fatal: true });

/** Decodes content without its byte order mark; returns undefined if it is binary or not UTF-8. */
function textOf(content: Buffer): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return DECODER.decode(content);
  } catch {
    return undefined;
  }
}
