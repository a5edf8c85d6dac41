import type { Command } from "../model/command.js";
import { applicationsIn, isApplicationName, isSelecting } from "./application-words.js";
import { COMMAND_NAMES, optionsOf } from "./commands.js";
import { firstLine, type FirstLine } from "./first-paragraph.js";
import { commandMeant, guessOf } from "./near-miss.js";
import { OPTIONS, type OptionName } from "./options.js";
import type { Guess } from "./suggestion.js";

/** A comment that starts with the command word. `guess`: what it most likely means; undefined if nobody knows. */
export type ParsedComment =
  | { readonly kind: "command"; readonly command: Command }
  | { readonly kind: "not-a-command"; readonly guess: Guess | undefined };

/** Only this much of a comment is read. */
const MAX_READ = 10_000;
const MAX_NAMES = 100;
/** Patterns and labels. */
const MAX_SELECTING = 10;
/** Characters that make a line look different from what it is: control, zero-width and bidirectional ones. */
const DECEIVING = /[\p{Cc}\p{Cf}]/u;

/** Whether a comment starts with the command word and is no prose; the rest of it is not looked at. */
export function isAddressed(body: string, word: string): boolean {
  return addressed(body, word) !== undefined;
}

/**
 * Reads a comment. Only the first line of its first top-level paragraph counts, and only if it starts with the command
 * word and is no prose; otherwise the result is undefined.
 * @param word The command word, in lower case.
 */
export function parseComment(body: string, word: string): ParsedComment | undefined {
  const first = addressed(body, word);
  if (first === undefined) return undefined;
  const { line, open } = first;
  // The part that was cut off may contain `--dry-run`.
  if (open || DECEIVING.test(line.replaceAll("\t", " "))) return { kind: "not-a-command", guess: undefined };
  const words = wordsOf(line).slice(1);
  const command = parseWords(words);
  return command === undefined ? { kind: "not-a-command", guess: guessOf(words) } : { kind: "command", command };
}

function addressed(body: string, word: string): FirstLine | undefined {
  const first = firstLine(body.slice(0, MAX_READ), body.length <= MAX_READ);
  if (first === undefined) return undefined;
  const [begin, ...words] = wordsOf(first.line);
  return begin?.toLowerCase() === word && !isProse(words) ? first : undefined;
}

/** Whether a line that starts with the command word goes on as a sentence does: "svc selector does not match". */
function isProse([first = "", second = ""]: readonly string[]): boolean {
  return second !== "" && !isOption(first) && !isOption(second) && commandMeant(first, "with-more") === undefined;
}

function isOption(word: string): boolean {
  return /^--?[a-z]/i.test(word);
}

function wordsOf(line: string): readonly string[] {
  return line.split(/[ \t]+/).filter((word) => word !== "");
}

function parseWords([first = "", ...words]: readonly string[]): Command | undefined {
  const name = COMMAND_NAMES.find((one) => one === first.toLowerCase());
  const options = name && parseOptions(words, optionsOf(name));
  // `optionsOf` names exactly the options of the command, and `OPTIONS` their kinds.
  return options && ({ name, ...options } as Command);
}

/** The values of all `accepted` options; undefined if anything else is given. */
function parseOptions(
  words: readonly string[],
  accepted: readonly OptionName[],
): Readonly<Record<string, readonly string[] | boolean>> | undefined {
  const options = accepted.map((name) => ({ name, ...OPTIONS[name] }));
  const given = new Map(options.map(({ name }) => [name, new Set<string>()]));
  const switched = new Set<OptionName>();
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
    } else {
      const names = applicationsIn(attached ?? words[(at += 1)] ?? "");
      if (names === undefined) return undefined;
      for (const name of names) given.get(option.name)?.add(name);
    }
  }
  const applications = given.get("applications");
  if (bare !== undefined && applications?.size !== 0) return undefined;
  const named = [...(applications ?? [])];
  if (named.length > MAX_NAMES || named.filter(isSelecting).length > MAX_SELECTING) return undefined;
  const values = options.map(({ name, value }): [OptionName, readonly string[] | boolean] => [
    name,
    value === undefined ? switched.has(name) : [...(given.get(name) ?? [])],
  ]);
  const parsed = Object.fromEntries(values);
  return bare === undefined ? parsed : { ...parsed, applications: [bare], bare: true };
}

function splitAtEquals(word: string): [string, string | undefined] {
  const at = word.indexOf("=");
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
