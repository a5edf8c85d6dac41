import type { SeenChangeRequest, SeenStatus } from "../forge.js";
import { isDraft, type MergeRequest } from "./model/merge-request.js";
import type { StatusState } from "./model/pipeline.js";
import type { Project } from "./model/project.js";

/** A merge request as a visitor sees it. */
export function seenMergeRequest(merge: MergeRequest): SeenChangeRequest {
  return {
    number: merge.iid,
    title: merge.title,
    author: merge.author.username,
    state: merge.state === "opened" || merge.state === "locked" ? "open" : merge.state,
    draft: isDraft(merge),
    headBranch: merge.sourceBranch,
    baseBranch: merge.targetBranch,
    headRevision: merge.head,
    mergedBy: merge.mergedBy?.username,
    comments: merge.notes
      .filter(({ system }) => !system)
      .map(({ id, author, body, updatedBy, awards }) => ({
        id: String(id),
        author: author.username,
        body,
        edited: updatedBy !== undefined,
        reactions: awards.map(({ by, name }) => ({ by: by.username, name })),
        minimised: false,
      })),
  };
}

/** Every status ever set on a commit, oldest first. */
export function seenStatuses({ statuses }: Project, revision: string): readonly SeenStatus[] {
  return statuses
    .filter(({ pipeline }) => pipeline.sha === revision)
    .map(({ name, state, description, targetUrl }) => ({
      name,
      state: seenStates[state],
      description: description ?? "",
      url: targetUrl ?? undefined,
    }));
}

const seenStates = {
  pending: "pending",
  running: "pending",
  success: "success",
  skipped: "success",
  failed: "failure",
  canceled: "failure",
} as const satisfies Readonly<Record<StatusState, SeenStatus["state"]>>;
