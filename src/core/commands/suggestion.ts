import { nearest } from "../../config/nearest.js";
import { matchesName } from "../../config/pattern.js";
import type { Command } from "../model/command.js";
import { isNamePattern } from "./application-words.js";
import { readLabelSelector } from "./label-selector.js";
import { optionMeant, OPTIONS, type OptionName } from "./options.js";

/** What a mistyped line most likely means. */
export interface Guess {
  readonly command: Command;
  /** Words without an option; those that are applications of the change request belong to the command. */
  readonly words: readonly string[];
}

/** Each word of a guess is compared with all applications, if there are not more than this. */
const MOST_COMPARED = 500;

/** The command that a guess comes to where these applications are known. */
export function suggestionOf({ command, words }: Guess, known: readonly string[]): Command {
  if (command.name === "help") return command;
  const candidates = known.length <= MOST_COMPARED ? known : [];
  const meant = (written: string) => {
    if (readLabelSelector(written) !== undefined) return written;
    if (isNamePattern(written) && candidates.some((one) => matchesName(written, one))) return written;
    const name = written.replace(/[*?{},]/g, "");
    return known.includes(name) ? name : nearest(name, candidates);
  };
  const switches = (Object.keys(OPTIONS) as readonly OptionName[]).filter(
    (option) => option in command && OPTIONS[option].value === undefined,
  );
  const applications = command.applications.map((name) => meant(name) ?? name);
  const switched = new Set<OptionName>();
  for (const word of words) {
    const option = known.includes(word) ? undefined : optionMeant(word, switches, "exactly");
    const application = option === undefined ? meant(word) : undefined;
    if (option !== undefined) switched.add(option);
    if (application !== undefined) applications.push(application);
  }
  const given = Object.fromEntries([...switched].map((option) => [option, true]));
  return { ...command, applications: [...new Set(applications)], ...given };
}
