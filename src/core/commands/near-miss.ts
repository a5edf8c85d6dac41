import { nearest } from "../../config/nearest.js";
import type { Command, CommandName } from "../model/command.js";
import { isApplicationName, isSelecting, listParts } from "./application-words.js";
import { COMMAND_NAMES, optionsOf } from "./commands.js";
import { selectorMeant } from "./label-selector.js";
import { lettersOf, optionMeant, OPTIONS, type OptionName } from "./options.js";
import type { Guess } from "./suggestion.js";

/** More words than this are prose. */
const MOST_WORDS = 10;
const LONGEST_NAME = 512;

/** What people write who know another tool. */
const OTHER_WORDS: ReadonlyMap<string, CommandName> = new Map([
  ["apply", "sync"],
  ["deploy", "sync"],
  ["diff", "plan"],
  ["preview", "plan"],
  ["revert", "rollback"],
  ["undo", "rollback"],
]);

/** The command that a word stands for, or is nearly spelled like. `help` has near misses only where nothing follows it. */
export function commandMeant(word: string, where: "at-end" | "with-more"): CommandName | undefined {
  const plain = lettersOf(word);
  const exact = COMMAND_NAMES.find((name) => name === plain) ?? OTHER_WORDS.get(plain);
  if (exact !== undefined) return exact;
  const candidates = COMMAND_NAMES.filter((name) => where === "at-end" || name !== "help");
  return candidates.find((name) => nearest(plain, [name], name.length <= 4 ? 1 : 2) !== undefined);
}

/**
 * Reads the words behind the command word as kindly as possible. Undefined if an option is not understood: a command that
 * leaves out what somebody asked for is no good advice.
 */
export function guessOf([first = "", ...rest]: readonly string[]): Guess | undefined {
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
    if (option === undefined) return undefined;
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
  const options = optionsOf(name).map((option) => [
    option,
    OPTIONS[option].value === undefined ? switched.has(option) : [...values],
  ]);
  // `optionsOf` names exactly the options of the command, and `OPTIONS` their kinds.
  return { command: { name, ...Object.fromEntries(options) } as Command, words: [...words] };
}

/** Names, patterns and labels in a word that may have other characters around it: quotes, backticks, full stops. */
function namesIn(word: string): readonly string[] {
  return listParts(word)
    .filter((part) => part.length <= LONGEST_NAME)
    .map((part) => part.replace(/^[^a-z0-9*?{]+|[^a-z0-9*?}]+$/gi, ""))
    .map((part) => selectorMeant(part) ?? part.toLowerCase())
    .filter((part) => isApplicationName(part) || isSelecting(part));
}
