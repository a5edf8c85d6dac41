import { enqueue } from "../merge-queue.js";
import { permits, type InstallationToken } from "../tokens.js";
import { nodeId, type QueueEntry, type World } from "../world.js";
import { TypedError } from "./fields.js";

export interface EnqueueInput {
  readonly pullRequestId: string;
  readonly expectedHeadOid?: string | null;
}

/** https://docs.github.com/graphql/reference/mutations#enqueuepullrequest. GitHub documents no permission for it. */
export async function enqueuePull(world: World, token: InstallationToken, input: EnqueueInput): Promise<QueueEntry> {
  const pulls = [...world.repositories.values()].flatMap(({ pulls: some }) => [...some.values()]);
  const pull = pulls.find(({ id }) => nodeId("PR", id) === input.pullRequestId);
  if (pull === undefined) {
    throw new TypedError("NOT_FOUND", `Could not resolve to a node with the global id of '${input.pullRequestId}'`);
  }
  const { repository, baseBranch, headSha } = pull;
  const wanted = repository.queueNeedsWrite ? ["contents", "merge_queues"] : ["contents"];
  if (!wanted.every((permission) => permits(token, repository, permission, "write"))) {
    throw new TypedError("FORBIDDEN", "Resource not accessible by integration");
  }
  const refuse = (why: string) => new TypedError("UNPROCESSABLE", why);
  const queue = repository.mergeQueues.get(baseBranch);
  if (queue === undefined) throw refuse(`The branch ${baseBranch} does not have a merge queue`);
  if (pull.state !== "open") throw refuse("Pull request is closed");
  if (queue.some((entry) => entry.pull === pull)) throw refuse("Pull request is already in the queue");
  if (input.expectedHeadOid && input.expectedHeadOid !== headSha) throw refuse("Head branch was modified");
  const status = repository.statuses.get(headSha)?.findLast(({ context }) => context === "svc/sync");
  if (status?.state !== "success") throw refuse('Required status check "svc/sync" is expected.');
  return enqueue(world, pull);
}
