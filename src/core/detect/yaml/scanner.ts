import { YamlRefused } from "../../../config/bounded-yaml.js";
import { isBlank, isBlankOrEnd, TextCursor, token, type Token, type TokenKind } from "./cursor.js";
import {
  scanAnchor,
  scanBlockScalar,
  scanDirective,
  scanPlainScalar,
  scanQuotedScalar,
  scanTag,
} from "./scan-scalars.js";

/** Where a key without `?` may have begun. */
interface SimpleKey {
  possible: boolean;
  readonly required: boolean;
  readonly token: number;
  readonly at: number;
  readonly line: number;
  /** The last offset at which its `:` may stand, once that is asked. */
  last?: number;
}

const NOWHERE = { possible: false, required: false, at: 0, line: 0 };
/** In characters. */
const LONGEST_KEY = 1024;

/** Splits a text into tokens exactly as Kubernetes' parser does (`scannerc.go` of go.yaml.in/yaml/v2), unlike YAML 1.1 and 1.2. */
export class YamlScanner {
  private readonly cursor: TextCursor;
  private readonly indents: number[] = [];
  private readonly keys: SimpleKey[] = [{ ...NOWHERE, token: 0 }];
  /** Possible keys by the number of the token that would be the key. */
  private readonly keyOfToken = new Map<number, SimpleKey>();
  private tokens: Token[] = [];
  private head = 0;
  private parsed = 0;
  /** The next token, once nothing can stand before it. */
  private ready: Token | undefined;

  constructor(
    text: string,
    private readonly deepest: number,
  ) {
    this.cursor = new TextCursor(text);
  }

  peek(): Token {
    this.ready ??= this.read();
    return this.ready;
  }

  next(): Token {
    const token = this.peek();
    this.ready = undefined;
    this.head += 1;
    this.parsed += 1;
    if (this.head === this.tokens.length) {
      this.tokens = [];
      this.head = 0;
    }
    return token;
  }

  private read(): Token {
    for (;;) {
      const token = this.tokens[this.head];
      if (token !== undefined && !this.mayBecomeKey()) return token;
      this.fetch();
    }
  }

  /** Whether the next token may still be a key: a `:` may follow, with which a map would begin before it. */
  private mayBecomeKey(): boolean {
    const key = this.keyOfToken.get(this.parsed);
    return key !== undefined && this.isValid(key);
  }

  private isValid(key: SimpleKey): boolean {
    const { cursor } = this;
    if (!key.possible) return false;
    if (key.line === cursor.line) {
      if (cursor.position - key.at <= LONGEST_KEY) return true;
      key.last ??= cursor.offsetAfter(key.at, LONGEST_KEY);
      if (cursor.position <= key.last) return true;
    }
    if (key.required) throw new YamlRefused("syntax", key.at);
    key.possible = false;
    return false;
  }

  private fetch(): void {
    const { cursor } = this;
    cursor.skipToToken();
    this.unroll(cursor.column);
    const code = cursor.code;
    const character = String.fromCharCode(code);
    if (code === 0) {
      // No key goes on behind the end.
      cursor.line += 1;
      this.endBlocks();
      this.add("stream-end");
    } else if (cursor.column === 0 && character === "%") {
      this.endBlocks();
      this.push(scanDirective(cursor));
    } else if (cursor.isDocumentIndicator()) {
      this.endBlocks();
      this.add(character === "-" ? "document-start" : "document-end", 3);
    } else if (!this.fetchIndicator(character)) this.fetchContent(character);
  }

  private fetchIndicator(character: string): boolean {
    const { cursor } = this;
    const apart = isBlankOrEnd(cursor.codeAt(1));
    switch (character) {
      case "[":
      case "{":
        this.openFlow(character === "[" ? "flow-sequence" : "flow-mapping");
        return true;
      case "]":
      case "}":
        this.closeFlow(character === "]" ? "flow-sequence-end" : "flow-mapping-end");
        return true;
      case ",":
        this.dropKey();
        cursor.keyAllowed = true;
        this.add("flow-entry", 1);
        return true;
      case "-":
        if (apart) this.fetchEntry();
        return apart;
      case "?":
        if (apart || cursor.flow > 0) this.fetchKey();
        return apart || cursor.flow > 0;
      case ":":
        if (apart || cursor.flow > 0) this.fetchValue();
        return apart || cursor.flow > 0;
      default:
        return false;
    }
  }

  private fetchContent(character: string): void {
    const { cursor } = this;
    const block = cursor.flow === 0;
    if ((character === "|" || character === ">") && block) {
      this.dropKey();
      cursor.keyAllowed = true;
      this.push(scalarToken(cursor.position, scanBlockScalar(cursor, character === "|"), false));
      return;
    }
    const at = cursor.position;
    if (character === "*" || character === "&") {
      this.saveKey();
      this.push(token(character === "*" ? "alias" : "anchor", at, scanAnchor(cursor)));
    } else if (character === "!") {
      this.saveKey();
      this.push(scanTag(cursor));
    } else if (character === "'" || character === '"') {
      this.saveKey();
      this.push(scalarToken(at, scanQuotedScalar(cursor, character), false));
    } else if (this.mayBePlain(character)) {
      this.saveKey();
      this.push(scalarToken(at, scanPlainScalar(cursor), true));
    } else throw new YamlRefused("syntax", at);
  }

  private mayBePlain(character: string): boolean {
    const { cursor } = this;
    const next = cursor.codeAt(1);
    if (character === "-") return !isBlank(next);
    if (character === "?" || character === ":") return cursor.flow === 0 && !isBlankOrEnd(next);
    return !isBlankOrEnd(cursor.code) && !",[]{}#&*!|>'\"%@`".includes(character);
  }

  private openFlow(kind: TokenKind): void {
    const { cursor } = this;
    this.saveKey();
    this.keys.push({ ...NOWHERE, token: this.nextNumber() });
    cursor.flow += 1;
    if (cursor.flow > this.deepest) throw new YamlRefused("depth", cursor.position);
    cursor.keyAllowed = true;
    this.add(kind, 1);
  }

  private closeFlow(kind: TokenKind): void {
    const { cursor } = this;
    this.dropKey();
    if (cursor.flow > 0) {
      cursor.flow -= 1;
      // The parser forgets the key that begins with an empty collection: `[]: value` is the list alone.
      this.keyOfToken.delete(this.keys.pop()?.token ?? 0);
    }
    cursor.keyAllowed = false;
    this.add(kind, 1);
  }

  private fetchEntry(): void {
    const { cursor } = this;
    if (cursor.flow === 0) {
      if (!cursor.keyAllowed) throw new YamlRefused("syntax", cursor.position);
      this.roll(cursor.column, "block-sequence", cursor.position);
    }
    this.dropKey();
    cursor.keyAllowed = true;
    this.add("block-entry", 1);
  }

  private fetchKey(): void {
    const { cursor } = this;
    if (cursor.flow === 0) {
      if (!cursor.keyAllowed) throw new YamlRefused("syntax", cursor.position);
      this.roll(cursor.column, "block-mapping", cursor.position);
    }
    this.dropKey();
    cursor.keyAllowed = cursor.flow === 0;
    this.add("key", 1);
  }

  private fetchValue(): void {
    const { cursor } = this;
    const key = this.keys.at(-1);
    if (key !== undefined && this.isValid(key)) {
      const index = key.token < this.parsed ? undefined : this.head + key.token - this.parsed;
      this.tokens.splice(index ?? this.tokens.length, 0, token("key", key.at));
      this.roll(cursor.columnOf(key.at), "block-mapping", key.at, index);
      key.possible = false;
      this.keyOfToken.delete(key.token);
      cursor.keyAllowed = false;
    } else {
      if (cursor.flow === 0) {
        if (!cursor.keyAllowed) throw new YamlRefused("syntax", cursor.position);
        this.roll(cursor.column, "block-mapping", cursor.position);
      }
      cursor.keyAllowed = cursor.flow === 0;
    }
    this.add("value", 1);
  }

  private saveKey(): void {
    const { cursor } = this;
    if (cursor.keyAllowed) {
      this.dropKey();
      const required = cursor.flow === 0 && cursor.indent === cursor.column;
      const token = this.nextNumber();
      const key = { possible: true, required, token, at: cursor.position, line: cursor.line };
      this.keys[this.keys.length - 1] = key;
      this.keyOfToken.set(token, key);
    }
    cursor.keyAllowed = false;
  }

  private dropKey(): void {
    const key = this.keys.at(-1);
    if (key?.possible !== true) return;
    if (key.required) throw new YamlRefused("syntax", key.at);
    key.possible = false;
    this.keyOfToken.delete(key.token);
  }

  private nextNumber(): number {
    return this.parsed + this.tokens.length - this.head;
  }

  /** Begins a block collection if this column is further right. */
  private roll(column: number, kind: TokenKind, at: number, index = this.tokens.length): void {
    const { cursor } = this;
    if (cursor.flow > 0 || cursor.indent >= column) return;
    this.indents.push(cursor.indent);
    if (this.indents.length > this.deepest + 1) throw new YamlRefused("depth", at);
    cursor.indent = column;
    this.tokens.splice(index, 0, token(kind, at));
  }

  /** Ends the block collections to the right of a column. */
  private unroll(column: number): void {
    const { cursor } = this;
    while (cursor.flow === 0 && cursor.indent > column) {
      this.add("block-end");
      cursor.indent = this.indents.pop() ?? -1;
    }
  }

  private endBlocks(): void {
    this.unroll(-1);
    this.dropKey();
    this.cursor.keyAllowed = false;
  }

  /** Adds a token of so many characters. */
  private add(kind: TokenKind, width = 0): void {
    this.push(token(kind, this.cursor.position));
    this.cursor.skip(width);
  }

  private push(one: Token): void {
    this.tokens.push(one);
  }
}

function scalarToken(at: number, text: string, plain: boolean): Token {
  return { kind: "scalar", at, text, suffix: "", plain };
}
