import { SERVICE } from "../../names.js";
import type { Command } from "../model/command.js";
import { COMMAND_NAMES, COMMANDS } from "./commands.js";
import { OPTIONS, type OptionName } from "./options.js";

/** A comment that starts with the command word. */
export type ParsedComment =
  { readonly kind: "command"; readonly command: Command } | { readonly kind: "not-a-command" };

/** Only this much of a comment is read. */
const MAX_READ = 10_000;
const MAX_NAME_LENGTH = 253;
const MAX_NAMES = 100;
/** The start of a quoted mail or a signature: nothing after it is meant for us. */
const MAIL_TAIL = /^(?:-- ?$|_{5,}$|-{3,}\s*original message|on .+wrote:$|sent from my )/i;
/** Characters that make a line look different from what it is: control, zero-width and bidirectional ones. */
const DECEIVING = /[\p{Cc}\p{Cf}]/u;

/** Whether a comment starts with the command word; the rest of it is not looked at. */
export function isAddressed(body: string): boolean {
  const found = firstOwnLine(body.slice(0, MAX_READ));
  return found !== undefined && /^[^ \t]*/.exec(found.line)?.[0].toLowerCase() === SERVICE;
}

/**
 * Reads a comment. Only its first line counts, leaving out blank lines, quotes, code and mail tails, and only if it starts
 * with the command word; otherwise the result is undefined.
 */
export function parseComment(body: string): ParsedComment | undefined {
  const found = firstOwnLine(body.slice(0, MAX_READ));
  if (found === undefined) return undefined;
  const { line, last } = found;
  const [word = "", ...rest] = line.split(/[ \t]+/);
  if (word.toLowerCase() !== SERVICE) return undefined;
  // The part that was cut off may contain `--dry-run`.
  if (last && body.length > MAX_READ) return { kind: "not-a-command" };
  const command = DECEIVING.test(line.replaceAll("\t", " ")) ? undefined : parseWords(rest);
  return command === undefined ? { kind: "not-a-command" } : { kind: "command", command };
}

interface OwnLine {
  readonly line: string;
  /** Nothing follows it. */
  readonly last: boolean;
}

function firstOwnLine(body: string): OwnLine | undefined {
  let fence: string | undefined;
  const lines = body.split(/\r\n|\r|\n/);
  for (const [index, raw] of lines.entries()) {
    const marker = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(raw);
    if (fence !== undefined) {
      const closes = marker?.[1]?.startsWith(fence) === true && marker[2]?.trim() === "";
      if (closes) fence = undefined;
      continue;
    }
    if (marker?.[1] !== undefined) {
      fence = marker[1];
      continue;
    }
    if (/^(?: {4}| {0,3}\t| {0,3}>)/.test(raw) || raw.trim() === "") continue;
    return MAIL_TAIL.test(raw.trim()) ? undefined : { line: raw.trim(), last: index === lines.length - 1 };
  }
  return undefined;
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
