import type { Command } from "../model/command.js";
import { COMMAND_NAMES, COMMANDS } from "./commands.js";
import { firstLine, type FirstLine } from "./first-paragraph.js";
import { OPTIONS, type OptionName } from "./options.js";

/** A comment that starts with the command word. */
export type ParsedComment =
  { readonly kind: "command"; readonly command: Command } | { readonly kind: "not-a-command" };

/** Only this much of a comment is read. */
const MAX_READ = 10_000;
const MAX_NAME_LENGTH = 253;
const MAX_NAMES = 100;
/** Characters that make a line look different from what it is: control, zero-width and bidirectional ones. */
const DECEIVING = /[\p{Cc}\p{Cf}]/u;

/** Whether a comment starts with the command word; the rest of it is not looked at. */
export function isAddressed(body: string, word: string): boolean {
  return addressed(body, word) !== undefined;
}

/**
 * Reads a comment. Only the first line of its first top-level paragraph counts, and only if it starts with the command
 * word; otherwise the result is undefined.
 * @param word The command word, in lower case.
 */
export function parseComment(body: string, word: string): ParsedComment | undefined {
  const first = addressed(body, word);
  if (first === undefined) return undefined;
  const { line, open } = first;
  // The part that was cut off may contain `--dry-run`.
  if (open || DECEIVING.test(line.replaceAll("\t", " "))) return { kind: "not-a-command" };
  const command = parseWords(wordsOf(line).slice(1));
  return command === undefined ? { kind: "not-a-command" } : { kind: "command", command };
}

function addressed(body: string, word: string): FirstLine | undefined {
  const first = firstLine(body.slice(0, MAX_READ), body.length <= MAX_READ);
  return first !== undefined && wordsOf(first.line)[0]?.toLowerCase() === word ? first : undefined;
}

function wordsOf(line: string): readonly string[] {
  return line.split(/[ \t]+/).filter((word) => word !== "");
}

function parseWords([first = "", ...words]: readonly string[]): Command | undefined {
  const name = COMMAND_NAMES.find((one) => one === first.toLowerCase());
  const options = name && parseOptions(words, COMMANDS[name].options);
  // `COMMANDS` lists exactly the options of the command, and `OPTIONS` their kinds.
  return options && ({ name, ...options } as Command);
}

/** The values of all `accepted` options; undefined if anything else is given. */
function parseOptions(
  words: readonly string[],
  accepted: Readonly<Partial<Record<OptionName, true>>>,
): Readonly<Record<string, readonly string[] | boolean>> | undefined {
  const options = (Object.keys(accepted) as readonly OptionName[]).map((name) => ({ name, ...OPTIONS[name] }));
  const given = new Map(options.map(({ name }) => [name, new Set<string>()]));
  const switched = new Set<OptionName>();
  for (let at = 0; at < words.length; at += 1) {
    const [flag, attached] = splitAtEquals(words[at] ?? "");
    const option = options.find(({ flags }) => flags.includes(flag.toLowerCase()));
    if (option === undefined) return undefined;
    if (option.value === undefined) {
      if (attached !== undefined) return undefined;
      switched.add(option.name);
    } else {
      const value = attached ?? words[(at += 1)];
      if (value === undefined || !isApplicationName(value)) return undefined;
      given.get(option.name)?.add(value);
    }
  }
  if ([...given.values()].some(({ size }) => size > MAX_NAMES)) return undefined;
  return Object.fromEntries(
    options.map(({ name, value }) => [name, value === undefined ? switched.has(name) : [...(given.get(name) ?? [])]]),
  );
}

function splitAtEquals(word: string): [string, string | undefined] {
  const at = word.indexOf("=");
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** `<name>` or `<namespace>/<name>`, each a Kubernetes name. */
function isApplicationName(text: string): boolean {
  return text.length <= 2 * MAX_NAME_LENGTH && /^[a-z0-9][a-z0-9.-]*(?:\/[a-z0-9][a-z0-9.-]*)?$/.test(text);
}
