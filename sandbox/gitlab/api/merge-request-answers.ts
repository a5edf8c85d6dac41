import { z } from "zod";
import { user } from "./answers.js";
import { pipeline } from "./mark-answers.js";

/* As `answers.ts`: the answers that concern one merge request. */

const time = z.iso.datetime();
const commitId = z.string().regex(/^[0-9a-f]{40}$/);

export const mergeRequest = z.strictObject({
  id: z.int(),
  iid: z.int(),
  project_id: z.int(),
  title: z.string(),
  description: z.string(),
  state: z.enum(["opened", "closed", "merged", "locked"]),
  created_at: time,
  updated_at: time,
  merged_by: user.nullable(),
  merge_user: user.nullable(),
  merged_at: time.nullable(),
  closed_by: user.nullable(),
  closed_at: time.nullable(),
  target_branch: z.string(),
  source_branch: z.string(),
  user_notes_count: z.int(),
  upvotes: z.int(),
  downvotes: z.int(),
  author: user,
  assignees: z.array(user),
  assignee: z.null(),
  reviewers: z.array(user),
  source_project_id: z.int(),
  target_project_id: z.int(),
  labels: z.array(z.string()),
  draft: z.boolean(),
  imported: z.boolean(),
  imported_from: z.literal("none"),
  work_in_progress: z.boolean(),
  milestone: z.null(),
  merge_when_pipeline_succeeds: z.boolean(),
  merge_status: z.enum(["unchecked", "checking", "can_be_merged", "cannot_be_merged"]),
  detailed_merge_status: z.string(),
  merge_after: z.null(),
  sha: commitId,
  merge_commit_sha: commitId.nullable(),
  squash_commit_sha: commitId.nullable(),
  discussion_locked: z.null(),
  should_remove_source_branch: z.boolean().nullable(),
  force_remove_source_branch: z.boolean(),
  prepared_at: time.nullable(),
  reference: z.string(),
  references: z.strictObject({ short: z.string(), relative: z.string(), full: z.string() }),
  web_url: z.url(),
  time_stats: z.strictObject({
    time_estimate: z.int(),
    total_time_spent: z.int(),
    human_time_estimate: z.null(),
    human_total_time_spent: z.null(),
  }),
  squash: z.boolean(),
  squash_on_merge: z.boolean(),
  task_completion_status: z.strictObject({ count: z.int(), completed_count: z.int() }),
  has_conflicts: z.boolean(),
  blocking_discussions_resolved: z.boolean(),
  approvals_before_merge: z.null(),
  subscribed: z.boolean(),
  changes_count: z.string(),
  latest_build_started_at: z.null(),
  latest_build_finished_at: z.null(),
  first_deployed_to_production_at: z.null(),
  pipeline: z.null(),
  head_pipeline: pipeline.nullable(),
  diff_refs: z.strictObject({ base_sha: commitId, head_sha: commitId, start_sha: commitId }),
  merge_error: z.null(),
  rebase_in_progress: z.boolean().optional(),
  diverged_commits_count: z.int().optional(),
  first_contribution: z.boolean(),
  user: z.strictObject({ can_merge: z.boolean() }),
});

const approvedBy = z.array(z.strictObject({ user, approved_at: time }));

const coreApprovals = z.strictObject({
  user_has_approved: z.boolean(),
  user_can_approve: z.boolean(),
  approved: z.boolean(),
  approved_by: approvedBy,
});

/** The full build adds the merge request itself and the counts of its rules. */
const ruleApprovals = z.strictObject({
  ...coreApprovals.shape,
  id: z.int(),
  iid: z.int(),
  project_id: z.int(),
  title: z.string(),
  description: z.string(),
  state: z.string(),
  created_at: time,
  updated_at: time,
  merge_status: z.string(),
  approvals_required: z.int(),
  approvals_left: z.int(),
});

export const approvals = z.union([coreApprovals, ruleApprovals]);

export const approvalState = z.strictObject({
  approval_rules_overwritten: z.boolean(),
  rules: z.array(
    z.strictObject({
      id: z.int(),
      name: z.string(),
      rule_type: z.string(),
      eligible_approvers: z.array(user),
      approvals_required: z.int(),
      users: z.array(user),
      groups: z.array(z.never()),
      contains_hidden_groups: z.boolean(),
      report_type: z.null(),
      section: z.string().nullable(),
      source_rule: z.null(),
      overridden: z.boolean(),
      code_owner: z.boolean(),
      approved_by: z.array(user),
      approved: z.boolean(),
    }),
  ),
});

export const reviewers = z.array(
  z.strictObject({
    user,
    state: z.enum(["unreviewed", "reviewed", "requested_changes", "approved", "unapproved"]),
    created_at: time,
  }),
);

/** https://docs.gitlab.com/api/merge_requests/#retrieve-merge-request-diff-versions */
export const versions = z.array(
  z.strictObject({
    id: z.int(),
    head_commit_sha: commitId,
    base_commit_sha: commitId,
    start_commit_sha: commitId,
    created_at: time,
    merge_request_id: z.int(),
    state: z.literal("collected"),
    real_size: z.string(),
  }),
);

export const note = z.strictObject({
  id: z.int(),
  type: z.null(),
  body: z.string(),
  author: user,
  created_at: time,
  updated_at: time,
  system: z.boolean(),
  noteable_id: z.int(),
  noteable_type: z.literal("MergeRequest"),
  project_id: z.int(),
  commit_id: z.null(),
  resolvable: z.boolean(),
  confidential: z.boolean(),
  internal: z.boolean(),
  imported: z.boolean(),
  imported_from: z.literal("none"),
  noteable_iid: z.int(),
  commands_changes: z.strictObject({}),
});
