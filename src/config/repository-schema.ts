import { MERGE_METHODS } from "./merge-method.js";
import { flag, leaf, listOf, oneOf, pattern, section, textLeaf, Wrong } from "./schema-parts.js";
import { ACCESS_COMMANDS } from "./sync-access.js";

const MOST_PATTERNS_OF_AN_APPLICATION = 100;
const MOST_USERS = 100;
/** Each may cost a call to the host. */
const MOST_TEAMS = 20;

/** The whole of `.svc.yaml`. */
export function repositorySchema() {
  return section({
    version: leaf("1, the only version of this file", (input) => (input === 1 ? 1 : new Wrong())).optional(),
    autoplan: flag().optional(),
    skip_no_changes: flag().optional(),
    auto_merge: flag().optional(),
    merge_method: oneOf(MERGE_METHODS).optional(),
    delete_source_branch: flag().optional(),
    require_approval: flag().optional(),
    require_up_to_date: flag().optional(),
    applications: listOf(
      section({
        name: pattern(),
        paths: listOf(pattern(), MOST_PATTERNS_OF_AN_APPLICATION).min(
          1,
          "at least one pattern is needed, such as <dir>/**",
        ),
      }),
    ).default([]),
    cr_paths: listOf(pattern()).optional(),
    sync_requirements: syncRequirements().default([]),
  });
}

function syncRequirements() {
  const requirement = section({
    name: pattern(),
    require_approval: flag().optional(),
    require_up_to_date: flag().optional(),
    allowed_users: listOf(login(), MOST_USERS).optional(),
    allowed_teams: listOf(team(), MOST_TEAMS).optional(),
    commands: listOf(oneOf(ACCESS_COMMANDS)).min(1, "at least one command is needed").optional(),
  }).superRefine((entry, context) => {
    const lists = entry.allowed_users !== undefined || entry.allowed_teams !== undefined;
    if (!lists && entry.commands !== undefined) {
      const message = "commands says what allowed_users and allowed_teams bind; give at least one of the two";
      context.addIssue({ code: "custom", path: ["commands"], message });
    } else if (!lists && entry.require_approval === undefined && entry.require_up_to_date === undefined) {
      const message =
        "the entry requires nothing: give require_approval, require_up_to_date, allowed_users or allowed_teams";
      context.addIssue({ code: "custom", message });
    }
  });
  return listOf(requirement).superRefine((entries, context) => {
    const seen = new Set<string>();
    entries.forEach(({ name }, index) => {
      if (seen.has(name)) {
        context.addIssue({
          code: "custom",
          path: [index, "name"],
          message: "an entry with this name stands above; join the two",
        });
      }
      seen.add(name);
    });
  });
}

function login() {
  return textLeaf("a login without `@`", (value) => (/^[^\s@/]+$/.test(value) ? value : new Wrong()));
}

/** GitHub's teams have two parts, GitLab's groups one or more; which of the two is meant is the host's to say. */
function team() {
  return textLeaf("a team as <org>/<team-slug>, or a group's full path, without `@`", (value) =>
    /^[^\s@/]+(?:\/[^\s@/]+)*$/.test(value) ? value : new Wrong(),
  );
}
