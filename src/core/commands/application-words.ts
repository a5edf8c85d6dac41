import { patternProblem } from "../../config/pattern.js";
import { readLabelSelector } from "./label-selector.js";

const MAX_NAME_LENGTH = 253;

/**
 * What a value of `-a` names: names, patterns and labels between commas, as a shell would hand them over without its
 * quotes. Undefined if a part of it is none of these.
 */
export function applicationsIn(value: string): readonly string[] | undefined {
  const parts = listParts(value.replace(/'([^']*)'|"([^"]*)"/g, "$1$2"));
  return parts.every((part) => isApplicationName(part) || isSelecting(part)) ? parts : undefined;
}

/** Splits at commas that do not separate alternatives of a pattern. */
export function listParts(value: string): readonly string[] {
  const parts = [""];
  let inBraces = false;
  for (const letter of value) {
    if (letter === "{" || letter === "}") inBraces = letter === "{";
    if (letter === "," && !inBraces) parts.push("");
    else parts.push(`${parts.pop() ?? ""}${letter}`);
  }
  return parts;
}

/** `<name>` or `<namespace>/<name>`, each a Kubernetes name. */
export function isApplicationName(text: string): boolean {
  return text.length <= 2 * MAX_NAME_LENGTH && /^[a-z0-9][a-z0-9.-]*(?:\/[a-z0-9][a-z0-9.-]*)?$/.test(text);
}

/** A pattern or a label: it selects among what the command could act on. */
export function isSelecting(text: string): boolean {
  return isNamePattern(text) || readLabelSelector(text) !== undefined;
}

/** A pattern as in the repository file, of the characters that names are made of. */
export function isNamePattern(text: string): boolean {
  return /[*?{]/.test(text) && /^[a-z0-9.*?{},/-]+$/.test(text) && patternProblem(text) === undefined;
}
