import type { Instance } from "../model/instance.js";
import type { MergeRequest, Note } from "../model/merge-request.js";
import type { Project } from "../model/project.js";
import { mergeRequestState } from "./merge-request-body.js";
import { hookTime, projectAddresses, projectBody, repositoryBody, userBody } from "./project-body.js";

/** An issue, which exists only for comments. */
export interface Issue {
  readonly id: number;
  readonly iid: number;
  readonly authorId: number;
  readonly title: string;
  readonly createdAt: Date;
}

export type NoteAction = "create" | "update";

/** Sends the "Note Hook" of a note on a merge request. */
export async function sendMergeRequestNote(
  instance: Instance,
  merge: MergeRequest,
  note: Note,
  action: NoteAction,
): Promise<void> {
  const page = `${projectAddresses(instance, merge.project).web}/-/merge_requests/${merge.iid}`;
  const noteable = { id: merge.id, type: "MergeRequest", page };
  const merge_request = await mergeRequestState(instance, merge);
  sendNote(instance, merge.project, note, action, noteable, { merge_request });
}

/** Sends the "Note Hook" of a note on an issue. */
export function sendIssueNote(instance: Instance, project: Project, issue: Issue, note: Note): void {
  const page = `${projectAddresses(instance, project).web}/-/issues/${issue.iid}`;
  const noteable = { id: issue.id, type: "Issue", page };
  sendNote(instance, project, note, "create", noteable, { issue: issueState(project, issue, page) });
}

/** https://docs.gitlab.com/user/project/integrations/webhook_events/#comment-events */
function sendNote(
  instance: Instance,
  project: Project,
  note: Note,
  action: NoteAction,
  noteable: { readonly id: number; readonly type: string; readonly page: string },
  subject: object,
): void {
  instance.hooks.send("Note Hook", {
    object_kind: "note",
    event_type: "note",
    // GitLab names the note's author here, even if another person edited it.
    user: userBody(note.author),
    project_id: project.id,
    project: projectBody(instance, project),
    repository: repositoryBody(instance, project),
    object_attributes: {
      attachment: null,
      author_id: note.author.id,
      change_position: null,
      commit_id: null,
      created_at: hookTime(note.createdAt),
      discussion_id: note.discussion,
      id: note.id,
      internal: note.internal,
      line_code: null,
      note: note.body,
      noteable_id: noteable.id,
      noteable_type: noteable.type,
      original_position: null,
      position: null,
      project_id: project.id,
      resolved_at: null,
      resolved_by_id: null,
      resolved_by_push: null,
      st_diff: null,
      system: note.system,
      type: null,
      updated_at: hookTime(note.updatedAt),
      updated_by_id: note.updatedBy?.id ?? null,
      description: note.body,
      action,
      url: `${noteable.page}#note_${note.id}`,
    },
    ...subject,
  });
}

function issueState(project: Project, issue: Issue, page: string): object {
  return {
    author_id: issue.authorId,
    closed_at: null,
    confidential: false,
    created_at: hookTime(issue.createdAt),
    description: "",
    discussion_locked: null,
    due_date: null,
    id: issue.id,
    iid: issue.iid,
    last_edited_at: null,
    last_edited_by_id: null,
    milestone_id: null,
    moved_to_id: null,
    duplicated_to_id: null,
    project_id: project.id,
    relative_position: 513,
    state_id: 1,
    time_estimate: 0,
    title: issue.title,
    updated_at: hookTime(issue.createdAt),
    updated_by_id: null,
    weight: null,
    health_status: null,
    type: "Issue",
    url: page,
    total_time_spent: 0,
    time_change: 0,
    human_total_time_spent: null,
    human_time_change: null,
    human_time_estimate: null,
    assignee_ids: [],
    assignee_id: null,
    labels: [],
    state: "opened",
    severity: "unknown",
  };
}
