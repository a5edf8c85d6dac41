import { matchesName } from "../../config/pattern.js";
import type { ApplicationName } from "../model/brand.js";
import type { Command, CommandOptions } from "../model/command.js";
import type { Plan } from "../model/plan.js";
import type { Refusal } from "../model/result.js";
import { isNamePattern, readLabelSelector, type LabelsOf, suggestionOf } from "./application-words.js";

/** A command that `-a` can narrow. */
export type NarrowCommand = Extract<Command, CommandOptions["plan"]>;

/** The applications that a command acts on, or why there are none. */
export type Selection<T> =
  { readonly kind: "selected"; readonly items: readonly T[] } | { readonly kind: "refused"; readonly refusal: Refusal };

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

/** Undefined for a name. */
function selectedBy(text: string, candidates: readonly string[], labelsOf: LabelsOf): readonly string[] | undefined {
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
    return { kind: "refused", refusal: { reason: "not-locked", applications: missing } };
  }
  return {
    kind: "selected",
    items: wanted.length === 0 ? held : held.filter(({ application }) => wanted.includes(application)),
  };
}

/** What the newest plan of a change request is about. */
export function plannedIn(plan: Plan | undefined): readonly ApplicationName[] {
  return plan?.applications.map(({ application }) => application) ?? [];
}
