import type { LruCache } from "../core/model/lru-cache.js";
import type { CloneSource } from "../core/ports/code-host.js";
import { GitFailure } from "./git-failure.js";
import type { MirrorRepository } from "./mirror-repository.js";
import type { GitObject } from "./object-stream.js";
import { textOf } from "./text-of.js";

/** Texts by the id of the content; one that is no text is remembered as such. */
export type TextCache = LruCache<{ readonly text: string | undefined }>;

/** Files above this are not read. */
const MAX_FILE_BYTES = 1024 * 1024;
/** What one `read` may bring into memory. */
const MAX_READ_BYTES = 256 * 1024 * 1024;

/** Reads file contents by their ids, and fetches those that are not in the mirror. One user at a time. */
export class BlobReader {
  constructor(
    private readonly folder: MirrorRepository,
    private readonly source: CloneSource,
    private readonly cache: TextCache,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Texts of these contents; binary and large ones are absent. If any has to be fetched, `also` names others that are
   * then fetched with them.
   */
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
      this.cache.set(blob, { text }, 2 * (text?.length ?? 0) + 200);
      if (text !== undefined) texts.set(blob, text);
    }
    return texts;
  }

  /** Sizes in bytes; what is missing here is fetched first, all at once. */
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
