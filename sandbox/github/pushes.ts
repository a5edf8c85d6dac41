import type { FileChanges, Push } from "../forge.js";
import { NO_COMMIT } from "./activities.js";
import type { Deliveries } from "./deliveries.js";
import { queueBranch } from "./merge-queue.js";
import { mergeGroupPayload, pullPayload, pushPayload } from "./payloads.js";
import { pushTo } from "./pull-acts.js";
import type { Pull, QueueEntry, Repository, World } from "./world.js";

export type PushBy = Push & { readonly by: string };

/** Commits to a branch, and sends the webhooks. Returns the commit. */
export async function pushAndTell(
  world: World,
  webhooks: Deliveries,
  target: Repository,
  branch: string,
  changes: FileChanges,
  push: PushBy,
): Promise<string> {
  const old = await world.store.resolve(target.fullName, `refs/heads/${branch}`);
  const { commit, moved } = await pushTo(world, target, branch, changes, push);
  const pusher = world.person(push.by);
  // Left out for heads of pull requests: it would only double the event about them.
  if (target.installed && moved.length === 0) {
    const pushed = { branch, before: old ?? NO_COMMIT, after: commit };
    await webhooks.send("push", () => pushPayload(world, target, pushed, pusher));
  }
  for (const { pull, before } of moved) {
    const action = { action: "synchronize", before, after: commit } as const;
    await webhooks.send("pull_request", () => pullPayload(world, pull, action, pusher));
  }
  return commit;
}

/** The webhooks of a merge group: the push to its branch, and the question whether it may be merged. */
export async function tellGroup(world: World, webhooks: Deliveries, base: string, last: QueueEntry): Promise<void> {
  const pushed = { branch: queueBranch(last), before: NO_COMMIT, after: last.headSha };
  const queue = world.person("github-merge-queue[bot]");
  await webhooks.send("push", () => pushPayload(world, last.pull.repository, pushed, queue));
  await webhooks.send("merge_group", () => mergeGroupPayload(world, base, last));
}

/** What the button "Update branch" pushes: GitHub itself commits in the name of who presses it. */
export async function updateOf(world: World, pull: Pull, by: string): Promise<Push> {
  const { baseBranch, headBranch, repository } = pull;
  const merging = await world.store.resolve(repository.fullName, `refs/heads/${baseBranch}`);
  if (merging === undefined) throw new Error(`There is no branch ${baseBranch} in ${repository.fullName}`);
  const { login: committer } = world.person("web-flow");
  return { by, committer, merging, message: `Merge branch '${baseBranch}' into ${headBranch}` };
}
