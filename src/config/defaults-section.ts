import { PATTERN_FORM, patternProblem } from "./pattern.js";
import { duration, flag, listOf, oneOf, pattern, section, text, textLeaf, Wrong } from "./schema-parts.js";

/** Settings in both files: `defaults` of the server's, and the top level of a repository's, which overrides them. */
export const SHARED_SETTINGS = {
  autoplan: flag().describe("plan when a pull request is opened or updated"),
  require_approval: flag().describe(
    "a sync, except a dry run, needs an approval of the current head commit by someone with write access other than the author",
  ),
  require_up_to_date: flag().describe("refuse a sync that would revert newer changes of the base branch"),
  require_healthy: flag().describe(
    "a sync succeeds only once Argo CD has reported the application as Healthy, or Suspended, for 30 seconds",
  ),
  health_timeout: duration("1h").describe("how long an application may take to get healthy"),
  on_failure: oneOf(["keep", "rollback"]).describe(
    "what becomes of an application that had to get healthy and did not. `keep`: it stays as it is; `rollback`: svc rolls it back by itself, once, unless another pull request was deployed since",
  ),
  auto_merge: flag().describe("merge after a fully successful sync"),
  merge_method: oneOf(["squash", "merge", "rebase"]).describe(
    "how to merge; on GitLab the project decides between merge and rebase",
  ),
  skip_no_changes: flag().describe("skip applications whose plan proved that nothing changes"),
  delete_source_branch: flag().describe("delete the source branch after a merge by svc"),
} as const;

/** `defaults`: the shared settings, and those that a repository's file cannot override. */
export function defaultsSection() {
  return section({
    autoplan: SHARED_SETTINGS.autoplan.prefault(true),
    allowed_repos: listOf(repository()).prefault([]).describe("repositories that svc serves; empty: all"),
    require_approval: SHARED_SETTINGS.require_approval.prefault(false),
    approval_from_committers: flag()
      .prefault(false)
      .describe("count an approval also if who gave it wrote or pushed commits that nobody else approved"),
    require_up_to_date: SHARED_SETTINGS.require_up_to_date.prefault(true),
    require_healthy: SHARED_SETTINGS.require_healthy.prefault(false),
    health_timeout: SHARED_SETTINGS.health_timeout.prefault("5m"),
    on_failure: SHARED_SETTINGS.on_failure.prefault("keep"),
    auto_merge: SHARED_SETTINGS.auto_merge.prefault(false),
    merge_method: SHARED_SETTINGS.merge_method.prefault("squash"),
    skip_no_changes: SHARED_SETTINGS.skip_no_changes.prefault(false),
    delete_source_branch: SHARED_SETTINGS.delete_source_branch.prefault(false),
    prune: flag().prefault(false).describe("delete resources that are no longer in the repository, as with `--prune`"),
    plan_drafts: flag().prefault(false).describe("plan drafts automatically"),
    allow_forks: flag()
      .prefault(false)
      .describe("let people with write access run commands on pull requests from forks"),
    command_access: oneOf(["write", "anyone"])
      .prefault("write")
      .describe("who may give commands: people with `write` access, or `anyone` who can comment"),
    allowed_bots: listOf(text()).prefault([]).describe("bots whose comments may be commands"),
    protected_branches: listOf(text())
      .prefault([])
      .describe("branches that are never deleted, besides `main`, `master`, `develop` and `development`"),
  });
}

/** `application_repositories`: which repositories may drive an application that does not point at them. */
export function applicationRepositories() {
  return listOf(
    section({
      application: pattern().describe("the application"),
      repositories: listOf(repository()).describe("repositories that may drive it"),
    }),
  )
    .prefault([])
    .describe("which repositories may drive an application that does not point at them");
}

function repository() {
  return textLeaf("a repository as <org>/<repo>, or a pattern such as <org>/*", (value) => {
    const problem = patternProblem(value);
    if (problem !== undefined) return new Wrong(problem);
    return value.includes("/") || value === "*" ? value : new Wrong();
  }).meta({ title: "<org>/<repo>", ...PATTERN_FORM, pattern: `^(?=\\*$|.*/)${PATTERN_FORM.pattern.slice(1)}` });
}
