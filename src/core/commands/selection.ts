import { nearest } from "../../config/nearest.js";
import { isPattern, matchesName, patternProblem } from "../../config/pattern.js";
import type { ApplicationName } from "../model/brand.js";
import type { Command, CommandOptions } from "../model/command.js";
import type { Plan } from "../model/plan/plan.js";
import type { Refusal } from "../model/result.js";
import type { CommandContext } from "../ports/context.js";
import { optionMeant, type OptionName, OPTIONS } from "./options.js";

/** A pattern or a label: it selects among what the command could act on. */
export function isSelecting(text: string): boolean {
  return isNamePattern(text) || readLabelSelector(text) !== undefined;
}

/** A pattern as in the repository file, of the characters that names are made of. */
function isNamePattern(text: string): boolean {
  return isPattern(text) && /^[a-z0-9.*?{},/-]+$/.test(text) && patternProblem(text) === undefined;
}

/** The labels of an application, as Argo CD has them; undefined if it does not list it. */
export type LabelsOf = (name: string) => Readonly<Record<string, string>> | undefined;

const PREFIX = "label:";

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set; a value is required here. */
const DOMAIN = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const WORD = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;

/** Undefined if a text is no `label:<key>=<value>` of what Kubernetes allows in labels. */
export function readLabelSelector(text: string): { readonly key: string; readonly value: string } | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const [key = "", value = "", ...more] = text.slice(PREFIX.length).split("=");
  const parts = key.split("/");
  const [name = "", domain = "x"] = [parts.pop(), parts.pop()];
  const valid = more.length === 0 && parts.length === 0 && DOMAIN.test(domain) && WORD.test(name) && WORD.test(value);
  return valid ? { key, value } : undefined;
}

/** Reads the labels of all applications from Argo CD, for label selectors: the change request can set those in the repository. */
export async function labelsFor(
  { applications }: { readonly applications: readonly string[] },
  { deployer, clock, signal }: Pick<CommandContext, "deployer" | "clock" | "signal">,
): Promise<LabelsOf> {
  if (!applications.some((one) => readLabelSelector(one) !== undefined)) return () => undefined;
  const listed = await deployer.listApplications(signal, clock.now());
  const labels = new Map<string, Readonly<Record<string, string>>>(listed.map((one) => [one.name, one.labels]));
  return (name) => labels.get(name);
}

/** `label:team=shop` for `team=shop`, and itself for a selector; undefined for anything else. */
export function selectorMeant(text: string): string | undefined {
  return [text, `${PREFIX}${text}`].find((one) => readLabelSelector(one) !== undefined);
}

/** The most likely meaning of a mistyped line. */
export interface Guess {
  readonly command: Command;
  /** Words without an option; those that are applications of the change request belong to the command. */
  readonly words: readonly string[];
}

/** Each word of a guess is compared with all applications, if there are not more than this. */
const MOST_COMPARED = 500;

/** Completes a guess with the names of the known applications. */
export function suggestionOf({ command, words }: Guess, known: readonly string[]): Command {
  if (!("applications" in command)) return command;
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

/** The command with the names that were most likely meant, if each of them is then one of the known applications. */
export function correctedTo(known: readonly string[], command: NarrowCommand): Command | undefined {
  const suggestion = suggestionOf({ command, words: [] }, known);
  if (!("applications" in suggestion)) return undefined;
  const names = suggestion.applications.filter((name) => !isSelecting(name));
  return names.every((name) => known.includes(name)) ? suggestion : undefined;
}

type NarrowCommand = Extract<Command, CommandOptions["plan"]>;

/** The applications that a command acts on, or why there are none. */
type Selection<T> =
  | { readonly kind: "selected"; readonly items: readonly T[] }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/**
 * The names that a command is narrowed to; empty if it is not. Patterns and labels select among `candidates`, on which it
 * acts without `-a`; a word without `-a` is one of these or of the `others` of the change request, or else no command.
 */
export function namesOf(
  command: NarrowCommand,
  candidates: readonly string[],
  labelsOf: LabelsOf,
  others: readonly string[] = [],
): Selection<string> {
  const { bare, ...plain } = command;
  const [word = ""] = plain.applications;
  if (bare === true && !candidates.includes(word) && !others.includes(word)) {
    const guess = { command: { ...plain, applications: [] }, words: [word] };
    const suggestion = suggestionOf(guess, [...candidates, ...others]);
    return { kind: "refused", refusal: { reason: "not-a-command", suggestion, unknownWord: word } };
  }
  const found = plain.applications.map((one) => ({ one, names: selectedBy(one, candidates, labelsOf) ?? [one] }));
  const patterns = found.filter(({ names }) => names.length === 0).map(({ one }) => one);
  if (patterns.length > 0) {
    return { kind: "refused", refusal: { reason: "no-match", patterns, applications: candidates } };
  }
  return { kind: "selected", items: [...new Set(found.flatMap(({ names }) => names))] };
}

/** The candidates that a pattern or a label selects; undefined for a name. */
export function selectedBy(
  text: string,
  candidates: readonly string[],
  labelsOf: LabelsOf,
): readonly string[] | undefined {
  const label = readLabelSelector(text);
  if (label !== undefined) return candidates.filter((name) => labelsOf(name)?.[label.key] === label.value);
  return isNamePattern(text) ? candidates.filter((name) => matchesName(text, name)) : undefined;
}

/** Selects from what a change request holds by `-a`, or everything without it. @param planned what it has a plan of */
export function select<T extends { readonly application: ApplicationName }>(
  held: readonly T[],
  command: NarrowCommand,
  planned: readonly string[],
  labelsOf: LabelsOf,
): Selection<T> {
  if (held.length === 0) return { kind: "refused", refusal: { reason: "nothing-locked" } };
  const named = namesOf(
    command,
    held.map(({ application }) => application),
    labelsOf,
    planned,
  );
  if (named.kind === "refused") return named;
  const wanted = named.items;
  const missing = wanted.filter((name) => !held.some(({ application }) => application === name));
  if (missing.length > 0) {
    const names = held.map(({ application }) => application);
    const suggestion = correctedTo(names, command);
    return { kind: "refused", refusal: { reason: "not-locked", applications: missing, held: names, suggestion } };
  }
  return {
    kind: "selected",
    items: wanted.length === 0 ? held : held.filter(({ application }) => wanted.includes(application)),
  };
}

/** The command that plans again what a plan shows: everything, or what `-a` named. */
export function planAgain({ applications }: Plan): Command<"plan"> {
  const planned = applications.filter(({ kind }) => kind !== "unplanned").map(({ application }) => application);
  return { name: "plan", applications: planned.length < applications.length ? planned : [] };
}

/** The applications in the newest plan of a change request. */
export function plannedIn(plan: Plan | undefined): readonly ApplicationName[] {
  return plan?.applications.map(({ application }) => application) ?? [];
}
