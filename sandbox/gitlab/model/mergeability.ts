import { approvalVerdict } from "./approval-verdict.js";
import type { Instance } from "./instance.js";
import { isDraft, type MergeRequest } from "./merge-request.js";

/** The mergeability fields of the API and of webhooks. */
export interface MergeStatus {
  readonly merge_status: "unchecked" | "checking" | "can_be_merged" | "cannot_be_merged";
  readonly detailed_merge_status: string;
}

/**
 * The current status. It gives one reason at a time; a conflict comes last
 * (https://docs.gitlab.com/api/merge_requests/#merge-status).
 */
export function mergeStatus(instance: Instance, merge: MergeRequest): MergeStatus {
  const { conflicts } = merge;
  const merge_status = conflicts === undefined ? "unchecked" : conflicts ? "cannot_be_merged" : "can_be_merged";
  return { merge_status, detailed_merge_status: detailedStatus(instance, merge) };
}

function detailedStatus(instance: Instance, merge: MergeRequest): string {
  if (merge.state !== "opened") return "not_open";
  if (merge.conflicts === undefined) return "unchecked";
  if (merge.syncingReads > 0) return "approvals_syncing";
  if (isDraft(merge)) return "draft_status";
  if ([...merge.reviewers.values()].some(({ state }) => state === "requested_changes")) return "requested_changes";
  if ((approvalVerdict(instance, merge).left ?? 0) > 0) return "not_approved";
  return merge.conflicts ? "conflict" : "mergeable";
}

/** GitLab's background check: asks git whether head and target conflict. */
export async function checkConflicts(instance: Instance, merge: MergeRequest): Promise<void> {
  const { project, targetBranch, head } = merge;
  const target = await instance.store.resolve(project.path, `refs/heads/${targetBranch}`);
  const conflicts = target === undefined || (await instance.store.conflicts(project.path, target, head));
  if (merge.head === head && merge.targetBranch === targetBranch) merge.conflicts = conflicts;
}

/** Reading a merge request runs the check; `checking` while its result is held back. */
export async function readMergeStatus(instance: Instance, merge: MergeRequest): Promise<MergeStatus> {
  if (merge.state !== "opened") return mergeStatus(instance, merge);
  if (merge.pendingReads > 0) {
    merge.pendingReads -= 1;
    merge.conflicts = undefined;
    return { merge_status: "checking", detailed_merge_status: "checking" };
  }
  if (merge.conflicts === undefined) await checkConflicts(instance, merge);
  return mergeStatus(instance, merge);
}
