import type { Instance } from "../model/instance.js";
import { isDraft, type MergeRequest } from "../model/merge-request.js";
import { mergeStatus, type MergeStatus } from "../model/mergeability.js";
import type { Person } from "../model/people.js";
import { hookTime, labelBody, projectAddresses, projectBody, repositoryBody, userBody } from "./project-body.js";

export interface HookChange {
  readonly previous: unknown;
  readonly current: unknown;
}

export interface MergeRequestHook {
  readonly by: Person;
  readonly action:
    | "open"
    | "update"
    | "close"
    | "reopen"
    | "merge"
    | "approval"
    | "approved"
    | "unapproval"
    | "unapproved";
  readonly changes?: Readonly<Record<string, HookChange>>;
  /** Head before a push; set for pushes only. */
  readonly oldrev?: string;
  /** The reason, if GitLab itself acted. */
  readonly systemAction?: string;
  /** Mergeability when the event was created. */
  readonly status?: MergeStatus;
}

/** State ids in webhooks. */
export const stateIds = { opened: 1, closed: 2, merged: 3, locked: 4 } as const;

/** Sends a "Merge Request Hook" (https://docs.gitlab.com/user/project/integrations/webhook_events/#merge-request-events). */
export async function sendMergeRequestHook(
  instance: Instance,
  merge: MergeRequest,
  hook: MergeRequestHook,
): Promise<void> {
  const { project } = merge;
  const state = await mergeRequestState(instance, merge, hook.status);
  instance.hooks.send("Merge Request Hook", {
    object_kind: "merge_request",
    event_type: "merge_request",
    user: userBody(hook.by),
    project: projectBody(instance, project),
    repository: repositoryBody(instance, project),
    object_attributes: {
      ...state,
      system: hook.systemAction !== undefined,
      action: hook.action,
      ...(hook.systemAction === undefined ? {} : { system_action: hook.systemAction }),
      ...(hook.oldrev === undefined ? {} : { oldrev: hook.oldrev }),
    },
    labels: merge.labels.map((label) => labelBody(project, label)),
    changes: hook.changes ?? {},
    assignees: [],
    reviewers: [...merge.reviewers.values()].map(({ person, state }) => ({ ...userBody(person), state })),
  });
}

/** A merge request in its own webhooks and, without `system`, in those of its notes. */
export async function mergeRequestState(
  instance: Instance,
  merge: MergeRequest,
  status: MergeStatus = mergeStatus(instance, merge),
): Promise<object> {
  const { project, sourceProject } = merge;
  const commit = await instance.commits.read(project.path, merge.head);
  return {
    assignee_id: null,
    author_id: merge.author.id,
    blocking_discussions_resolved: true,
    created_at: hookTime(merge.createdAt),
    description: merge.description,
    draft: isDraft(merge),
    head_pipeline_id: null,
    id: merge.id,
    iid: merge.iid,
    last_edited_at: null,
    last_edited_by_id: null,
    merge_commit_sha: merge.mergeCommit ?? null,
    merge_error: null,
    merge_params: { force_remove_source_branch: "1" },
    merge_status: status.merge_status,
    merge_user_id: merge.mergedBy?.id ?? null,
    merge_when_pipeline_succeeds: false,
    milestone_id: null,
    source_branch: merge.sourceBranch,
    source_project_id: sourceProject.id,
    state_id: stateIds[merge.state],
    target_branch: merge.targetBranch,
    target_project_id: project.id,
    time_estimate: 0,
    title: merge.title,
    updated_at: hookTime(merge.updatedAt),
    updated_by_id: merge.updatedBy?.id ?? null,
    prepared_at: status.detailed_merge_status === "preparing" ? null : hookTime(merge.createdAt),
    assignee_ids: [],
    detailed_merge_status: status.detailed_merge_status,
    first_contribution: sourceProject !== project,
    human_time_change: null,
    human_time_estimate: null,
    human_total_time_spent: null,
    labels: merge.labels.map((label) => labelBody(project, label)),
    last_commit: {
      id: commit.id,
      message: commit.message,
      title: commit.title,
      timestamp: commit.at.toISOString().replace(/\.\d+Z$/, "+00:00"),
      url: `${projectAddresses(instance, sourceProject).web}/-/commit/${commit.id}`,
      author: { name: commit.authorName, email: "[REDACTED]" },
    },
    reviewer_ids: [...merge.reviewers.keys()],
    source: projectBody(instance, sourceProject),
    state: merge.state,
    target: projectBody(instance, project),
    time_change: 0,
    total_time_spent: 0,
    url: `${projectAddresses(instance, project).web}/-/merge_requests/${merge.iid}`,
    work_in_progress: isDraft(merge),
  };
}
