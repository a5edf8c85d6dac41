import { isDeepStrictEqual } from "node:util";
import { REPOSITORY_FILE } from "../../names.js";
import type { RepositoryConfig, RepositoryConfigResult } from "../repository/repository.js";
import { describeSelectors, SELECTORS } from "./rule-match.js";

/** Longer notes are cut in a plan, and the first of them must not hide the others. */
const LONGEST_NOTE = 400;
const MOST_NOTES = 10;

/**
 * Sentences for a plan about changes of the repository's file. See `resolveSettings` for what takes effect when.
 * @param before the rules of the base branch; undefined if its file is broken, and no earlier version could be read.
 */
export function policyNotes(
  before: RepositoryConfig | undefined,
  base: RepositoryConfigResult,
  head: RepositoryConfigResult,
): readonly string[] {
  if (head.kind === "invalid") return [];
  const repaired = base.kind === "valid" ? [] : [repairedSentence(before)];
  if (before === undefined) return repaired;
  const mapping = mappingChanges(before, head.config);
  const later = [...ruleChanges(before, head.config), ...mapping.later];
  const start = `${REPOSITORY_FILE}: takes effect only after the merge, because rules come from the base branch: `;
  return [
    ...repaired,
    ...joinedIn(later, start),
    ...(mapping.now.length === 0 ? [] : [`${REPOSITORY_FILE}: takes effect already: ${mapping.now.join(", ")}`]),
  ];
}

function repairedSentence(before: RepositoryConfig | undefined): string {
  const start = `${REPOSITORY_FILE} is broken on the base branch and repaired here: until the merge every application requires approval`;
  return before === undefined
    ? `${start} by an administrator of svc's pages, because no earlier version of the file could be read, and the server's defaults apply to the rest`
    : `${start}, and the rules of the last version that could be read hold`;
}

/** The items behind `start`, in as many notes as they need. */
function joinedIn(items: readonly string[], start: string): readonly string[] {
  const notes: string[] = [];
  let note = "";
  for (const item of items) {
    const longer = note === "" ? item : `${note}, ${item}`;
    if (note !== "" && longer.length > LONGEST_NOTE - start.length) notes.push(start + note);
    note = notes.length > 0 && longer.length > LONGEST_NOTE - start.length ? item : longer;
  }
  if (note !== "") notes.push(start + note);
  const more = notes.length - MOST_NOTES;
  return more > 0 ? [...notes.slice(0, MOST_NOTES), `${REPOSITORY_FILE}: more rules change than fit here`] : notes;
}

/** What changes about the rules, what no longer holds first. */
function ruleChanges(base: RepositoryConfig, head: RepositoryConfig): readonly string[] {
  const apart = new Set(["version", "applications", "crPaths", "syncRequirements"]);
  const plain = changedKeys(base, head).filter((key) => !apart.has(key));
  const changes = [...plain.map((key) => keyChange(key, base, head)), ...requirementChanges(base, head)];
  return [...changes.filter((one) => one.includes(NO_LONGER)), ...changes.filter((one) => !one.includes(NO_LONGER))];
}

const NO_LONGER = "no longer";

function requirementChanges(base: RepositoryConfig, head: RepositoryConfig): readonly string[] {
  const [before, after] = [base.syncRequirements, head.syncRequirements];
  const names = [...new Set([...before, ...after].map(describeSelectors))];
  const changed = names.flatMap((name) => {
    const [old, now] = [before, after].map((entries) => entries.find((entry) => describeSelectors(entry) === name));
    return changedKeys(old, now)
      .filter((key) => !SELECTORS.some((one) => one === key))
      .map((key) => `${name}: ${keyChange(key, old, now)}`);
  });
  if (changed.length > 0 || isDeepStrictEqual(before, after)) return changed;
  return ["the order of sync_requirements"];
}

/** What changes about one key of the file or of an entry. */
function keyChange(key: string, before: object | undefined, after: object | undefined): string {
  const [old, now] = [before, after].map((one) => new Map<string, unknown>(Object.entries(one ?? {})).get(key));
  switch (key) {
    case "requireApproval":
      return flagChange("approval", old, now);
    case "requireUpToDate":
      return flagChange("an up-to-date branch", old, now);
    case "requireHealthy":
      return flagChange("a healthy application", old, now);
    case "allowedUsers":
    case "allowedTeams":
      if (now === undefined) return `${NO_LONGER} restricted to ${snake(key)} ${listed(old)}`;
      return old === undefined
        ? `restricted to ${snake(key)} ${listed(now)}`
        : `${snake(key)} ${listed(now)} instead of ${listed(old)}`;
    default:
      return snake(key);
  }
}

function flagChange(what: string, old: unknown, now: unknown): string {
  if (now === true) return `${what} required`;
  return old === true || now === false ? `${what} ${NO_LONGER} required` : `${what} required as elsewhere`;
}

function listed(names: unknown): string {
  const texts = Array.isArray(names) ? names.map(String) : [];
  return texts.length === 0 ? "nobody" : texts.join(", ");
}

interface MappingChanges {
  readonly now: readonly string[];
  readonly later: readonly string[];
}

function mappingChanges(base: RepositoryConfig, head: RepositoryConfig): MappingChanges {
  const [before, after] = [pathsOf(base), pathsOf(head)];
  const [looked, looks] = [base.crPaths ?? [], head.crPaths ?? []];
  const crPaths = crPathsChange(looked, looks);
  return {
    now: [...added(before, after).map((one) => `applications ${one}`), ...crPaths.now],
    later: [...added(after, before).map((one) => `removal of applications ${one}`), ...crPaths.later],
  };
}

/** No `cr_paths` means all files, on either side. */
function crPathsChange(before: readonly string[], after: readonly string[]): MappingChanges {
  if (before.length > 0 && after.length === 0) {
    return { now: ["removal of cr_paths (all files are scanned)"], later: [] };
  }
  if (before.length === 0 && after.length > 0) return { now: [], later: ["cr_paths"] };
  return {
    now: added(before, after).map((one) => `cr_paths ${one}`),
    later: added(after, before).map((one) => `removal of cr_paths ${one}`),
  };
}

function pathsOf({ applications }: RepositoryConfig): readonly string[] {
  return applications.flatMap(({ name, paths }) => paths.map((path) => `${name} (${path})`));
}

function added(before: readonly string[], after: readonly string[]): readonly string[] {
  return [...new Set(after)].filter((one) => !before.includes(one));
}

function changedKeys(before: object | undefined, after: object | undefined): readonly string[] {
  const [old, now] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  return [...new Set([...old.keys(), ...now.keys()])].filter((key) => !isDeepStrictEqual(old.get(key), now.get(key)));
}

function snake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
