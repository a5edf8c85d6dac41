import { flag, oneOf } from "./schema-parts.js";

/** Settings that stand in both files: the server's `defaults`, and what a repository says instead. */
export const SHARED_SETTINGS = {
  autoplan: flag().describe("plan when a pull request is opened or updated"),
  require_approval: flag().describe(
    "a sync needs an approval of the present head commit, by a person with write access who is not the author",
  ),
  require_up_to_date: flag().describe("refuse a sync that would revert newer changes of the base branch"),
  auto_merge: flag().describe("merge after a fully successful sync"),
  merge_method: oneOf(["squash", "merge", "rebase"]).describe(
    "how to merge; GitLab's project decides between merge and rebase",
  ),
  skip_no_changes: flag().describe("leave out of a sync the applications whose plan proved that nothing changes"),
  delete_source_branch: flag().describe("delete the source branch after a merge by svc"),
} as const;
