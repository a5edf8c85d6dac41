/** The shortest bytes that can be looked for. */
export const WINDOW = 8;

const BASE = 0x01000193;
/** What the oldest byte of a window adds to its hash. */
const OLDEST = power(BASE, WINDOW - 1);
const FILTER_BITS = 22;

interface Needle {
  readonly bytes: Buffer;
  readonly index: number;
}

/**
 * Looks for thousands of texts at once in one pass (Rabin and Karp): a hash rolls over the bytes, and only where it is
 * that of a text's last bytes are the bytes compared. The last bytes, because tokens of one kind begin alike.
 */
export class ByteSearch {
  readonly #byHash = new Map<number, Needle[]>();
  /** Whether any text has a hash with these upper bits: most places are passed with this one look. */
  readonly #filter = new Uint8Array(1 << FILTER_BITS);

  /** @throws {RangeError} for a text of less than eight bytes. */
  constructor(texts: readonly string[]) {
    texts.forEach((text, index) => {
      const bytes = Buffer.from(text);
      if (bytes.length < WINDOW) throw new RangeError(`too short to be looked for: ${bytes.length} bytes`);
      let hash = 0;
      for (const byte of bytes.subarray(-WINDOW)) hash = (Math.imul(hash, BASE) + byte) | 0;
      const same = this.#byHash.get(hash);
      if (same === undefined) this.#byHash.set(hash, [{ bytes, index }]);
      else same.push({ bytes, index });
      this.#filter[hash >>> (32 - FILTER_BITS)] = 1;
    });
  }

  /** Where the texts stand, in the order of their ends: the text's index and the place of its first byte. */
  find(haystack: Buffer): readonly { readonly index: number; readonly at: number }[] {
    const found: { index: number; at: number }[] = [];
    let hash = 0;
    for (let end = 0; end < haystack.length; end += 1) {
      if (end >= WINDOW) hash = (hash - Math.imul(haystack[end - WINDOW] ?? 0, OLDEST)) | 0;
      hash = (Math.imul(hash, BASE) + (haystack[end] ?? 0)) | 0;
      if (this.#filter[hash >>> (32 - FILTER_BITS)] === 0) continue;
      for (const { bytes, index } of this.#byHash.get(hash) ?? []) {
        const at = end + 1 - bytes.length;
        if (at >= 0 && haystack.compare(bytes, 0, bytes.length, at, end + 1) === 0) found.push({ index, at });
      }
    }
    return found;
  }
}

function power(base: number, exponent: number): number {
  let result = 1;
  for (let times = 0; times < exponent; times += 1) result = Math.imul(result, base);
  return result;
}
