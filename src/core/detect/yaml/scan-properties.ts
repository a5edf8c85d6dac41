import { YamlRefused } from "../../../config/bounded-yaml.js";
import { isAlpha, isBlank, isBlankOrEnd, isBreak, isBreakOrEnd, type TextCursor } from "./cursor.js";
import { type Token, token } from "./tokens.js";

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
