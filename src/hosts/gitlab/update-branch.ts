import { MergeRequests } from "@gitbeaker/rest";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { UpdateOutcome } from "../../core/ports/code-host.js";
import { HostRefusal, LONG_READ_PAUSES_MS, oneLine, readUntil } from "../host-answer.js";
import { getMergeRequest } from "./change-request.js";
import type { GitLabClient } from "./client.js";

/**
 * Rebases the source branch onto the target branch, in the background (202). GitLab's call knows no expected head, so this looks
 * at it right before: https://docs.gitlab.com/api/merge_requests/#rebase-a-merge-request
 */
export async function updateBranch(client: GitLabClient, change: ChangeRequest, clock: Clock): Promise<UpdateOutcome> {
  const before = await getMergeRequest(client, change);
  if (before.sha !== change.headRevision || before.target_branch !== change.baseBranch) {
    return { kind: "refused", reason: "its head or its target branch changed meanwhile" };
  }
  const unanswered = await request(client, change);
  if (typeof unanswered === "string") return { kind: "refused", reason: unanswered };
  // The new head appears after the rebase has ended, and the error of an earlier attempt may still be there.
  const hasFailed = ({ rebase_in_progress: running, merge_error: error }: typeof before) =>
    running === false && Boolean(error) && error !== before.merge_error;
  const read = await readUntil(
    () => getMergeRequest(client, change, undefined, { includeRebaseInProgress: true }),
    (now) => now.sha !== change.headRevision || now.state !== "opened" || hasFailed(now),
    clock,
    undefined,
    LONG_READ_PAUSES_MS,
  );
  if (read.sha !== change.headRevision) return { kind: "moved", rewritten: true };
  if (read.merge_error) return { kind: "refused", reason: `GitLab says "${oneLine(read.merge_error, 300)}"` };
  if (unanswered !== undefined) throw unanswered;
  return { kind: "refused", reason: "GitLab accepted the rebase and has not made a new head within a minute" };
}

/** @returns Why GitLab refused; the failure, if it may have accepted all the same; undefined if it accepted. */
async function request(client: GitLabClient, change: ChangeRequest): Promise<string | HostFailure | undefined> {
  const asked = `rebase ${change.repository}!${change.number}`;
  try {
    await client.ask(asked, (gitlab) => new MergeRequests(gitlab).rebase(change.repository, change.number));
    return undefined;
  } catch (error) {
    if (error instanceof HostRefusal && [403, 409].includes(error.status)) {
      return `GitLab says "${error.hostMessage}" (${error.status}): the account of hostb.token has to be allowed to push to the branch, with force`;
    }
    if (error instanceof HostFailure && error.maybeDone) return error;
    throw error;
  }
}
