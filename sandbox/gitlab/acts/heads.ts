import { sendMergeRequestHook } from "../hooks/merge-request-body.js";
import { hookTime } from "../hooks/project-body.js";
import { sendPushHook } from "../hooks/push-body.js";
import type { Instance } from "../model/instance.js";
import type { MergeRequest } from "../model/merge-request.js";
import type { Person } from "../model/people.js";
import type { Project } from "../model/project.js";
import { addSystemNote } from "./notes.js";
import { resetApprovals } from "./reviews.js";

/** Who moved a branch, and whether its webhooks get lost. */
export interface BranchMove {
  readonly by?: Person;
  readonly silent?: boolean;
}

/** Updates the open merge requests from and into a branch after it moved. */
export async function branchMoved(
  instance: Instance,
  project: Project,
  branch: string,
  move: BranchMove = {},
): Promise<void> {
  const open = instance.mergeRequests.filter(({ state }) => state === "opened");
  const isHead = instance.mergeRequests.some((one) => one.sourceProject === project && one.sourceBranch === branch);
  // Left out for heads of merge requests: it would only double the event about them.
  if (move.silent !== true && !isHead) await sendPushHook(instance, project, branch, move.by);
  for (const merge of open) {
    if (merge.project === project && merge.targetBranch === branch) merge.conflicts = undefined;
  }
  for (const merge of open) {
    if (merge.sourceProject === project && merge.sourceBranch === branch) await headMoved(instance, merge, move);
  }
}

/** New commits, and a close, take a merge request off its train: https://docs.gitlab.com/ci/pipelines/merge_trains/ */
export function leaveTrain(merge: MergeRequest): boolean {
  merge.joinsTrain = false;
  const train = merge.project.mergeTrain;
  const place = train?.indexOf(merge) ?? -1;
  if (place >= 0) train?.splice(place, 1);
  return place >= 0;
}

async function headMoved(instance: Instance, merge: MergeRequest, move: BranchMove): Promise<void> {
  const before = merge.head;
  if (!(await readHead(instance, merge))) return;
  leaveTrain(merge);
  const by = move.by ?? merge.author;
  const previous = merge.updatedAt;
  merge.updatedAt = instance.now();
  addSystemNote(instance, merge, by, "added 1 commit");
  if (instance.edition === "premium" && merge.approvals.size > 0) merge.syncingReads = instance.approvalsSyncingReads;
  if (move.silent !== true) {
    await sendMergeRequestHook(instance, merge, {
      by,
      action: "update",
      oldrev: before,
      changes: { updated_at: { previous: hookTime(previous), current: hookTime(merge.updatedAt) } },
      status: { merge_status: "checking", detailed_merge_status: "checking" },
    });
  }
  if (instance.edition === "premium" && merge.syncingReads === 0) await resetApprovals(instance, merge);
}

/**
 * Makes the source branch's tip the head, and publishes it in the target project as `refs/merge-requests/<iid>/head`.
 * Returns whether the head moved.
 */
export async function readHead(instance: Instance, merge: MergeRequest): Promise<boolean> {
  const { store } = instance;
  const { project, sourceProject } = merge;
  const tip = await store.resolve(sourceProject.path, `refs/heads/${merge.sourceBranch}`);
  if (tip === undefined || tip === merge.head) return false;
  if (sourceProject !== project) await store.copyObjects(sourceProject.path, project.path, tip);
  // A merge may have started meanwhile: the merged commit stays its head.
  if (merge.state === "locked" || merge.state === "merged") return false;
  merge.head = tip;
  await store.setRef(project.path, `refs/merge-requests/${merge.iid}/head`, tip);
  await addVersion(instance, merge);
  return true;
}

/** Records a diff version: the head and the target branch as they are now. */
export async function addVersion(instance: Instance, merge: MergeRequest): Promise<void> {
  const start = (await instance.store.resolve(merge.project.path, `refs/heads/${merge.targetBranch}`)) ?? merge.head;
  merge.conflicts = undefined;
  merge.versions.push({ id: instance.nextId(), head: merge.head, start, createdAt: instance.now() });
}

/** Starts a pipeline for the head branch in its project. Every merge request from this branch shows its newest pipeline. */
export function runPipeline(instance: Instance, merge: MergeRequest): void {
  const { pipelines } = instance;
  const pipeline = {
    id: instance.nextId(),
    iid: pipelines.length + 1,
    project: merge.sourceProject,
    sha: merge.head,
    ref: merge.sourceBranch,
    createdAt: instance.now(),
  };
  pipelines.push(pipeline);
  for (const one of instance.mergeRequests) {
    const { sourceProject, sourceBranch, head } = one;
    if (sourceProject === pipeline.project && sourceBranch === pipeline.ref && head === pipeline.sha) {
      one.pipeline = pipeline;
    }
  }
}
