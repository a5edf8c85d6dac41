import { recordPush } from "./activities.js";
import { baseTip } from "./mergeability.js";
import { type Pull, type QueueEntry, type World } from "./world.js";

/** The branch that a group is built on: https://docs.github.com/webhooks/webhook-events-and-payloads#merge_group */
export function queueBranch({ pull, baseSha }: QueueEntry): string {
  return `gh-readonly-queue/${pull.baseBranch}/pr-${pull.number}-${baseSha}`;
}

/** Puts a pull request at the end of its base branch's queue, merged upon what is before it. */
export function enqueue(world: World, pull: Pull): Promise<QueueEntry> {
  return world.oneAfterTheOther(async () => {
    const { repository, baseBranch, number } = pull;
    const queue = repository.mergeQueues.get(baseBranch);
    if (queue === undefined) throw new Error(`${baseBranch} has no merge queue`);
    const baseSha = queue.at(-1)?.headSha ?? (await baseTip(world, pull));
    const branch = queueBranch({ pull, baseSha, headSha: baseSha });
    await world.store.setRef(repository.fullName, `refs/heads/${branch}`, baseSha);
    const message = `Merge pull request #${number}`;
    const headSha = await world.store.merge(repository.fullName, branch, pull.headSha, "merge", message, "web-flow");
    const entry = { pull, baseSha, headSha };
    queue.push(entry);
    return entry;
  });
}

/** A pull request that gets commits leaves its queue; those after it are queued again by GitHub, which the sandbox does not do. */
export function dequeue(pull: Pull): void {
  const queue = pull.repository.mergeQueues.get(pull.baseBranch);
  const place = queue?.findIndex((entry) => entry.pull === pull) ?? -1;
  if (place >= 0) queue?.splice(place);
}

/** What became of a queue whose head commit has this required status: merged, or taken out. */
export async function endGroup(world: World, pull: Pull, required: string): Promise<readonly Pull[]> {
  const { repository, baseBranch } = pull;
  const queue = repository.mergeQueues.get(baseBranch) ?? [];
  const last = queue.findIndex((entry) => entry.pull === pull);
  const group = queue.splice(0, last + 1);
  const head = group.at(-1);
  if (head === undefined) throw new Error(`#${pull.number} is not queued`);
  const status = repository.statuses.get(head.headSha)?.findLast(({ context }) => context === required);
  for (const entry of group) {
    await world.store.setRef(repository.fullName, `refs/heads/${queueBranch(entry)}`, undefined);
  }
  if (status?.state !== "success") return [];
  const by = world.person("github-merge-queue[bot]");
  await world.store.setRef(repository.fullName, `refs/heads/${baseBranch}`, head.headSha);
  const before = group[0]?.baseSha ?? head.baseSha;
  recordPush(world, repository, { branch: baseBranch, before, after: head.headSha, by, type: "pr_merge" });
  for (const entry of group) {
    const merged = { at: world.now(), by, commit: entry.headSha };
    repository.contributors.add(entry.pull.author);
    Object.assign(entry.pull, { state: "closed", merged, closedAt: merged.at, updatedAt: merged.at });
  }
  return group.map((entry) => entry.pull);
}
