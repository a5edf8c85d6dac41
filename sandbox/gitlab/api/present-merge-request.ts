import type {
  ExpandedMergeRequestSchema,
  MergeRequestDiffVersionsSchema,
  MergeRequestNoteSchema,
} from "@gitbeaker/rest";
import { projectAddresses } from "../hooks/project-body.js";
import type { Instance } from "../model/instance.js";
import { isDraft, newestVersion, type DiffVersion, type MergeRequest, type Note } from "../model/merge-request.js";
import type { MergeStatus } from "../model/mergeability.js";
import type { Members } from "./members.js";
import { mayMerge } from "./permission.js";
import { showPipeline } from "./present-pipeline.js";
import { showUser, type ShownUser } from "./present-user.js";

/** gitbeaker lacks newer values of `detailed_merge_status` and these newer members. */
type ShownMergeRequest = Members<
  ExpandedMergeRequestSchema,
  "detailed_merge_status" | "closed_by" | "merged_by" | "head_pipeline"
> & {
  readonly head_pipeline: ReturnType<typeof showPipeline> | null;
  readonly detailed_merge_status: string;
  readonly closed_by: ShownUser | null;
  readonly merged_by: ShownUser | null;
  readonly merge_user: ShownUser | null;
  readonly imported: boolean;
  readonly imported_from: "none";
  readonly merge_after: null;
  readonly squash_on_merge: boolean;
};

/** A full merge request. Until the mergeability check has finished, `has_conflicts` is false. */
export async function showMergeRequest(
  instance: Instance,
  merge: MergeRequest,
  status: MergeStatus,
): Promise<ShownMergeRequest> {
  const { store } = instance;
  const { project, sourceProject, head } = merge;
  const { start } = newestVersion(merge);
  const base = await mergeBase(instance, merge, newestVersion(merge));
  const changed = await store.changedPaths(project.path, base, head);
  const shown = (person: MergeRequest["mergedBy"]): ShownUser | null =>
    person === undefined ? null : showUser(instance, person);
  const reference = `!${merge.iid}`;
  return {
    id: merge.id,
    iid: merge.iid,
    project_id: project.id,
    title: merge.title,
    description: merge.description,
    state: merge.state,
    created_at: merge.createdAt.toISOString(),
    updated_at: merge.updatedAt.toISOString(),
    merged_by: shown(merge.mergedBy),
    merge_user: shown(merge.mergedBy),
    merged_at: merge.mergedAt?.toISOString() ?? null,
    closed_by: shown(merge.closedBy),
    closed_at: merge.closedAt?.toISOString() ?? null,
    target_branch: merge.targetBranch,
    source_branch: merge.sourceBranch,
    user_notes_count: merge.notes.filter(({ system }) => !system).length,
    upvotes: 0,
    downvotes: 0,
    author: showUser(instance, merge.author),
    assignees: [],
    assignee: null,
    reviewers: [...merge.reviewers.values()].map(({ person }) => showUser(instance, person)),
    source_project_id: sourceProject.id,
    target_project_id: project.id,
    labels: merge.labels.map(({ title }) => title),
    draft: isDraft(merge),
    imported: false,
    imported_from: "none",
    work_in_progress: isDraft(merge),
    milestone: null,
    merge_when_pipeline_succeeds: merge.joinsTrain || project.mergeTrain?.includes(merge) === true,
    merge_status: status.merge_status,
    detailed_merge_status: status.detailed_merge_status,
    merge_after: null,
    sha: head,
    merge_commit_sha: merge.mergeCommit ?? null,
    squash_commit_sha: merge.squashCommit ?? null,
    discussion_locked: null,
    should_remove_source_branch: null,
    force_remove_source_branch: true,
    prepared_at: merge.createdAt.toISOString(),
    reference,
    references: { short: reference, relative: reference, full: `${project.path}${reference}` },
    web_url: `${projectAddresses(instance, project).web}/-/merge_requests/${merge.iid}`,
    time_stats: { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null },
    squash: merge.squash,
    squash_on_merge: merge.squash,
    task_completion_status: { count: 0, completed_count: 0 },
    has_conflicts: merge.state === "opened" && merge.conflicts === true,
    blocking_discussions_resolved: true,
    approvals_before_merge: null,
    subscribed: false,
    changes_count: String(changed.length),
    latest_build_started_at: null,
    latest_build_finished_at: null,
    first_deployed_to_production_at: null,
    pipeline: null,
    head_pipeline: merge.pipeline === undefined ? null : showPipeline(instance, merge, merge.pipeline),
    diff_refs: { base_sha: base, head_sha: head, start_sha: start },
    merge_error: merge.mergeError,
    first_contribution: sourceProject !== project,
    user: { can_merge: mayMerge(instance, merge) },
  };
}

/** `real_size` is the number of changed files. */
export async function showVersion(
  instance: Instance,
  merge: MergeRequest,
  version: DiffVersion,
): Promise<Members<MergeRequestDiffVersionsSchema>> {
  const base = await mergeBase(instance, merge, version);
  return {
    id: version.id,
    head_commit_sha: version.head,
    base_commit_sha: base,
    start_commit_sha: version.start,
    created_at: version.createdAt.toISOString(),
    merge_request_id: merge.id,
    state: "collected",
    real_size: String((await instance.store.changedPaths(merge.project.path, base, version.head)).length),
  };
}

type ShownNote = Members<MergeRequestNoteSchema, "attachment"> & {
  readonly type: null;
  readonly commit_id: null;
  readonly confidential: boolean;
  readonly internal: boolean;
  readonly imported: boolean;
  readonly imported_from: "none";
  readonly commands_changes: Readonly<Record<string, never>>;
};

export function showNote(instance: Instance, merge: MergeRequest, note: Note): ShownNote {
  return {
    id: note.id,
    type: null,
    body: note.body,
    author: showUser(instance, note.author),
    created_at: note.createdAt.toISOString(),
    updated_at: note.updatedAt.toISOString(),
    system: note.system,
    noteable_id: merge.id,
    noteable_type: "MergeRequest",
    project_id: merge.project.id,
    commit_id: null,
    resolvable: false,
    confidential: note.internal,
    internal: note.internal,
    imported: false,
    imported_from: "none",
    noteable_iid: merge.iid,
    commands_changes: {},
  };
}

async function mergeBase(instance: Instance, merge: MergeRequest, version: DiffVersion): Promise<string> {
  return (await instance.store.mergeBase(merge.project.path, version.start, version.head)) ?? version.start;
}
