import { z } from "zod";
import { deploymentStatuses } from "../model/environment.js";
import { statusStates } from "../model/pipeline.js";

/**
 * One call of GitLab's REST API (19.5) with its parameters and body members. Answers are checked against gitbeaker's
 * types at compile time.
 */
export interface Endpoint<Query extends z.ZodRawShape = z.ZodRawShape, Body extends z.ZodRawShape = z.ZodRawShape> {
  /** Express path below the server's root. */
  readonly path: string;
  readonly query: Query;
  readonly body: Body;
}

type None = Record<string, never>;

function endpoint<Query extends z.ZodRawShape = None, Body extends z.ZodRawShape = None>(
  path: string,
  query: Query = {} as Query,
  body: Body = {} as Body,
): Endpoint<Query, Body> {
  return { path, query, body };
}

const flag = z.enum(["true", "false"]).transform((text) => text === "true");
const count = z
  .string()
  .regex(/^[1-9]\d{0,8}$/)
  .transform(Number);
const paging = { page: count.optional(), per_page: count.optional() };
/** A list is sent as `refs[]=a&refs[]=b` or separated by commas. */
const list = z.union([z.array(z.string()), z.string().transform((text) => text.split(","))]);

const api = "/api/v4";
const project = `${api}/projects/:id`;
const mergeRequest = `${project}/merge_requests/:iid`;

export const showCurrentUser = endpoint(`${api}/user`);
export const showMetadata = endpoint(`${api}/metadata`);
export const showUser = endpoint(`${api}/users/:user`);
/** `min_access_level` lists only groups that the caller belongs to. */
export const listGroups = endpoint(`${api}/groups`, {
  min_access_level: z.enum(["5", "10", "15", "20", "30", "40", "50"]).optional(),
  ...paging,
});

/** Those of which the caller is a member. */
export const listProjects = endpoint(`${api}/projects`, {
  membership: z.literal("true"),
  min_access_level: z.enum(["5", "10", "15", "20", "30", "40", "50"]).optional(),
  archived: flag.optional(),
  simple: flag.optional(),
  ...paging,
});
export const showProject = endpoint(project, { statistics: flag.optional(), license: flag.optional() });
/** `before` and `after` are days. */
export const listEvents = endpoint(`${project}/events`, {
  action: z.enum(["created", "updated", "closed", "reopened", "pushed", "commented", "merged"]).optional(),
  target_type: z.enum(["issue", "milestone", "merge_request", "note", "project", "snippet", "user"]).optional(),
  before: z.iso.date().optional(),
  after: z.iso.date().optional(),
  sort: z.enum(["asc", "desc"]).optional(),
  ...paging,
});
export const showMember = endpoint(`${project}/members/all/:user`);
export const showGroupMember = endpoint(`${api}/groups/:id/members/all/:user`);

export const listMergeRequests = endpoint(`${project}/merge_requests`, {
  state: z.enum(["opened", "closed", "locked", "merged", "all"]).optional(),
  order_by: z.enum(["created_at", "updated_at"]).optional(),
  sort: z.enum(["asc", "desc"]).optional(),
  updated_after: z.iso.datetime({ offset: true }).optional(),
  author_id: z.coerce.number().int().optional(),
  source_branch: z.string().optional(),
  source_project_id: z.coerce.number().int().optional(),
  target_branch: z.string().optional(),
  ...paging,
});
export const createMergeRequest = endpoint(
  `${project}/merge_requests`,
  {},
  {
    title: z.string(),
    source_branch: z.string(),
    target_branch: z.string(),
    description: z.string().optional(),
    remove_source_branch: z.boolean().optional(),
  },
);
export const listMergeRequestCommits = endpoint(`${mergeRequest}/commits`, paging);
export const showMergeRequest = endpoint(mergeRequest, {
  render_html: flag.optional(),
  include_rebase_in_progress: flag.optional(),
});
export const editMergeRequest = endpoint(mergeRequest, {}, { squash: z.boolean() });
export const rebaseMergeRequest = endpoint(`${mergeRequest}/rebase`, {}, { skip_ci: z.boolean().optional() });
export const acceptMergeRequest = endpoint(
  `${mergeRequest}/merge`,
  {},
  {
    merge_commit_message: z.string().optional(),
    squash_commit_message: z.string().optional(),
    should_remove_source_branch: z.boolean().optional(),
    sha: z.string().optional(),
    squash: z.boolean().optional(),
  },
);
export const cancelAutoMerge = endpoint(`${mergeRequest}/cancel_merge_when_pipeline_succeeds`);
export const joinTrain = endpoint(
  `${project}/merge_trains/merge_requests/:iid`,
  {},
  {
    sha: z.string().optional(),
    squash: z.boolean().optional(),
    auto_merge: z.boolean().optional(),
    when_pipeline_succeeds: z.boolean().optional(),
  },
);
export const showApprovals = endpoint(`${mergeRequest}/approvals`);
export const showApprovalState = endpoint(`${mergeRequest}/approval_state`);
export const listReviewers = endpoint(`${mergeRequest}/reviewers`);
export const listVersions = endpoint(`${mergeRequest}/versions`, paging);

export const listNotes = endpoint(`${mergeRequest}/notes`, {
  order_by: z.enum(["created_at", "updated_at"]).optional(),
  sort: z.enum(["asc", "desc"]).optional(),
  activity_filter: z.enum(["all_notes", "only_comments", "only_activity"]).optional(),
  ...paging,
});
export const createNote = endpoint(
  `${mergeRequest}/notes`,
  {},
  { body: z.string(), confidential: z.boolean().optional(), internal: z.boolean().optional() },
);
export const editNote = endpoint(`${mergeRequest}/notes/:note`, {}, { body: z.string().optional() });

const awardEmoji = `${mergeRequest}/notes/:note/award_emoji`;
export const listAwards = endpoint(awardEmoji, paging);
export const createAward = endpoint(awardEmoji, {}, { name: z.string() });

export const listMergeRequestsOfCommit = endpoint(`${project}/repository/commits/:sha/merge_requests`, {
  state: z.enum(["opened", "closed", "locked", "merged"]).optional(),
  ...paging,
});
export const listStatuses = endpoint(`${project}/repository/commits/:sha/statuses`, {
  ref: z.string().optional(),
  name: z.string().optional(),
  pipeline_id: count.optional(),
  all: flag.optional(),
  ...paging,
});
export const createStatus = endpoint(
  `${project}/statuses/:sha`,
  {},
  {
    state: z.enum(statusStates),
    ref: z.string().optional(),
    target_url: z.string().optional(),
    description: z.string().optional(),
    name: z.string().optional(),
    context: z.string().optional(),
    pipeline_id: z.int().optional(),
  },
);

const deployments = `${project}/deployments`;
export const listDeployments = endpoint(deployments, {
  order_by: z.enum(["id", "iid", "created_at", "updated_at", "ref", "finished_at"]).optional(),
  sort: z.enum(["asc", "desc"]).optional(),
  environment: z.string().optional(),
  status: z.enum(["created", ...deploymentStatuses, "blocked"]).optional(),
  ...paging,
});
export const showDeployment = endpoint(`${deployments}/:deployment`);
export const createDeployment = endpoint(
  deployments,
  {},
  {
    environment: z.string(),
    sha: z.string(),
    ref: z.string(),
    tag: z.boolean(),
    status: z.enum(deploymentStatuses),
  },
);
export const editDeployment = endpoint(`${deployments}/:deployment`, {}, { status: z.enum(deploymentStatuses) });
export const editEnvironment = endpoint(
  `${project}/environments/:environment`,
  {},
  {
    external_url: z.string().optional(),
    description: z.string().optional(),
    tier: z.enum(["production", "staging", "testing", "development", "other"]).optional(),
  },
);
/** https://docs.gitlab.com/api/project_webhooks/; `signing_token` since GitLab 19.1. */
const hookMembers = {
  name: z.string().optional(),
  description: z.string().optional(),
  push_events: z.boolean().optional(),
  issues_events: z.boolean().optional(),
  confidential_issues_events: z.boolean().optional(),
  merge_requests_events: z.boolean().optional(),
  tag_push_events: z.boolean().optional(),
  note_events: z.boolean().optional(),
  confidential_note_events: z.boolean().optional(),
  job_events: z.boolean().optional(),
  pipeline_events: z.boolean().optional(),
  wiki_page_events: z.boolean().optional(),
  deployment_events: z.boolean().optional(),
  releases_events: z.boolean().optional(),
  enable_ssl_verification: z.boolean().optional(),
  push_events_branch_filter: z.string().optional(),
  branch_filter_strategy: z.enum(["wildcard", "regex", "all_branches"]).optional(),
  token: z.string().optional(),
  signing_token: z.string().optional(),
};
export const listHooks = endpoint(`${project}/hooks`, paging);
export const createHook = endpoint(`${project}/hooks`, {}, { url: z.string(), ...hookMembers });
export const editHook = endpoint(`${project}/hooks/:hook`, {}, { url: z.string(), ...hookMembers });
/** https://docs.gitlab.com/api/group_webhooks/ */
export const listGroupHooks = endpoint(`${api}/groups/:id/hooks`, paging);
export const createGroupHook = endpoint(`${api}/groups/:id/hooks`, {}, { url: z.string(), ...hookMembers });
export const editGroupHook = endpoint(`${api}/groups/:id/hooks/:hook`, {}, { url: z.string(), ...hookMembers });
export const showToken = endpoint(`${api}/personal_access_tokens/self`);

export const showMergeBase = endpoint(`${project}/repository/merge_base`, { refs: list });
export const showBranch = endpoint(`${project}/repository/branches/:branch`);
export const removeBranch = showBranch;
export const createBranch = endpoint(`${project}/repository/branches`, {}, { branch: z.string(), ref: z.string() });
export const revertCommit = endpoint(
  `${project}/repository/commits/:sha/revert`,
  {},
  { branch: z.string(), dry_run: z.boolean().optional() },
);
