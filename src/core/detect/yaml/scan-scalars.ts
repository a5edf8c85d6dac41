import { YamlRefused } from "../../../config/bounded-yaml.js";
import { isBlank, isBlankOrEnd, isBreak, isBreakOrEnd, type TextCursor, token, type Token } from "./cursor.js";

const TAB = 0x09;
const SPACE = 0x20;

/** A plain scalar, which may go on in lines that are indented more. */
export function scanPlainScalar(cursor: TextCursor): string {
  const indent = cursor.indent + 1;
  const lines = new FoldedLines();
  do {
    if (cursor.isDocumentIndicator() || cursor.is("#")) break;
    const from = cursor.position;
    skipPlain(cursor);
    lines.add(cursor.from(from));
    if (!isBlank(cursor.code) && !isBreak(cursor.code)) break;
    lines.readSpace(cursor, indent);
  } while (cursor.flow > 0 || cursor.column >= indent);
  if (lines.endsInBreak) cursor.keyAllowed = true;
  return lines.text;
}

function skipPlain(cursor: TextCursor): void {
  for (let { code } = cursor; !isBlankOrEnd(code); code = cursor.code) {
    const character = String.fromCharCode(code);
    if (character === ":" && isBlankOrEnd(cursor.codeAt(1))) return;
    if (cursor.flow > 0 && ",?[]{}".includes(character)) return;
    cursor.skip(1);
  }
}

/** The space between parts of a scalar: kept in a line, and folded across lines. */
class FoldedLines {
  text = "";
  private blanks = "";
  private firstBreak = "";
  private breaks = "";

  get endsInBreak(): boolean {
    return this.firstBreak !== "";
  }

  add(part: string): void {
    if (part === "") return;
    this.join();
    this.text += part;
  }

  /** Adds the space that was read. */
  join(): void {
    if (this.firstBreak === "\n") this.text += this.breaks === "" ? " " : this.breaks;
    else this.text += this.firstBreak + this.breaks + this.blanks;
    this.blanks = this.firstBreak = this.breaks = "";
  }

  /** With an indentation, refuses tabs in it. `escaped`: the end of the line before is not part of the text. */
  readSpace(cursor: TextCursor, indent = 0, escaped = false): void {
    let inFirst = !escaped && this.firstBreak === "";
    for (let { code } = cursor; ; code = cursor.code) {
      if (isBlank(code)) {
        if (!inFirst && code === TAB && cursor.column < indent) throw new YamlRefused("syntax", cursor.position);
        if (inFirst) this.blanks += String.fromCharCode(code);
        cursor.skip(1);
      } else if (!isBreak(code)) return;
      else if (inFirst) {
        this.blanks = "";
        this.firstBreak = cursor.readLineEnd();
        inFirst = false;
      } else this.breaks += cursor.readLineEnd();
    }
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ "0": "\0", a: "\x07", b: "\b", t: "\t", "\t": "\t", n: "\n", v: "\v", f: "\f", r: "\r", e: "\x1b" },
  ...{ " ": " ", '"': '"', "'": "'", "\\": "\\", N: "\x85", _: "\xa0", L: "\u2028", P: "\u2029" },
};
const CODE_LENGTHS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

export function scanQuotedScalar(cursor: TextCursor, quote: string): string {
  cursor.skip(1);
  const lines = new FoldedLines();
  for (;;) {
    if (cursor.isDocumentIndicator() || cursor.code === 0) throw new YamlRefused("syntax", cursor.position);
    const { part, escaped } = quotedPart(cursor, quote);
    lines.text += part;
    if (cursor.is(quote)) break;
    lines.readSpace(cursor, 0, escaped);
    lines.join();
  }
  cursor.skip(1);
  return lines.text;
}

/** What stands up to the next space or the closing quote, or up to the end of a line that is escaped. */
function quotedPart(cursor: TextCursor, quote: string): { readonly part: string; readonly escaped: boolean } {
  let part = "";
  while (!isBlankOrEnd(cursor.code)) {
    const from = cursor.position;
    const twice = quote === "'" && cursor.is(quote, 1);
    if (cursor.is(quote) && !twice) break;
    if (cursor.is(quote)) {
      cursor.skip(2);
      part += quote;
    } else if (quote === '"' && cursor.is("\\")) {
      if (isBreak(cursor.codeAt(1))) {
        cursor.skip(1);
        cursor.skipLineEnd();
        return { part, escaped: true };
      }
      part += escapedCharacter(cursor);
    } else {
      do cursor.skip(1);
      while (!isBlankOrEnd(cursor.code) && !cursor.is(quote) && !cursor.is("\\"));
      part += cursor.from(from);
    }
  }
  return { part, escaped: false };
}

function escapedCharacter(cursor: TextCursor): string {
  const letter = String.fromCharCode(cursor.codeAt(1));
  const length = CODE_LENGTHS[letter];
  cursor.skip(2);
  const from = cursor.position;
  if (length === undefined) {
    const meant = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (meant === undefined) throw new YamlRefused("syntax", from);
    return meant;
  }
  cursor.skip(length);
  const digits = cursor.from(from);
  const point = Number.parseInt(digits, 16);
  if (!/^[\dA-Fa-f]+$/.test(digits) || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
    throw new YamlRefused("syntax", from);
  }
  return String.fromCodePoint(point);
}

export function scanBlockScalar(cursor: TextCursor, literal: boolean): string {
  cursor.skip(1);
  const { chomping, increment } = blockHeader(cursor);
  const block = new BlockIndent(increment === 0 ? 0 : Math.max(cursor.indent, 0) + increment);
  let [text, lineEnd] = ["", ""];
  let breaks = block.readBreaks(cursor);
  let indented = false;
  while (cursor.column === block.indent && cursor.code !== 0) {
    const blank = isBlank(cursor.code);
    if (!literal && !indented && !blank && lineEnd === "\n") text += breaks === "" ? " " : "";
    else text += lineEnd;
    indented = blank;
    const from = cursor.position;
    cursor.skipRestOfLine();
    text += breaks + cursor.from(from);
    lineEnd = cursor.readLineEnd();
    breaks = block.readBreaks(cursor);
  }
  if (chomping === "-") return text;
  return text + lineEnd + (chomping === "+" ? breaks : "");
}

/** `|`, `|-`, `|2`, `|+2`, `|2+`, and a comment. */
function blockHeader(cursor: TextCursor): { readonly chomping: string; readonly increment: number } {
  let [chomping, digit] = ["", ""];
  for (let left = 2; left > 0; left -= 1) {
    const character = String.fromCharCode(cursor.code);
    if (chomping === "" && (character === "+" || character === "-")) chomping = character;
    else if (digit === "" && /\d/.test(character)) digit = character;
    else break;
    cursor.skip(1);
  }
  cursor.skipBlanks();
  if (cursor.is("#")) cursor.skipRestOfLine();
  if (digit === "0" || !isBreakOrEnd(cursor.code)) throw new YamlRefused("syntax", cursor.position);
  if (isBreak(cursor.code)) cursor.skipLineEnd();
  return { chomping, increment: Number(digit) };
}

class BlockIndent {
  /** `indent` is 0 until the first line with content shows it. */
  constructor(public indent: number) {}

  /** Reads empty lines, and the indentation of the line that follows. */
  readBreaks(cursor: TextCursor): string {
    let breaks = "";
    let deepest = 0;
    const isOutside = () => this.indent === 0 || cursor.column < this.indent;
    for (;;) {
      while (isOutside() && cursor.code === SPACE) cursor.skip(1);
      deepest = Math.max(deepest, cursor.column);
      if (isOutside() && cursor.code === TAB) throw new YamlRefused("syntax", cursor.position);
      if (!isBreak(cursor.code)) break;
      breaks += cursor.readLineEnd();
    }
    if (this.indent === 0) this.indent = Math.max(deepest, cursor.indent + 1, 1);
    return breaks;
  }
}

const AFTER_ANCHOR = "?:,]}%@`";
/** UTF-8 as the parser checks it: overlong sequences pass. */
const UTF8 = /^(?:[\0-\x7f]|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3})*$/;
const URI = ";/?:@&=+$,.!~*'()[]%";

export function scanAnchor(cursor: TextCursor): string {
  cursor.skip(1);
  const name = word(cursor);
  const ends = isBlankOrEnd(cursor.code) || AFTER_ANCHOR.includes(String.fromCharCode(cursor.code));
  if (name === "" || !ends) throw new YamlRefused("syntax", cursor.position);
  return name;
}

/** `!<uri>`, `!suffix`, `!!suffix`, `!handle!suffix` or `!`. */
export function scanTag(cursor: TextCursor): Token {
  const at = cursor.position;
  let [handle, suffix] = ["", ""];
  if (cursor.is("<", 1)) {
    cursor.skip(2);
    suffix = uri(cursor);
    expect(cursor, cursor.is(">") && suffix !== "");
    cursor.skip(1);
  } else {
    const start = tagHandle(cursor);
    const rest = uri(cursor);
    if (start.length > 1 && start.endsWith("!")) {
      expect(cursor, rest !== "");
      [handle, suffix] = [start, rest];
    } else {
      suffix = start.slice(1) + rest;
      [handle, suffix] = suffix === "" ? ["", "!"] : ["!", suffix];
    }
  }
  expect(cursor, isBlankOrEnd(cursor.code));
  return token("tag", at, handle, suffix);
}

/** A `%YAML` or `%TAG` line; others are refused. */
export function scanDirective(cursor: TextCursor): Token {
  const at = cursor.position;
  cursor.skip(1);
  const name = word(cursor);
  expect(cursor, (name === "YAML" || name === "TAG") && isBlankOrEnd(cursor.code));
  cursor.skipBlanks();
  const directive = name === "YAML" ? version(cursor, at) : tagDirective(cursor, at);
  cursor.skipBlanks();
  if (cursor.is("#")) cursor.skipRestOfLine();
  expect(cursor, isBreakOrEnd(cursor.code));
  if (isBreak(cursor.code)) cursor.skipLineEnd();
  return directive;
}

function version(cursor: TextCursor, at: number): Token {
  const from = cursor.position;
  while (/[\d.]/.test(String.fromCharCode(cursor.code))) cursor.skip(1);
  const number = cursor.from(from);
  expect(cursor, /^\d{1,2}\.\d{1,2}$/.test(number));
  return token("version-directive", at, "", number);
}

function tagDirective(cursor: TextCursor, at: number): Token {
  const handle = tagHandle(cursor);
  expect(cursor, handle.endsWith("!") && isBlank(cursor.code));
  cursor.skipBlanks();
  const prefix = uri(cursor);
  expect(cursor, prefix !== "" && isBlankOrEnd(cursor.code));
  return token("tag-directive", at, handle, prefix);
}

function tagHandle(cursor: TextCursor): string {
  expect(cursor, cursor.is("!"));
  const from = cursor.position;
  cursor.skip(1);
  word(cursor);
  if (cursor.is("!")) cursor.skip(1);
  return cursor.from(from);
}

/** The part of a tag that may have escapes. They stand for bytes, of which those beyond ASCII never matter. */
function uri(cursor: TextCursor): string {
  const from = cursor.position;
  while (isAlpha(cursor.code) || (cursor.code > 0 && URI.includes(String.fromCharCode(cursor.code)))) cursor.skip(1);
  const text = cursor.from(from);
  if (!text.includes("%")) return text;
  const bytes = text.replace(/%([\dA-Fa-f]{2})/g, (_, byte: string) => String.fromCharCode(Number.parseInt(byte, 16)));
  expect(cursor, !/%(?![\dA-Fa-f]{2})/.test(text) && UTF8.test(bytes));
  return bytes;
}

function word(cursor: TextCursor): string {
  const from = cursor.position;
  while (isAlpha(cursor.code)) cursor.skip(1);
  return cursor.from(from);
}

function expect(cursor: TextCursor, holds: boolean): void {
  if (!holds) throw new YamlRefused("syntax", cursor.position);
}

/** Letters of ASCII, digits, `_` and `-`. */
function isAlpha(code: number): boolean {
  return code < 0x80 && /[\w-]/.test(String.fromCharCode(code));
}
