import { sendMergeRequestHook, stateIds } from "../hooks/merge-request-body.js";
import { hookTime } from "../hooks/project-body.js";
import { stopEnvironmentsOf } from "../model/environment.js";
import type { Instance } from "../model/instance.js";
import type { MergeRequest } from "../model/merge-request.js";
import type { Person } from "../model/people.js";
import { branchMoved } from "./heads.js";

export interface MergeWishes {
  readonly squash?: boolean;
  readonly removeSourceBranch?: boolean;
  readonly mergeMessage?: string;
  readonly squashMessage?: string;
}

/**
 * Merges with a merge commit or squashed. The caller must check whether merging is allowed. @throws {Error} if git
 * cannot merge; nothing has changed then.
 */
export async function mergeNow(
  instance: Instance,
  merge: MergeRequest,
  by: Person,
  wishes: MergeWishes = {},
): Promise<void> {
  const { project, targetBranch, head } = merge;
  const { squash = false } = wishes;
  if (merge.state !== "opened") throw new Error(`!${merge.iid} of ${project.path} is ${merge.state}`);
  merge.state = "locked";
  try {
    const message = (squash ? wishes.squashMessage : wishes.mergeMessage) ?? defaultMessage(merge, squash);
    const method = squash ? "squash" : "merge";
    if (project.fastForward && !squash) await fastForward(instance, merge);
    else {
      const tip = await instance.store.merge(project.path, targetBranch, head, method, message, by.name);
      if (squash) merge.squashCommit = tip;
      else merge.mergeCommit = tip;
    }
  } catch (error) {
    merge.state = "opened";
    throw error;
  }
  const lockedAt = merge.updatedAt;
  merge.state = "merged";
  merge.mergedBy = by;
  merge.updatedAt = merge.mergedAt = instance.now();
  if (wishes.removeSourceBranch === true) await removeSourceBranch(instance, merge);
  await branchMoved(instance, project, targetBranch, { by });
  await sendMergeRequestHook(instance, merge, {
    by,
    action: "merge",
    changes: {
      state_id: { previous: stateIds.locked, current: stateIds.merged },
      updated_at: { previous: hookTime(lockedAt), current: hookTime(merge.updatedAt) },
    },
    status: { merge_status: "can_be_merged", detailed_merge_status: "not_open" },
  });
}

/** @throws {Error} if the target branch has commits that the head lacks. */
async function fastForward({ store }: Instance, { project, targetBranch, head }: MergeRequest): Promise<void> {
  const tip = await store.resolve(project.path, `refs/heads/${targetBranch}`);
  if (tip === undefined || !(await store.isAncestor(project.path, tip, head))) throw new Error("rebase first");
  await store.setRef(project.path, `refs/heads/${targetBranch}`, head);
}

function defaultMessage(merge: MergeRequest, squash: boolean): string {
  if (squash) return merge.title;
  const branches = `Merge branch '${merge.sourceBranch}' into '${merge.targetBranch}'`;
  return `${branches}\n\n${merge.title}\n\nSee merge request ${merge.project.path}!${merge.iid}`;
}

/** Removes the source branch, unless it is the default branch, protected, or has moved. */
async function removeSourceBranch(instance: Instance, merge: MergeRequest): Promise<void> {
  const { sourceProject, sourceBranch } = merge;
  if (sourceProject.defaultBranch === sourceBranch || sourceProject.protectedBranches.has(sourceBranch)) return;
  const ref = `refs/heads/${sourceBranch}`;
  if ((await instance.store.resolve(sourceProject.path, ref)) !== merge.head) return;
  await instance.store.setRef(sourceProject.path, ref, undefined);
  stopEnvironmentsOf(sourceProject, sourceBranch);
}
