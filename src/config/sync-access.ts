import { matchesName } from "./pattern.js";
import type { RepositoryConfig } from "./repository.js";

export type AccessCommand = NonNullable<AccessEntry["commands"]>[number];

/** The restricted commands of an entry without `commands`. */
const BOUND_BY_DEFAULT: readonly AccessCommand[] = ["sync", "rollback"];

/** Who may give a command for an application: a person in either list. At least one list is not empty. */
export interface AccessRule {
  /** Logins as written; compared ignoring case. */
  readonly users: readonly string[];
  /** `<org>/<team-slug>` on GitHub, a group's full path on GitLab. */
  readonly teams: readonly string[];
}

/** The part of a `sync_requirements` entry that says who may give commands. */
export type AccessEntry = Omit<RepositoryConfig["syncRequirements"][number], "requireApproval" | "requireUpToDate">;

/** The rule of the entry with this exact name, else of the first matching pattern; undefined if nothing restricts the command. */
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
