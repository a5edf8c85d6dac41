import type { Revision } from "../core/brand.js";
import type { CloneSource, RepositorySnapshot, TreeEntry } from "../core/ports.js";
import { GitFailure } from "./git-failure.js";
import type { LruCache } from "./lru-cache.js";
import type { MirrorRepository } from "./mirror-repository.js";

/** Shared by all snapshots: contents by their id, lists of files by repository and commit. Neither ever changes. */
export interface SnapshotCaches {
  readonly texts: LruCache<{ readonly text: string | undefined }>;
  readonly trees: LruCache<readonly TreeEntry[]>;
}

/** Files above this are not read. */
const MAX_FILE_BYTES = 1024 * 1024;
/** What one `read` may bring into memory. */
const MAX_READ_BYTES = 256 * 1024 * 1024;

/** A repository at the commits of one change request. Paths are those of git and never touch a file system. */
export class MirrorSnapshot implements RepositorySnapshot {
  constructor(
    private readonly folder: MirrorRepository,
    private readonly source: CloneSource,
    private readonly signal: AbortSignal,
    private readonly caches: SnapshotCaches,
    private readonly alone: <T>(work: () => Promise<T>) => Promise<T>,
  ) {}

  list(revision: Revision): Promise<readonly TreeEntry[]> {
    return this.alone(() => this.#tree(revision));
  }

  changedPaths(from: Revision, to: Revision): Promise<readonly string[]> {
    return this.alone(() => this.folder.changedPaths(from, to, this.signal));
  }

  read(revision: Revision, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.alone(async () => {
      const blobs = regularFiles(await this.#tree(revision), new Set(paths));
      const texts = await this.#texts([...new Set(blobs.values())]);
      const found = new Map<string, string>();
      for (const [path, blob] of blobs) {
        const text = texts.get(blob);
        if (text !== undefined) found.set(path, text);
      }
      return found;
    });
  }

  async #tree(revision: Revision): Promise<readonly TreeEntry[]> {
    const key = `${this.folder.path} ${revision}`;
    const cached = this.caches.trees.get(key);
    if (cached !== undefined) return cached;
    const entries = await this.folder.tree(revision, this.signal);
    const weight = entries.reduce((sum, entry) => sum + 2 * entry.path.length + 200, 0);
    this.caches.trees.set(key, entries, weight);
    return entries;
  }

  /** Texts of these contents; binary and large ones are absent. */
  async #texts(blobs: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>();
    const unknown: string[] = [];
    for (const blob of blobs) {
      const cached = this.caches.texts.get(blob);
      if (cached === undefined) unknown.push(blob);
      else if (cached.text !== undefined) texts.set(blob, cached.text);
    }
    if (unknown.length === 0) return texts;
    const sizes = await this.#sizesOf(unknown);
    const small = unknown.filter((blob) => (sizes.get(blob) ?? Infinity) <= MAX_FILE_BYTES);
    const bytes = small.reduce((sum, blob) => sum + (sizes.get(blob) ?? 0), 0);
    if (bytes > MAX_READ_BYTES) throw new GitFailure("too-much-output", "");
    const read =
      small.length === 0 ? new Map<string, string>() : await this.folder.blobTexts(small, bytes, this.signal);
    for (const blob of unknown) {
      const text = read.get(blob);
      this.caches.texts.set(blob, { text }, 2 * (text?.length ?? 0) + 200);
      if (text !== undefined) texts.set(blob, text);
    }
    return texts;
  }

  /** Sizes in bytes; what is missing here is fetched first, all at once. */
  async #sizesOf(blobs: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const before = await this.folder.blobSizes(blobs, this.signal);
    const missing = blobs.filter((blob) => typeof before.get(blob) !== "number");
    if (missing.length > 0) await this.folder.fetchBlobs(this.source, missing, this.signal);
    const fetched = missing.length === 0 ? before : await this.folder.blobSizes(missing, this.signal);
    const sizes = new Map<string, number>();
    for (const blob of blobs) {
      const size = fetched.get(blob) ?? before.get(blob);
      if (typeof size !== "number") throw new GitFailure("unexpected-answer", "the host did not send a file");
      sizes.set(blob, size);
    }
    return sizes;
  }
}

/** Wanted paths that are regular files. Two names that differ only in bytes that are no UTF-8 cannot be told apart. */
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
