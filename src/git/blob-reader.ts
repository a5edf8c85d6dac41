import type { LRUCache } from "lru-cache";
import type { CloneSource } from "../core/ports/code-host.js";
import { GitFailure } from "./git-failure.js";
import type { MirrorRepository } from "./mirror-repository.js";
import type { GitObject } from "./object-stream.js";

/** Texts by blob id; `text` is undefined for content that is not text. */
export type TextCache = LRUCache<string, { readonly text: string | undefined }>;

/** Larger files are read one at a time only. */
const MAX_FILE_BYTES = 1024 * 1024;
/** Larger files are not read at all. */
const MAX_LARGE_BYTES = 16 * 1024 * 1024;
/** Limit of what one call may load into memory. */
const MAX_READ_BYTES = 256 * 1024 * 1024;

/** Reads file contents by blob id, and fetches those that the mirror lacks. Not safe for concurrent use. */
export class BlobReader {
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
