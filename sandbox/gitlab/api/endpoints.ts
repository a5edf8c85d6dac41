import { z } from "zod";
import { statusStates } from "../model/pipeline.js";
import * as answers from "./answers.js";
import * as markAnswers from "./mark-answers.js";
import * as mergeAnswers from "./merge-request-answers.js";

/** One call of the REST API, with every parameter and body member that GitLab knows for it. */
export interface Endpoint<Query extends z.ZodRawShape = z.ZodRawShape, Body extends z.ZodRawShape = z.ZodRawShape> {
  readonly method: "get" | "post" | "put" | "delete";
  /** Express path below the server's root. */
  readonly path: string;
  readonly query: Query;
  readonly body: Body;
  /** Undefined: an answer without a body. */
  readonly answer: z.ZodType | undefined;
}

const flag = z.enum(["true", "false"]).transform((text) => text === "true");
const count = z
  .string()
  .regex(/^[1-9]\d{0,8}$/)
  .transform(Number);
const paging = { page: count.optional(), per_page: count.optional() };
/** A list comes as `refs[]=a&refs[]=b` or with commas. */
const list = z.union([z.array(z.string()), z.string().transform((text) => text.split(","))]);

const api = "/api/v4";
const project = `${api}/projects/:id`;
const mergeRequest = `${project}/merge_requests/:iid`;

/* The parts used here of GitLab's API description (19.5); `versions` and the list of branches from its API pages. */

export const showUser = endpoint("get", `${api}/user`, answers.currentUser);
export const showVersion = endpoint("get", `${api}/version`, answers.metadata);
export const showMetadata = endpoint("get", `${api}/metadata`, answers.metadata);
export const showToken = endpoint("get", `${api}/personal_access_tokens/self`, answers.accessToken);

export const showProject = endpoint("get", project, answers.project, {
  statistics: flag.optional(),
  with_custom_attributes: flag.optional(),
  custom_attributes: z.record(z.string(), z.string()).optional(),
  license: flag.optional(),
});
export const showMember = endpoint("get", `${project}/members/all/:user`, answers.member);
export const showGroupMember = endpoint("get", `${api}/groups/:id/members/all/:user`, answers.member);

export const showMergeRequest = endpoint("get", mergeRequest, mergeAnswers.mergeRequest, {
  render_html: flag.optional(),
  include_diverged_commits_count: flag.optional(),
  include_rebase_in_progress: flag.optional(),
});
export const acceptMergeRequest = endpoint(
  "put",
  `${mergeRequest}/merge`,
  mergeAnswers.mergeRequest,
  {},
  {
    merge_commit_message: z.string().optional(),
    squash_commit_message: z.string().optional(),
    should_remove_source_branch: z.boolean().optional(),
    merge_when_pipeline_succeeds: z.boolean().optional(),
    auto_merge: z.boolean().optional(),
    sha: z.string().optional(),
    squash: z.boolean().optional(),
    skip_merge_train: z.boolean().optional(),
  },
);
export const showApprovals = endpoint("get", `${mergeRequest}/approvals`, mergeAnswers.approvals);
export const showApprovalState = endpoint("get", `${mergeRequest}/approval_state`, mergeAnswers.approvalState);
export const listReviewers = endpoint("get", `${mergeRequest}/reviewers`, mergeAnswers.reviewers);
export const listVersions = endpoint("get", `${mergeRequest}/versions`, mergeAnswers.versions, paging);

export const listNotes = endpoint("get", `${mergeRequest}/notes`, z.array(mergeAnswers.note), {
  order_by: z.enum(["created_at", "updated_at"]).optional(),
  sort: z.enum(["asc", "desc"]).optional(),
  activity_filter: z.enum(["all_notes", "only_comments", "only_activity"]).optional(),
  ...paging,
});
export const createNote = endpoint(
  "post",
  `${mergeRequest}/notes`,
  mergeAnswers.note,
  {},
  {
    body: z.string(),
    confidential: z.boolean().optional(),
    internal: z.boolean().optional(),
    created_at: z.string().optional(),
    merge_request_diff_head_sha: z.string().optional(),
  },
);
export const editNote = endpoint(
  "put",
  `${mergeRequest}/notes/:note`,
  mergeAnswers.note,
  {},
  {
    body: z.string().optional(),
    confidential: z.boolean().optional(),
  },
);

const awardEmoji = `${mergeRequest}/notes/:note/award_emoji`;
export const listAwards = endpoint("get", awardEmoji, z.array(markAnswers.awardEmoji), paging);
export const createAward = endpoint("post", awardEmoji, markAnswers.awardEmoji, {}, { name: z.string() });

export const listStatuses = endpoint(
  "get",
  `${project}/repository/commits/:sha/statuses`,
  z.array(markAnswers.commitStatus),
  {
    ref: z.string().optional(),
    stage: z.string().optional(),
    name: z.string().optional(),
    pipeline_id: count.optional(),
    all: flag.optional(),
    order_by: z.enum(["id", "pipeline_id"]).optional(),
    sort: z.enum(["asc", "desc"]).optional(),
    ...paging,
  },
);
export const createStatus = endpoint(
  "post",
  `${project}/statuses/:sha`,
  markAnswers.commitStatus,
  {},
  {
    state: z.enum(statusStates),
    ref: z.string().optional(),
    target_url: z.string().optional(),
    description: z.string().optional(),
    name: z.string().optional(),
    context: z.string().optional(),
    coverage: z.number().optional(),
    pipeline_id: z.int().optional(),
  },
);

export const showMergeBase = endpoint("get", `${project}/repository/merge_base`, answers.commit, { refs: list });
export const listBranches = endpoint("get", `${project}/repository/branches`, z.array(answers.branch), {
  search: z.string().optional(),
  regex: z.string().optional(),
  ...paging,
});
export const showBranch = endpoint("get", `${project}/repository/branches/:branch`, answers.branch);
export const removeBranch = endpoint("delete", `${project}/repository/branches/:branch`, undefined);
export const showCompare = endpoint("get", `${project}/repository/compare`, answers.compare, {
  from: z.string(),
  to: z.string(),
  from_project_id: count.optional(),
  straight: flag.optional(),
  unidiff: flag.optional(),
});

function endpoint<
  Query extends z.ZodRawShape = Record<string, never>,
  Body extends z.ZodRawShape = Record<string, never>,
>(
  method: Endpoint["method"],
  path: string,
  answer: z.ZodType | undefined,
  query: Query = {} as Query,
  body: Body = {} as Body,
): Endpoint<Query, Body> {
  return { method, path, answer, query, body };
}
