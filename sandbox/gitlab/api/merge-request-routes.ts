import type { Router } from "express";
import { Background } from "../../background.js";
import { mergeNow } from "../acts/merge.js";
import { openMergeRequest } from "../acts/open.js";
import { rebaseBranch } from "../acts/push.js";
import { readStatus } from "../acts/reviews.js";
import type { Instance } from "../model/instance.js";
import { newestVersion, type MergeRequest } from "../model/merge-request.js";
import { checkConflicts, mergeStatus } from "../model/mergeability.js";
import { ApiFailure, serve } from "./call.js";
import * as endpoints from "./endpoints.js";
import { page } from "./paging.js";
import { mayMerge } from "./permission.js";
import { showMergeRequest, showVersion } from "./present-merge-request.js";
import { showCommit } from "./present-project.js";

/** Reads a merge request and its diff versions, and merges it. */
export function mergeRequestRoutes(router: Router, instance: Instance): void {
  router.get(
    endpoints.listMergeRequests.path,
    serve(instance, endpoints.listMergeRequests, async (call) => {
      const { state = "all", order_by = "created_at", sort = "desc", updated_after } = call.query;
      const { author_id: author, source_branch: source, target_branch: target } = call.query;
      const { source_project_id: from } = call.query;
      const after = updated_after === undefined ? 0 : Date.parse(updated_after);
      const time = (merge: MergeRequest) => (order_by === "updated_at" ? merge.updatedAt : merge.createdAt).getTime();
      const project = call.project();
      const listed = instance.mergeRequests
        .filter((merge) => merge.project === project && (state === "all" || merge.state === state))
        .filter((merge) => merge.updatedAt.getTime() >= after)
        .filter((merge) => author === undefined || merge.author.id === author)
        .filter((merge) => source === undefined || merge.sourceBranch === source)
        .filter((merge) => from === undefined || merge.sourceProject.id === from)
        .filter((merge) => target === undefined || merge.targetBranch === target)
        .sort((one, other) => (sort === "asc" ? 1 : -1) * (time(one) - time(other)));
      const shown = listed.map((merge) => showMergeRequest(instance, merge, mergeStatus(instance, merge)));
      return page(call.url, await Promise.all(shown), call.query);
    }),
  );
  router.post(
    endpoints.createMergeRequest.path,
    serve(instance, endpoints.createMergeRequest, async (call) => {
      const project = call.project();
      const { title, source_branch: branch, target_branch: base, description = "" } = call.body;
      if ((project.members.get(instance.bot.id) ?? 0) < 30) throw new ApiFailure(403, "403 Forbidden");
      const open = instance.mergeRequests.find(
        (one) => one.sourceProject === project && one.sourceBranch === branch && one.state === "opened",
      );
      if (open !== undefined) {
        throw new ApiFailure(409, `Another open merge request already exists for this source branch: !${open.iid}`);
      }
      const at = await instance.store.resolve(project.path, `refs/heads/${branch}`);
      if (at === undefined) throw new ApiFailure(400, 'The source branch "' + branch + '" does not exist');
      const by = instance.bot.username;
      const request = { repository: project.path, by, changes: {}, branch, base, title, at };
      const merge = await openMergeRequest(instance, request, description);
      return { status: 201, body: await showMergeRequest(instance, merge, mergeStatus(instance, merge)) };
    }),
  );
  router.get(
    endpoints.listMergeRequestCommits.path,
    serve(instance, endpoints.listMergeRequestCommits, async (call) => {
      const merge = call.mergeRequest();
      const { start } = newestVersion(merge);
      const { path } = merge.project;
      const base = (await instance.store.mergeBase(path, start, merge.head)) ?? start;
      const commits = await instance.commits.between(path, base, merge.head);
      return page(
        call.url,
        commits.map((commit) => showCommit(instance, merge.project, commit)),
        call.query,
      );
    }),
  );
  router.get(
    endpoints.listMergeRequestsOfCommit.path,
    serve(instance, endpoints.listMergeRequestsOfCommit, async (call) => {
      const [project, sha, { state }] = [call.project(), call.param("sha"), call.query];
      if ((await instance.store.resolve(project.path, sha)) === undefined) {
        throw new ApiFailure(404, "404 Commit Not Found");
      }
      const found: MergeRequest[] = [];
      for (const merge of instance.mergeRequests) {
        if (merge.project !== project || (state !== undefined && merge.state !== state)) continue;
        if (await hasCommit(instance, merge, sha)) found.push(merge);
      }
      const shown = found.map((merge) => showMergeRequest(instance, merge, mergeStatus(instance, merge)));
      return page(call.url, await Promise.all(shown), call.query);
    }),
  );
  router.get(
    endpoints.showMergeRequest.path,
    serve(instance, endpoints.showMergeRequest, async (call) => {
      const merge = call.mergeRequest();
      const isAsked = call.query.include_rebase_in_progress === true;
      const rebasing = isAsked ? { rebase_in_progress: (await merge.rebasing?.look()) ?? false } : {};
      return { body: { ...(await showMergeRequest(instance, merge, await readStatus(instance, merge))), ...rebasing } };
    }),
  );
  router.get(
    endpoints.listVersions.path,
    serve(instance, endpoints.listVersions, async (call) => {
      const merge = call.mergeRequest();
      const newestFirst = [...merge.versions].reverse();
      const shown = await Promise.all(newestFirst.map((version) => showVersion(instance, merge, version)));
      return page(call.url, shown, call.query);
    }),
  );
  router.put(
    endpoints.editMergeRequest.path,
    serve(instance, endpoints.editMergeRequest, async (call) => {
      const merge = call.mergeRequest();
      merge.squash = call.body.squash;
      return { body: await showMergeRequest(instance, merge, mergeStatus(instance, merge)) };
    }),
  );
  router.put(
    endpoints.rebaseMergeRequest.path,
    serve(instance, endpoints.rebaseMergeRequest, (call) => {
      const merge = call.mergeRequest();
      const level = merge.sourceProject.members.get(instance.bot.id) ?? 0;
      const isProtected = merge.sourceProject.protectedBranches.has(merge.sourceBranch);
      if (level < 30 || isProtected) throw new ApiFailure(403, "Cannot push to source branch");
      merge.rebasing = new Background(rebaseBranch(instance, merge));
      instance.hooks.during(merge.rebasing.done);
      return { status: 202, body: { rebase_in_progress: true } };
    }),
  );
  router.put(
    endpoints.acceptMergeRequest.path,
    serve(instance, endpoints.acceptMergeRequest, async (call) => {
      const merge = call.mergeRequest();
      const { sha, squash, should_remove_source_branch, merge_commit_message, squash_commit_message } = call.body;
      if (merge.state === "opened" && merge.pendingReads === 0) await checkConflicts(instance, merge);
      refuseMerge(instance, merge, sha);
      // No other value changes what is ticked.
      if (squash === true) merge.squash = true;
      const wishes = {
        squash: merge.squash,
        // Defaults to `force_remove_source_branch`, which the author ticked.
        removeSourceBranch: should_remove_source_branch ?? true,
        mergeMessage: merge_commit_message,
        squashMessage: squash_commit_message,
      };
      await mergeNow(instance, merge, instance.bot, wishes).catch(() => {
        throw new ApiFailure(422, "Branch cannot be merged");
      });
      return { body: await showMergeRequest(instance, merge, mergeStatus(instance, merge)) };
    }),
  );
}

/** Whether the newest diff of a merge request has the commit: not if the target branch has it already. */
async function hasCommit({ store }: Instance, merge: MergeRequest, sha: string): Promise<boolean> {
  const { project, head } = merge;
  const base = await store.mergeBase(project.path, newestVersion(merge).start, head);
  const commits = await store.commits(project.path, base ?? head, head);
  return commits.some(({ id }) => id === sha);
}

/**
 * Refuses in the order of GitLab's own checks (`lib/api/merge_requests.rb`): permission, state, conflicts, expected
 * head. Nothing may happen between this and the merge.
 */
function refuseMerge(instance: Instance, merge: MergeRequest, sha: string | undefined): void {
  if (!mayMerge(instance, merge)) throw new ApiFailure(401, "401 Unauthorized");
  if (merge.state !== "opened" || merge.pendingReads > 0) throw new ApiFailure(405, "405 Method Not Allowed");
  const { detailed_merge_status } = mergeStatus(instance, merge);
  if (detailed_merge_status === "conflict") throw new ApiFailure(422, "Branch cannot be merged");
  if (detailed_merge_status !== "mergeable") throw new ApiFailure(405, "405 Method Not Allowed");
  if (sha !== undefined && sha !== merge.head) {
    throw new ApiFailure(409, `SHA does not match HEAD of source branch: ${merge.head}`);
  }
}
