import MarkdownIt from "markdown-it";
import { nearest } from "../../config/nearest.js";
import type { Command, CommandName } from "../model/command.js";
import type { Sign } from "../model/host-words.js";
import type { UnknownOption } from "../model/result.js";
import { COMMAND_NAMES, optionsOf } from "./commands.js";
import { lettersOf, optionMeant, type OptionName, OPTIONS } from "./options.js";
import { type Guess, isSelecting, selectorMeant } from "./selection.js";

const MAX_NAME_LENGTH = 253;

/** `<name>` or `<namespace>/<name>`, each a Kubernetes name. */
function isApplicationName(text: string): boolean {
  return text.length <= 2 * MAX_NAME_LENGTH && /^[a-z0-9][a-z0-9.-]*(?:\/[a-z0-9][a-z0-9.-]*)?$/.test(text);
}

/** A comment that starts with the command word. `guess`: what it most likely means; undefined if nobody knows. */
type ParsedComment =
  | { readonly kind: "command"; readonly command: Command }
  | {
      readonly kind: "not-a-command";
      readonly guess: Guess | undefined;
      readonly unknownOption?: UnknownOption | undefined;
    };

const MAX_READ = 10_000;
/** Patterns and labels. */
const MAX_SELECTING = 10;
/** Characters that make a line look different from what it is: control, zero-width and bidirectional ones. */
const DECEIVING = /[\p{Cc}\p{Cf}]/u;

/** Whether a comment starts with the command word and is not prose. Its other lines are not read. */
export function isAddressed(body: string, word: string): boolean {
  return addressed(body, word) !== undefined;
}

/** Reads a comment: the first line of its first top-level paragraph, if that starts with the command word, in lower case, and is no prose. */
export function parseComment(body: string, word: string): ParsedComment | undefined {
  const first = addressed(body, word);
  if (first === undefined) return undefined;
  const { line, open } = first;
  // The part that was cut off may contain `--dry-run`.
  if (open || DECEIVING.test(line.replaceAll("\t", " "))) return { kind: "not-a-command", guess: undefined };
  const [begin, ...words] = wordsOf(line);
  const command = begin?.toLowerCase() === word ? parseWords(words) : undefined;
  if (command !== undefined) return { kind: "command", command };
  const [, ...meant] = wordsOf(line, ANY_SPACE);
  return { kind: "not-a-command", guess: guessOf(meant), unknownOption: unknownOptionIn(meant) };
}

/** Reads a comment with `/svc` or `@svc` and a command, whose author may be told how to write it; undefined for any other. */
export function parseSigned(
  body: string,
  word: string,
  signs: readonly Sign[],
): { readonly sign: Sign; readonly guess: Guess } | undefined {
  const first = firstLine(body.slice(0, MAX_READ), body.length <= MAX_READ);
  if (first === undefined || first.open || DECEIVING.test(first.line.replaceAll("\t", " "))) return undefined;
  const [begin, name = "", ...rest] = wordsOf(first.line);
  const sign = signs.find((each) => begin?.toLowerCase() === `${each}${word}`);
  if (sign === undefined || !COMMAND_NAMES.some((one) => one === name.toLowerCase())) return undefined;
  const guess = guessOf([name, ...rest]) ?? guessOf([name]);
  return guess && { sign, guess };
}

function addressed(body: string, word: string): FirstLine | undefined {
  const first = firstLine(body.slice(0, MAX_READ), body.length <= MAX_READ);
  if (first === undefined) return undefined;
  const [begin, ...words] = wordsOf(first.line, ANY_SPACE);
  return begin?.toLowerCase() === word && !isProse(words) ? first : undefined;
}

/** Whether a line that starts with the command word goes on as a sentence does: "svc selector does not match". */
function isProse([first = "", second = ""]: readonly string[]): boolean {
  return second !== "" && !isOption(first) && !isOption(second) && commandMeant(first, "with-more") === undefined;
}

function isOption(word: string): boolean {
  return /^--?[a-z]/i.test(word);
}

/** Also the spaces that only look like one, as some keyboards make them: they do not separate words, and svc says so. */
const ANY_SPACE = /\s+/;

function wordsOf(line: string, space = /[ \t]+/): readonly string[] {
  return line.split(space).filter((word) => word !== "");
}

function parseWords([first = "", ...words]: readonly string[]): Command | undefined {
  const name = COMMAND_NAMES.find((one) => one === first.toLowerCase());
  const options = name && parseOptions(words, optionsOf(name));
  // `optionsOf` names exactly the options of the command, and `OPTIONS` their kinds.
  return options && ({ name, ...options } as Command);
}

/** The most names that a command may have. */
const MOST_NAMES = 100;

/** The most characters that svc writes for names in one command, since it does not read the end of a very long comment. */
const LONGEST_NAMES = 8_000;

function parseOptions(
  words: readonly string[],
  accepted: readonly OptionName[],
): Readonly<Record<string, unknown>> | undefined {
  const options = accepted.map((name) => ({ name, ...OPTIONS[name] }));
  const given = new Map(options.map(({ name }) => [name, new Set<string>()]));
  const switched = new Set<OptionName>();
  const texts = new Map<OptionName, string>();
  let bare: string | undefined;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    const [flag, attached] = splitAtEquals(word);
    const option = options.find(({ flags }) => flags.includes(flag.toLowerCase()));
    if (option === undefined) {
      // The command knows whether it is the name of an application.
      if (at < words.length - 1 || !isApplicationName(word)) return undefined;
      bare = word;
    } else if (option.value === undefined) {
      if (attached !== undefined) return undefined;
      switched.add(option.name);
    } else if (option.isText === true) {
      const read = textIn(attached === undefined ? words.slice(at + 1) : [attached, ...words.slice(at + 1)]);
      if (read === undefined || texts.has(option.name)) return undefined;
      texts.set(option.name, read.text);
      at += attached === undefined ? read.words : read.words - 1;
    } else {
      const names = applicationsIn(attached ?? words[(at += 1)] ?? "");
      if (names === undefined) return undefined;
      for (const name of names) given.get(option.name)?.add(name);
    }
  }
  const applications = given.get("applications");
  if (bare !== undefined && applications?.size !== 0) return undefined;
  const named = [...(applications ?? [])];
  if (named.length > MOST_NAMES || named.filter(isSelecting).length > MAX_SELECTING) return undefined;
  const parsed: Readonly<Record<string, unknown>> = Object.fromEntries(
    options.map(({ name, value, isText }): [OptionName, unknown] => {
      if (isText === true) return [name, texts.get(name) ?? ""];
      return [name, value === undefined ? switched.has(name) : [...(given.get(name) ?? [])]];
    }),
  );
  return bare === undefined ? parsed : { ...parsed, applications: [bare], bare: true };
}

/** The first of these applications that one command can name. */
export function nameable<Name extends string>(names: readonly Name[]): readonly Name[] {
  let length = 0;
  const end = names.findIndex((name, index) => index >= MOST_NAMES || (length += name.length + 4) > LONGEST_NAMES);
  return end < 0 ? names : names.slice(0, end);
}

/** Quotes, with those that close them: keyboards of phones make curly ones. */
const QUOTES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["'", "'"],
  ["“", "”"],
]);

/** A text in quotes, or one word, and how many words it takes. Undefined if there is none, or if it has no end. */
function textIn(words: readonly string[]): { readonly text: string; readonly words: number } | undefined {
  const [first = ""] = words;
  const closing = QUOTES.get(first.charAt(0));
  if (closing === undefined) return first === "" || isOption(first) ? undefined : { text: first, words: 1 };
  const end = words.findIndex((word, index) => word.endsWith(closing) && (index > 0 || word.length > 1));
  if (end < 0) return undefined;
  return {
    text: words
      .slice(0, end + 1)
      .join(" ")
      .slice(1, -1),
    words: end + 1,
  };
}

function splitAtEquals(word: string): [string, string | undefined] {
  const at = word.indexOf("=");
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** The parts of a comment that may stand before its first paragraph; they are quoted or shown, not said. */
const BEFORE = new Set([
  "blockquote_open",
  "bullet_list_open",
  "ordered_list_open",
  "heading_open",
  "fence",
  "code_block",
]);

// Without definitions of links: one is shown as nothing by CommonMark and as a footnote by the hosts, so as a paragraph it
// ends the search.
const createReaders = () => ({
  blocks: new MarkdownIt("commonmark").disable(["reference", "inline"]),
  whole: new MarkdownIt("commonmark").disable("reference"),
});

let created: ReturnType<typeof createReaders> | undefined;

/** The readers of comments, which the first comment creates. */
function readers() {
  return (created ??= createReaders());
}

/** One host's quote of several lines; to CommonMark an empty quote that ends at once. */
const FENCED_QUOTE = /^ {0,3}>{3,}[ \t]*(?:$|\[!)/;
/** Below a paragraph this makes it a row of a table, also without a `|` in it, or a term of a description list. */
const TABLE = /^[ \t|:-]+$/;
const DESCRIPTION = /^ {0,3}[:~][ \t]/;

interface FirstLine {
  readonly line: string;
  /** The paragraph may go on behind the part of the comment that was read, and be something else there. */
  readonly open: boolean;
}

/**
 * The first line of the first top-level paragraph of a comment, as CommonMark reads it and both hosts show it. Undefined if
 * there is none, or if something before it can hide it from a reader: HTML, a line across, or the underline of a heading,
 * which is also how mails begin a signature. `complete` says whether the text is all of the comment.
 */
function firstLine(text: string, complete: boolean): FirstLine | undefined {
  const lines = text.split(/\r\n?|\n/);
  for (const { level, nesting, type, map, markup } of readers().blocks.parse(text, {})) {
    if (level > 0 || nesting < 0) continue;
    if (type === "paragraph_open" && map !== null) {
      const [start, end] = map;
      if (isHidden(lines.slice(0, start)) || isTaken(lines.slice(start + 1))) return undefined;
      return { line: lines[start] ?? "", open: !complete && end >= lines.length - 1 };
    }
    if (!BEFORE.has(type) || (type === "heading_open" && !markup.startsWith("#"))) return undefined;
  }
  return undefined;
}

/** Whether something before the paragraph can hide it: an element that is open, even in a quote that ends, or such a quote. */
function isHidden(before: readonly string[]): boolean {
  if (before.some((line) => FENCED_QUOTE.test(line))) return true;
  return readers()
    .whole.parse(before.join("\n"), {})
    .some(({ type, children }) => type === "html_block" || children?.some((child) => child.type === "html_inline"));
}

function isTaken([next = "", ...others]: readonly string[]): boolean {
  if (TABLE.test(next) && next.includes("-")) return true;
  return DESCRIPTION.test([next, ...others].find((line) => !/^[ \t]*$/.test(line)) ?? "");
}

/** More words than this are prose. */
const MOST_WORDS = 10;
const LONGEST_NAME = 512;

/** What people write who know another tool. */
const OTHER_WORDS: ReadonlyMap<string, CommandName> = new Map([
  ["apply", "sync"],
  ["deploy", "sync"],
  ["diff", "plan"],
  ["preview", "plan"],
  ["undo", "rollback"],
]);

/** The command that a word stands for, or is nearly spelled like. `help` has near misses only where nothing follows it. */
function commandMeant(word: string, where: "at-end" | "with-more"): CommandName | undefined {
  const plain = lettersOf(word);
  const exact = COMMAND_NAMES.find((name) => name === plain) ?? OTHER_WORDS.get(plain);
  if (exact !== undefined) return exact;
  const candidates = COMMAND_NAMES.filter((name) => where === "at-end" || name !== "help");
  return candidates.find((name) => nearest(plain, [name], name.length <= 4 ? 1 : 2) !== undefined);
}

/** Reads the words behind the command word as kindly as possible; undefined if an option is not understood, which no advice may leave out. */
function guessOf([first = "", ...rest]: readonly string[]): Guess | undefined {
  const name = commandMeant(first, rest.length === 0 ? "at-end" : "with-more");
  if (name === undefined) return undefined;
  const [values, words] = [new Set<string>(), new Set<string>()];
  const switched = new Set<OptionName>();
  for (let at = 0; at < rest.length; at += 1) {
    const [flag = "", ...attached] = (rest[at] ?? "").split("=");
    if (!/^[-–—]/.test(flag)) {
      for (const word of namesIn(rest[at] ?? "")) words.add(word);
      continue;
    }
    const option = optionMeant(flag, optionsOf(name), "nearly");
    if (option === undefined || OPTIONS[option].isText === true) return undefined;
    if (OPTIONS[option].value === undefined) {
      if (attached.length > 0) return undefined;
      switched.add(option);
    } else {
      const value = attached.length > 0 ? attached.join("=") : (rest[(at += 1)] ?? "");
      const names = /^[-–—]/.test(value) ? [] : namesIn(value);
      if (names.length === 0) return undefined;
      for (const one of names) values.add(one);
    }
  }
  if (values.size + words.size > MOST_WORDS) return undefined;
  const options = optionsOf(name).map((option) => {
    const { value, isText } = OPTIONS[option];
    if (isText === true) return [option, ""];
    return [option, value === undefined ? switched.has(option) : [...values]];
  });
  // `optionsOf` names exactly the options of the command, and `OPTIONS` their kinds.
  return { command: { name, ...Object.fromEntries(options) } as Command, words: [...words] };
}

/** The first option that the command does not have. What does not look like one is not repeated. */
function unknownOptionIn([first = "", ...rest]: readonly string[]): UnknownOption | undefined {
  const command = commandMeant(first, rest.length === 0 ? "at-end" : "with-more");
  if (command === undefined) return undefined;
  const known = optionsOf(command).flatMap((option) => OPTIONS[option].flags);
  const option = rest
    .map((word) => splitAtEquals(word)[0])
    .find((flag) => /^--?[a-z][a-z-]{0,30}$/i.test(flag) && !known.includes(flag.toLowerCase()));
  return option === undefined ? undefined : { command, option };
}

/** Names, patterns and labels in a word that may have other characters around it: quotes, backticks, full stops. */
function namesIn(word: string): readonly string[] {
  return listParts(word)
    .filter((part) => part.length <= LONGEST_NAME)
    .map((part) => part.replace(/^[^a-z0-9*?{]+|[^a-z0-9*?}]+$/gi, ""))
    .map((part) => selectorMeant(part) ?? part.toLowerCase())
    .filter((part) => isApplicationName(part) || isSelecting(part));
}

/** The names, patterns and labels between the commas of a value of `-a`, without a shell's quotes; undefined if one is none of these. */
function applicationsIn(value: string): readonly string[] | undefined {
  const parts = listParts(value.replace(/'([^']*)'|"([^"]*)"/g, "$1$2"));
  return parts.every((part) => isApplicationName(part) || isSelecting(part)) ? parts : undefined;
}

/** Splits at commas that do not separate alternatives of a pattern. */
function listParts(value: string): readonly string[] {
  const parts = [""];
  let inBraces = false;
  for (const letter of value) {
    if (letter === "{" || letter === "}") inBraces = letter === "{";
    if (letter === "," && !inBraces) parts.push("");
    else parts.push(`${parts.pop() ?? ""}${letter}`);
  }
  return parts;
}
