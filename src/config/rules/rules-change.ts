import { isDeepStrictEqual } from "node:util";
import { matchesName } from "../pattern.js";
import type { RepositoryConfig } from "../repository/repository.js";
import type { AccessRule } from "./requirements.js";
import { describeSelectors } from "./rule-match.js";

type Entry = RepositoryConfig["syncRequirements"][number];

/** That a change request changes a repository's file: svc merges it only with an approval under the rules of before. */
export interface RulesChange {
  /** Each of these must allow one of the approvers; if there are none, every approval that counts is enough. */
  readonly lists: readonly AccessRule[];
}

/**
 * The lists of people that a change of the file concerns: those of entries that change, and those for applications that a
 * changed entry may be for. What holds for all applications, and the order of the entries, concern every list.
 * @param after undefined if it cannot be read.
 */
export function listsConcerned(before: RepositoryConfig, after: RepositoryConfig | undefined): readonly AccessRule[] {
  const changed = after === undefined ? undefined : changedEntries(before, after);
  const concerned = before.syncRequirements.filter(
    (entry) => changed === undefined || changed.some((other) => mayOverlap(entry, other)),
  );
  return concerned
    .filter(({ allowedUsers, allowedTeams }) => allowedUsers !== undefined || allowedTeams !== undefined)
    .map(({ allowedUsers, allowedTeams }) => ({ users: allowedUsers ?? [], teams: allowedTeams ?? [] }));
}

/** Undefined if more than single entries changes. */
function changedEntries(before: RepositoryConfig, after: RepositoryConfig): readonly Entry[] | undefined {
  const rest = (config: RepositoryConfig) => ({ ...config, version: undefined, syncRequirements: [] });
  if (!isDeepStrictEqual(rest(before), rest(after))) return undefined;
  const [old, young] = [before.syncRequirements, after.syncRequirements];
  const lacks = (entries: readonly Entry[]) => (entry: Entry) => !entries.some((one) => isDeepStrictEqual(one, entry));
  const [removed, added] = [old.filter(lacks(young)), young.filter(lacks(old))];
  const kept = [old.filter((entry) => !removed.includes(entry)), young.filter((entry) => !added.includes(entry))];
  return isDeepStrictEqual(kept[0], kept[1]) ? [...removed, ...added] : undefined;
}

/** Whether an application may match both. Two different names without wildcards are for different applications. */
function mayOverlap(left: Entry, right: Entry): boolean {
  if (describeSelectors(left) === describeSelectors(right)) return true;
  if (left.name === undefined || right.name === undefined) return true;
  const [one, other] = [lastPart(left.name), lastPart(right.name)];
  return (isPattern(one) && isPattern(other)) || matchesName(one, other) || matchesName(other, one);
}

function isPattern(name: string): boolean {
  return /[*?{]/.test(name);
}

/** Rules reach other namespaces, so only the name without its namespace tells applications apart. */
function lastPart(name: string): string {
  return name.includes("{") ? name : name.slice(name.lastIndexOf("/") + 1);
}
