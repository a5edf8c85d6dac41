import * as z from "zod";
import type { User } from "../../core/model/change-request.js";
import { isJsonObject } from "../../core/model/json.js";
import {
  commentField,
  idField,
  loginField,
  numberField,
  pushedBranchField,
  repositoryField,
} from "../payload-fields.js";
import type { Translation } from "../webhook-route.js";

/**
 * Pure; never throws, whatever the payload's shape. The kind comes from the body, so that it depends on no header:
 * https://docs.gitlab.com/user/project/integrations/webhook_events/
 * @param delivery Our id of the delivery.
 */
export function translateGitLabEvent(delivery: string, payload: unknown): Translation {
  const kind = isJsonObject(payload) ? payload.object_kind : undefined;
  if (typeof kind !== "string") {
    return { ignored: "the event has no object_kind; custom webhook templates are not supported" };
  }
  switch (kind) {
    case "merge_request":
      return translateMergeRequest(delivery, payload);
    case "note":
      return translateNote(delivery, payload);
    case "push":
      return translatePush(delivery, payload);
    default:
      return { ignored: "events of this kind are not used" };
  }
}

/** An account in GitLab's payloads and answers. */
export const userField = z
  .object({ id: idField, username: loginField })
  .transform(({ id, username }): User => ({ id, login: username, bot: isBot(username) }));

const projectSchema = z.object({ path_with_namespace: repositoryField });

const mergeRequestSchema = z.object({
  project: projectSchema,
  object_attributes: z.object({
    iid: numberField,
    action: z.string().nullish(),
    oldrev: z.string().nullish(),
  }),
  changes: z
    .object({
      target_branch: z.unknown().optional(),
      draft: z.object({ previous: z.unknown(), current: z.unknown() }).nullish().catch(undefined),
    })
    .nullish()
    .catch(undefined),
});

function translateMergeRequest(delivery: string, payload: unknown): Translation {
  const parsed = mergeRequestSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { project, object_attributes: attributes, changes } = parsed.data;
  const origin = eventOrigin(delivery, project.path_with_namespace, attributes.iid);
  switch (attributes.action ?? "") {
    case "open":
      return { ...origin, kind: "updated", reason: "opened" };
    case "reopen":
      return { ...origin, kind: "updated", reason: "reopened" };
    case "update":
      // GitLab sends `update` for titles and labels too; `oldrev` is there only when commits came.
      if (attributes.oldrev) return { ...origin, kind: "updated", reason: "pushed" };
      if (changes?.target_branch) return { ...origin, kind: "updated", reason: "retargeted" };
      if (changes?.draft?.previous === true && changes.draft.current === false) {
        return { ...origin, kind: "updated", reason: "ready" };
      }
      return { ignored: "neither commits, nor the target branch, nor the draft state changed" };
    case "close":
      return { ...origin, kind: "closed", merged: false };
    case "merge":
      return { ...origin, kind: "closed", merged: true };
    case "approval":
    case "approved":
    case "unapproval":
    case "unapproved":
      return { ...origin, kind: "reviewed" };
    default:
      return { ignored: "this action is not used" };
  }
}

const noteSchema = z.object({
  event_type: z.string().nullish(),
  project: projectSchema,
  user: userField,
  object_attributes: z.object({
    id: idField,
    note: commentField.nullish(),
    noteable_type: z.string().nullish(),
    author_id: idField.nullish(),
    action: z.string().nullish(),
    type: z.string().nullish(),
    position: z.unknown().optional(),
    system: z.boolean().nullish(),
    internal: z.boolean().nullish(),
    confidential: z.boolean().nullish(),
    created_at: z.string().nullish(),
    updated_at: z.string().nullish(),
  }),
  merge_request: z.object({ iid: numberField }).nullish().catch(undefined),
});

function translateNote(delivery: string, payload: unknown): Translation {
  const parsed = noteSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { event_type, project, user, object_attributes: note, merge_request } = parsed.data;
  if (note.noteable_type !== "MergeRequest" || !merge_request) {
    return { ignored: "the comment is not on a merge request" };
  }
  if (note.system === true) return { ignored: "GitLab itself wrote the comment" };
  if (note.internal === true || note.confidential === true || event_type === "confidential_note") {
    return { ignored: "the comment is internal, and an answer would be public" };
  }
  if (note.type === "DiffNote" || (note.position !== undefined && note.position !== null)) {
    return { ignored: "comments on lines of the diff are not commands" };
  }
  if (!isNew(note)) return { ignored: "only new comments are commands" };
  if (note.author_id && note.author_id !== user.id) {
    return { ignored: "the sender is not the comment's author" };
  }
  return {
    ...eventOrigin(delivery, project.path_with_namespace, merge_request.iid),
    kind: "commented",
    commentId: note.id,
    body: note.note ?? "",
    author: user,
  };
}

/** https://docs.gitlab.com/user/project/integrations/webhook_events/#push-events: `after` is all zeros for a deleted branch. */
const pushSchema = z.object({ ref: pushedBranchField, after: z.string(), project: projectSchema });

function translatePush(delivery: string, payload: unknown): Translation {
  const parsed = pushSchema.safeParse(payload);
  if (!parsed.success) return UNREADABLE;
  const { ref: branch, after, project } = parsed.data;
  if (branch === undefined || /^0+$/.test(after)) return { ignored: "no branch got commits" };
  return { kind: "branch-pushed", delivery, host: "hostb", repository: project.path_with_namespace, branch };
}

/** Before 16.11 GitLab sent no action with notes, neither for new nor for edited ones. */
function isNew(note: z.output<typeof noteSchema>["object_attributes"]): boolean {
  if (note.action !== undefined && note.action !== null) return note.action === "create";
  return Boolean(note.created_at) && note.created_at === note.updated_at;
}

/**
 * Accounts of project and group access tokens, and service accounts with the name that GitLab gives them. GitLab marks
 * no bot in its payloads: https://docs.gitlab.com/user/project/settings/project_access_tokens/#bot-users-for-projects
 */
export function isBot(username: string): boolean {
  return /^(?:project|group)_\d+_bot(?:_|\d|$)/.test(username) || username.startsWith("service_account_");
}

const UNREADABLE: Translation = { ignored: "the event lacks members that GitLab documents" };

function eventOrigin(delivery: string, repository: z.output<typeof repositoryField>, number: number) {
  return { delivery, change: { host: "hostb", repository, number } } as const;
}
