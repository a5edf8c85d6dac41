import { matchesName } from "./pattern.js";
import type { RepositoryConfig } from "./repository.js";

/** The commands that the lists of a `sync_requirements` entry can bind. */
export const ACCESS_COMMANDS = ["plan", "sync", "rollback", "unlock"] as const;
export type AccessCommand = (typeof ACCESS_COMMANDS)[number];

/** Which commands the lists bind when the entry does not say. */
const BOUND_BY_DEFAULT: readonly AccessCommand[] = ["sync", "rollback"];

/** Who may give a command for an application; a person in either list may. At least one list is not empty. */
export interface AccessRule {
  /** Logins as they are written; compared without regard to case. */
  readonly users: readonly string[];
  /** `<org>/<team-slug>` on GitHub, a group's full path on GitLab. */
  readonly teams: readonly string[];
}

/** The part of a `sync_requirements` entry that says who may command. */
export type AccessEntry = Omit<RepositoryConfig["syncRequirements"][number], "requireApproval" | "requireUpToDate">;

/**
 * The rule for a command on an application: of the entries whose lists bind this command, the one with the exact name,
 * else the first pattern in the file's order. Undefined where there is none, or where its lists are empty: then everybody
 * may who may command at all.
 */
export function accessRuleOf(
  application: string,
  command: AccessCommand,
  entries: readonly AccessEntry[],
): AccessRule | undefined {
  const binding = entries.filter(
    (entry) =>
      (entry.allowedUsers !== undefined || entry.allowedTeams !== undefined) &&
      (entry.commands ?? BOUND_BY_DEFAULT).includes(command),
  );
  const entry =
    binding.find(({ name }) => name === application) ?? binding.find(({ name }) => matchesName(name, application));
  const rule = { users: entry?.allowedUsers ?? [], teams: entry?.allowedTeams ?? [] };
  return rule.users.length === 0 && rule.teams.length === 0 ? undefined : rule;
}
