/** Ends a text, so that every look ahead meets a character. Nothing else in a text that is read may be one. */
const END = 0;
const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

export function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

export function isBreak(code: number): boolean {
  return code === LF || code === CR || code === 0x85 || code === 0x2028 || code === 0x2029;
}

export function isBreakOrEnd(code: number): boolean {
  return code === END || isBreak(code);
}

export function isBlankOrEnd(code: number): boolean {
  return code <= SPACE ? isBlank(code) || isBreakOrEnd(code) : code >= 0x85 && isBreak(code);
}

/** A place in a text, and what the scanner knows there. */
export class TextCursor {
  position: number;
  line = 0;
  /** How many flow collections are open. */
  flow = 0;
  /** The column of the innermost block collection. */
  indent = -1;
  /** Whether a key without `?` may begin here. */
  keyAllowed = true;
  private readonly text: string;
  private lineStart: number;

  constructor(text: string) {
    this.position = text.startsWith("\ufeff") ? 1 : 0;
    this.lineStart = this.position;
    this.text = `${text}\0\0\0\0`;
  }

  get code(): number {
    return this.text.charCodeAt(this.position);
  }

  get column(): number {
    return this.position - this.lineStart;
  }

  codeAt(offset: number): number {
    return this.text.charCodeAt(this.position + offset);
  }

  is(character: string, offset = 0): boolean {
    return this.text[this.position + offset] === character;
  }

  /** The column of an earlier offset in this line. */
  columnOf(offset: number): number {
    return offset - this.lineStart;
  }

  /** The offset that lies so many characters behind another one. */
  offsetAfter(offset: number, characters: number): number {
    const within = Array.from(this.text.slice(offset, offset + 2 * characters)).slice(0, characters);
    return offset + within.join("").length;
  }

  from(offset: number): string {
    return this.text.slice(offset, this.position);
  }

  skip(characters: number): void {
    this.position += characters;
  }

  skipLineEnd(): void {
    this.position += this.code === CR && this.codeAt(1) === LF ? 2 : 1;
    this.line += 1;
    this.lineStart = this.position;
  }

  /** Reads the end of a line. Two of Unicode's stay what they are. */
  readLineEnd(): string {
    const { code } = this;
    if (!isBreak(code)) return "";
    this.skipLineEnd();
    return code === 0x2028 || code === 0x2029 ? String.fromCharCode(code) : "\n";
  }

  skipBlanks(): void {
    while (isBlank(this.code)) this.position += 1;
  }

  skipRestOfLine(): void {
    while (!isBreakOrEnd(this.code)) this.position += 1;
  }

  /** Skips space, comments and line ends. */
  skipToToken(): void {
    for (;;) {
      while (this.code === SPACE || (this.code === TAB && (this.flow > 0 || !this.keyAllowed))) this.position += 1;
      if (this.is("#")) this.skipRestOfLine();
      if (!isBreak(this.code)) return;
      this.skipLineEnd();
      if (this.flow === 0) this.keyAllowed = true;
    }
  }

  /** `---` or `...` on its own at the beginning of a line. */
  isDocumentIndicator(): boolean {
    if (this.position !== this.lineStart || !isBlankOrEnd(this.codeAt(3))) return false;
    return this.text.startsWith("---", this.position) || this.text.startsWith("...", this.position);
  }
}

export type TokenKind =
  | ("alias" | "anchor" | "tag" | "scalar" | "key" | "value")
  | ("block-sequence" | "block-mapping" | "block-end" | "block-entry")
  | ("flow-sequence" | "flow-sequence-end" | "flow-mapping" | "flow-mapping-end" | "flow-entry")
  | ("version-directive" | "tag-directive" | "document-start" | "document-end" | "stream-end");

export interface Token {
  readonly kind: TokenKind;
  /** Offset in the text. */
  readonly at: number;
  /** The value of a scalar, the name of an anchor or alias, the handle of a tag. */
  readonly text: string;
  /** What follows the handle of a tag. */
  readonly suffix: string;
  /** Whether a scalar stands without quotes and is no block. */
  readonly plain: boolean;
}

export function token(kind: TokenKind, at: number, text = "", suffix = ""): Token {
  return { kind, at, text, suffix, plain: false };
}
