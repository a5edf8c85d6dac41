import { sendMergeRequestHook } from "../hooks/merge-request-body.js";
import { approvalVerdict } from "../model/approval-verdict.js";
import type { Instance } from "../model/instance.js";
import type { MergeRequest, Reviewer } from "../model/merge-request.js";
import { checkConflicts, readMergeStatus, type MergeStatus } from "../model/mergeability.js";
import type { Person } from "../model/people.js";
import { accessLevels } from "../model/project.js";
import { addSystemNote } from "./notes.js";

/** Approving requires the role Developer (https://docs.gitlab.com/user/project/merge_requests/approvals/). */
function refuseOutsider(merge: MergeRequest, by: Person): void {
  if ((merge.project.members.get(by.id) ?? 0) >= accessLevels.write) return;
  throw new Error(`GitLab: 401 Unauthorized: ${by.username} may not approve in ${merge.project.path}`);
}

/**
 * Approves as a person with the role Developer or above. An approval that still stands is revoked first, as the page
 * requires. Sends `approval` while more approvals are needed, `approved` once all rules are met.
 */
async function approve(instance: Instance, merge: MergeRequest, by: Person): Promise<void> {
  refuseOutsider(merge, by);
  if (merge.syncingReads > 0) {
    merge.syncingReads = 0;
    await resetApprovals(instance, merge);
  }
  if (merge.approvals.has(by.id)) await revoke(instance, merge, by, "unapproved");
  instance.clock.passSecond();
  merge.approvals.set(by.id, { by, at: instance.now() });
  noteApproval(instance, merge, by, "approved this merge request");
  await reviewed(instance, merge, by, "approved");
  const done = (approvalVerdict(instance, merge).left ?? 0) === 0;
  await sendMergeRequestHook(instance, merge, { by, action: done ? "approved" : "approval" });
}

/** A background job of GitLab, which may be late (`app/workers/merge_requests/create_approval_note_worker.rb`). */
function noteApproval(instance: Instance, merge: MergeRequest, by: Person, body: string): void {
  const write = (): void => addSystemNote(instance, merge, by, body);
  if (instance.lateNotes === undefined) write();
  else instance.lateNotes.push(write);
}

/** Requests changes, which revokes the person's approval. */
async function requestChanges(instance: Instance, merge: MergeRequest, by: Person): Promise<void> {
  if (merge.approvals.has(by.id)) await revoke(instance, merge, by, "requested_changes");
  addSystemNote(instance, merge, by, "requested changes");
  await reviewed(instance, merge, by, "requested_changes");
  await sendMergeRequestHook(instance, merge, { by, action: "update" });
}

/** Submits a review without a verdict. */
async function submitReview(instance: Instance, merge: MergeRequest, by: Person): Promise<void> {
  await reviewed(instance, merge, by, "reviewed");
  await sendMergeRequestHook(instance, merge, { by, action: "update" });
}

/** Submits a review with a verdict or without. */
export async function giveReview(
  instance: Instance,
  merge: MergeRequest,
  by: Person,
  verdict: "approve" | "request-changes" | "comment",
): Promise<void> {
  switch (verdict) {
    case "approve":
      return approve(instance, merge, by);
    case "request-changes":
      return requestChanges(instance, merge, by);
    case "comment":
      return submitReview(instance, merge, by);
  }
}

/** The author requests a review. */
export function requestReview(instance: Instance, merge: MergeRequest, person: Person): void {
  merge.reviewers.set(person.id, { person, since: instance.now(), state: "unreviewed" });
}

/** "Reset approvals on push": GitLab drops all approvals some time after the push. */
export async function resetApprovals(instance: Instance, merge: MergeRequest): Promise<void> {
  if (merge.approvals.size === 0) return;
  for (const id of merge.approvals.keys()) {
    const reviewer = merge.reviewers.get(id);
    if (reviewer !== undefined) merge.reviewers.set(id, { ...reviewer, state: "unapproved" });
  }
  merge.approvals.clear();
  await sendMergeRequestHook(instance, merge, {
    by: merge.author,
    action: "unapproved",
    systemAction: "approvals_reset_on_push",
    status: { merge_status: "checking", detailed_merge_status: "approvals_syncing" },
  });
}

/**
 * The status that a read of the merge request returns. The last read that sees stale approvals also drops them.
 */
export async function readStatus(instance: Instance, merge: MergeRequest): Promise<MergeStatus> {
  const status = await readMergeStatus(instance, merge);
  if (status.detailed_merge_status === "approvals_syncing") {
    merge.syncingReads -= 1;
    if (merge.syncingReads === 0) await resetApprovals(instance, merge);
  }
  return status;
}

async function revoke(
  instance: Instance,
  merge: MergeRequest,
  by: Person,
  state: "unapproved" | "requested_changes",
): Promise<void> {
  merge.approvals.delete(by.id);
  if (state === "unapproved") noteApproval(instance, merge, by, "unapproved this merge request");
  await reviewed(instance, merge, by, state);
  await sendMergeRequestHook(instance, merge, { by, action: "unapproved" });
}

async function reviewed(
  instance: Instance,
  merge: MergeRequest,
  person: Person,
  state: Reviewer["state"],
): Promise<void> {
  const since = merge.reviewers.get(person.id)?.since ?? instance.now();
  merge.reviewers.set(person.id, { person, since, state });
  if (merge.pendingReads === 0 && merge.conflicts === undefined) await checkConflicts(instance, merge);
}
