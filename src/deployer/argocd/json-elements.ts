const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = Buffer.from("0");
/** No member of an answer that is searched for has a longer name. */
const LONGEST_NAME = 20;

/**
 * Cuts the elements out of an array in a JSON text that arrives in pieces, so that the whole text is never in memory. The array is
 * the value of a member of the outermost object. A zero is left in the place of each element: if the rest and all elements are JSON,
 * then so was the text.
 */
export class JsonElements {
  readonly #rest: Uint8Array[] = [];
  /** The pieces of the element that has begun. */
  #element: Uint8Array[] | undefined;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The last string of the outermost object. */
  #name = "";
  #inArray = false;

  /** @param each Is given the text of each element. */
  constructor(
    private readonly member: string,
    private readonly each: (text: string) => void,
  ) {}

  add(piece: Uint8Array): void {
    let start = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at] ?? 0;
      if (this.#inString) {
        this.#inside(byte);
        continue;
      }
      if (byte <= 0x20) continue;
      const between = this.#inArray && this.#depth === 2;
      const ends = between && (byte === COMMA || isClosing(byte));
      if (ends && this.#element !== undefined) {
        this.#element.push(piece.subarray(start, at));
        start = at;
        this.#finishElement(this.#element);
      } else if (between && !ends && this.#element === undefined) {
        this.#rest.push(piece.subarray(start, at), ZERO);
        start = at;
        this.#element = [];
      }
      this.#outside(byte);
    }
    (this.#element ?? this.#rest).push(piece.subarray(start));
  }

  /** The text with a zero in the place of each element. */
  rest(): string {
    return Buffer.concat(this.#rest).toString();
  }

  #finishElement(pieces: readonly Uint8Array[]): void {
    this.#element = undefined;
    this.each(Buffer.concat(pieces).toString());
  }

  #inside(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === QUOTE) this.#inString = false;
    else if (byte === 0x5c) this.#escaped = true;
    if (this.#inString && this.#depth === 1 && this.#name.length <= LONGEST_NAME) {
      this.#name += String.fromCharCode(byte);
    }
  }

  #outside(byte: number): void {
    if (byte === QUOTE) {
      this.#inString = true;
      if (this.#depth === 1) this.#name = "";
    } else if (isOpening(byte)) {
      if (this.#depth === 1) this.#inArray = byte === 0x5b && this.#name === this.member;
      this.#depth += 1;
    } else if (isClosing(byte)) {
      this.#depth -= 1;
    }
  }
}

function isOpening(byte: number): boolean {
  return byte === 0x5b || byte === 0x7b;
}

function isClosing(byte: number): boolean {
  return byte === 0x5d || byte === 0x7d;
}
