import type { EventSchema } from "@gitbeaker/rest";
import type { Instance } from "../model/instance.js";
import type { Project, PushEvent } from "../model/project.js";
import type { Members } from "./members.js";
import { showUser, type ShownUser } from "./present-user.js";

/** A push event (https://docs.gitlab.com/api/events/); its target members are null. */
export type ShownEvent = Pick<
  Members<EventSchema>,
  "id" | "project_id" | "action_name" | "author_id" | "created_at" | "author_username"
> & {
  readonly target_id: null;
  readonly target_iid: null;
  readonly target_type: null;
  readonly target_title: null;
  readonly author: ShownUser;
  readonly imported: false;
  readonly imported_from: "none";
  readonly push_data: PushData;
};

interface PushData {
  readonly commit_count: number;
  readonly action: "created" | "pushed";
  readonly ref_type: "branch";
  /** Null for a new branch. */
  readonly commit_from: string | null;
  readonly commit_to: string;
  readonly ref: string;
  readonly commit_title: string;
  /** The number of branches, if one push moved so many that they share an event without `ref`. */
  readonly ref_count: null;
}

export function showPush(instance: Instance, project: Project, push: PushEvent): ShownEvent {
  const { id, by, branch, before, after, commits, title, at } = push;
  return {
    id,
    project_id: project.id,
    action_name: before === undefined ? "pushed new" : "pushed to",
    target_id: null,
    target_iid: null,
    target_type: null,
    target_title: null,
    author_id: by.id,
    author_username: by.username,
    author: showUser(instance, by),
    created_at: at.toISOString(),
    imported: false,
    imported_from: "none",
    push_data: {
      commit_count: commits,
      action: before === undefined ? "created" : "pushed",
      ref_type: "branch",
      commit_from: before ?? null,
      commit_to: after,
      ref: branch,
      commit_title: title,
      ref_count: null,
    },
  };
}
