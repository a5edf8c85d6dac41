import { Branches, MergeRequests } from "@gitbeaker/rest";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { MergeIntent } from "../../core/model/result.js";
import type { Clock } from "../../core/ports/clock.js";
import type { MergeOutcome, UpdateOutcome } from "../../core/ports/code-host.js";
import { HostRefusal, ifFound, LONG_READ_PAUSES_MS, oneLine, readUntil } from "../host-answer.js";
import { deleteSourceBranch } from "../source-branch.js";
import { findBranch, getMergeRequest, mergeabilityOf, type MergeRequest } from "./change-request.js";
import type { GitLabClient } from "./client.js";

/** Pauses between tries while GitLab computes whether the merge is possible: 30 seconds in total. */
const PAUSES_MS = [5_000, 10_000, 15_000];

/**
 * Merges only at the head commit of `change` and into its target branch, which GitLab's call does not guard. The project's setting decides between merge commit, semi-linear and
 * fast-forward; we only decide on squashing. Never rebases, which would change the deployed head.
 */
export async function merge(
  client: GitLabClient,
  change: ChangeRequest,
  confirm: () => Promise<MergeIntent | undefined>,
  clock: Clock,
): Promise<MergeOutcome> {
  let mayHaveComputed = true;
  let intent: MergeIntent | undefined;
  for (let attempt = 0; ; attempt += 1) {
    intent = await confirm();
    if (intent === undefined || (await getMergeRequest(client, change)).target_branch !== change.baseBranch) {
      return { kind: "barred" };
    }
    const attempted = await tryMerge(client, change, intent, clock);
    if (attempted === undefined) break;
    const read = await getMergeRequest(client, change);
    if (isMergedHead(read, change)) break;
    const pause = PAUSES_MS[attempt];
    const computing = attempted.status === 405 && read.state === "opened" && mergeabilityOf(read) === "unknown";
    // GitLab may have finished computing after it refused: worth one more try.
    const computed = mayHaveComputed && attempted.status === 405 && read.detailed_merge_status === "mergeable";
    if ((!computing && !computed) || pause === undefined) return { kind: "refused", reason: reasonOf(attempted, read) };
    if (computed) mayHaveComputed = false;
    await clock.sleep(pause);
  }
  return afterAcceptance(client, change, intent, clock);
}

/** Sends the merge. @returns Why GitLab refused; undefined if it accepted the request, or may have. */
async function tryMerge(
  client: GitLabClient,
  change: ChangeRequest,
  intent: MergeIntent,
  clock: Clock,
): Promise<HostRefusal | undefined> {
  const asked = `merge ${change.repository}!${change.number}`;
  try {
    await client.ask(asked, (gitlab) =>
      new MergeRequests(gitlab).merge(change.repository, change.number, {
        sha: change.headRevision,
        squash: intent.method === "squash",
        // Otherwise GitLab does what the author ticked, and could delete a branch that we must keep.
        shouldRemoveSourceBranch: false,
      }),
    );
    return undefined;
  } catch (error) {
    // 401 here means "may not merge", unless the token is refused for reading as well.
    const mayMean = error instanceof HostRefusal && error.reason !== "rate-limited";
    if (mayMean && [401, 403, 405, 406, 409, 422].includes(error.status)) return error;
    if (error instanceof HostFailure && error.maybeDone && (await mayBeMerging(client, change, clock))) {
      return undefined;
    }
    throw error;
  }
}

/** Whether a request without an answer took effect; false if GitLab cannot be asked. */
async function mayBeMerging(client: GitLabClient, change: ChangeRequest, clock: Clock): Promise<boolean> {
  try {
    const read = await readUntil(
      () => getMergeRequest(client, change),
      ({ state }) => state !== "opened",
      clock,
    );
    return isMergedHead(read, change) || read.state === "locked";
  } catch (error) {
    if (error instanceof HostFailure) return false;
    throw error;
  }
}

/** Status 200 means "accepted": GitLab merges in the background, or only scheduled it. */
async function afterAcceptance(
  client: GitLabClient,
  change: ChangeRequest,
  intent: MergeIntent,
  clock: Clock,
): Promise<MergeOutcome> {
  const read = await readUntil(
    () => getMergeRequest(client, change),
    ({ state, merge_error: error }) =>
      state === "merged" || state === "closed" || (state === "opened" && Boolean(error)),
    clock,
  );
  if (!isMergedHead(read, change)) {
    const said = read.merge_error ? ` GitLab says: "${oneLine(read.merge_error, 300)}".` : "";
    return {
      kind: "refused",
      reason: `GitLab accepted the merge but has not carried it out.${said} Look at the merge request.`,
    };
  }
  const note = await deleteSourceBranch(change, intent, {
    find: (branch) => ifFound(findBranch(client, change, branch)),
    remove: async (branch) => {
      const asked = `delete the branch ${branch} of ${change.repository}`;
      await ifFound(client.ask(asked, (gitlab) => new Branches(gitlab).remove(change.repository, branch)));
    },
  });
  return { kind: "merged", note };
}

function isMergedHead(read: MergeRequest, change: ChangeRequest): boolean {
  return read.state === "merged" && read.sha === change.headRevision;
}

/** https://docs.gitlab.com/api/merge_requests/#merge-a-merge-request */
function reasonOf(refusal: HostRefusal, read: MergeRequest): string {
  const said = refusal.hostMessage === "" ? "" : ` GitLab says: "${refusal.hostMessage}".`;
  const status = read.detailed_merge_status ? ` Its merge status is "${oneLine(read.detailed_merge_status, 60)}".` : "";
  switch (refusal.status) {
    case 401:
    case 403:
      return `The account of gitlab.token may not merge into ${read.target_branch}.${said} Give it the role Maintainer or list it under "allowed to merge" of the protected branch, or merge by hand.`;
    case 406:
      return `The merge request has conflicts.${said} Resolve them, then plan and sync again.`;
    case 409:
      return `The head commit changed before the merge.${said} Plan and sync the new head.`;
    case 422:
      return `GitLab tried to merge and failed.${said} Merge it by hand.`;
    default:
      if (mergeabilityOf(read) === "unknown" && read.state === "opened") {
        return "GitLab is still computing whether the merge is possible. Merge it by hand.";
      }
      if (read.detailed_merge_status === "need_rebase") {
        return "The project wants the branch rebased before a merge. Rebase it, then plan and sync the new head.";
      }
      return `GitLab does not allow this merge now.${status}${said} Look at the merge request, then merge by hand.`;
  }
}

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
