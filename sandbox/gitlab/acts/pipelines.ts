import type { Instance } from "../model/instance.js";
import type { MergeRequest } from "../model/merge-request.js";

/** Starts a pipeline for the head branch in its project. The merge request shows its newest pipeline. */
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
  merge.pipeline = pipeline;
}
