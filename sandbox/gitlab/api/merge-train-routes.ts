import type { Router } from "express";
import { leaveTrain } from "../acts/heads.js";
import type { Instance } from "../model/instance.js";
import type { MergeRequest } from "../model/merge-request.js";
import { checkConflicts, mergeStatus } from "../model/mergeability.js";
import type { Project } from "../model/project.js";
import { ApiFailure, serve } from "./call.js";
import * as endpoints from "./endpoints.js";
import { mayMerge } from "./permission.js";
import { showMergeRequest } from "./present-merge-request.js";
import { showUser } from "./present-user.js";

/** Merge trains, of Premium: https://docs.gitlab.com/api/merge_trains/ */
export function mergeTrainRoutes(router: Router, instance: Instance): void {
  router.post(
    endpoints.joinTrain.path,
    serve(instance, endpoints.joinTrain, async (call) => {
      const merge = call.mergeRequest();
      const train = trainOf(call.project());
      const { sha, auto_merge: waits = false } = call.body;
      if (sha === undefined) {
        instance.violations.push("a merge request was put on the merge train without the commit that is meant");
      }
      if (sha !== undefined && sha !== merge.head) {
        throw new ApiFailure(409, `SHA does not match HEAD of source branch: ${merge.head}`);
      }
      if (!mayMerge(instance, merge)) throw new ApiFailure(401, "401 Unauthorized");
      if (merge.state === "opened" && merge.pendingReads === 0) await checkConflicts(instance, merge);
      const { detailed_merge_status: status } = mergeStatus(instance, merge);
      if (train.includes(merge) || merge.joinsTrain) {
        throw new ApiFailure(400, "400 Bad request - Merge request is already set to Auto-Merge");
      }
      if (status !== "mergeable") throw new ApiFailure(400, "400 Bad request - No available merge train strategy");
      // Pipelines of the sandbox run until they are said to have passed.
      merge.joinsTrain = waits && merge.pipeline !== undefined;
      if (!merge.joinsTrain) train.push(merge);
      return {
        status: merge.joinsTrain ? 202 : 201,
        body: await Promise.all(train.map((one) => showCar(instance, one))),
      };
    }),
  );
  router.post(
    endpoints.cancelAutoMerge.path,
    serve(instance, endpoints.cancelAutoMerge, async (call) => {
      const merge = call.mergeRequest();
      if (!mayMerge(instance, merge)) throw new ApiFailure(401, "401 Unauthorized");
      const waits = merge.joinsTrain;
      if (!leaveTrain(merge) && !waits) throw new ApiFailure(406, "406 Not Acceptable");
      return { status: 201, body: await showMergeRequest(instance, merge, mergeStatus(instance, merge)) };
    }),
  );
}

function trainOf({ mergeTrain }: Project): MergeRequest[] {
  if (mergeTrain === undefined) throw new ApiFailure(403, "403 Forbidden");
  return mergeTrain;
}

async function showCar(instance: Instance, merge: MergeRequest): Promise<object> {
  return {
    id: merge.id,
    merge_request: await showMergeRequest(instance, merge, mergeStatus(instance, merge)),
    user: showUser(instance, instance.bot),
    pipeline: null,
    created_at: merge.updatedAt.toISOString(),
    updated_at: merge.updatedAt.toISOString(),
    target_branch: merge.targetBranch,
    status: "fresh",
    merged_at: null,
    duration: null,
  };
}
