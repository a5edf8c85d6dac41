import { MERGE_METHODS } from "./merge-method.js";
import { flag, leaf, listOf, oneOf, pattern, section, Wrong } from "./schema-parts.js";

const MOST_PATTERNS_OF_AN_APPLICATION = 100;

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
  }).refine((entry) => entry.require_approval !== undefined || entry.require_up_to_date !== undefined, {
    error: "the entry requires nothing: give require_approval or require_up_to_date",
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
