import { CannotRevert } from "../../git/git-store.js";
import { baseTip } from "../mergeability.js";
import { openPull } from "../pull-acts.js";
import { permits, type InstallationToken } from "../tokens.js";
import { nodeId, type Pull, type World } from "../world.js";
import { TypedError } from "./fields.js";

export interface RevertInput {
  readonly pullRequestId: string;
  readonly title?: string | null;
  readonly body?: string | null;
  readonly draft?: boolean | null;
}

/** Makes a branch, a commit and a pull request: https://docs.github.com/graphql/reference/mutations#revertpullrequest */
export async function revertPull(world: World, token: InstallationToken, input: RevertInput): Promise<Pull> {
  const pulls = [...world.repositories.values()].flatMap(({ pulls: some }) => [...some.values()]);
  const pull = pulls.find(({ id }) => nodeId("PR", id) === input.pullRequestId);
  if (pull === undefined) {
    throw new TypedError("NOT_FOUND", `Could not resolve to a node with the global id of '${input.pullRequestId}'`);
  }
  const { repository, merged } = pull;
  for (const needed of ["contents", "pull_requests"]) {
    if (!permits(token, repository, needed, "write")) {
      throw new TypedError("FORBIDDEN", "Resource not accessible by integration");
    }
  }
  if (merged === undefined) throw new TypedError("UNPROCESSABLE", "Pull request is not merged");
  const { store, bot } = world;
  const title = input.title ?? `Revert "${pull.title}"`;
  const branch = `revert-${pull.number}-${pull.headBranch}-${world.newId()}`;
  await store.setRef(repository.fullName, `refs/heads/${branch}`, await baseTip(world, pull));
  try {
    // Right before it was merged, its base was the tip of the branch.
    const commit = { message: title, author: bot.login };
    const at = await store.revert(repository.fullName, branch, { from: pull.baseSha, to: merged.commit }, commit);
    const draft = input.draft ?? false;
    const opened = { repository: repository.fullName, by: bot.login, changes: {}, base: pull.baseBranch };
    const revert = await openPull(world, { ...opened, ...(at === undefined ? {} : { at }), branch, title, draft });
    revert.body = input.body ?? `Reverts ${repository.fullName}#${pull.number}`;
    return revert;
  } catch (error) {
    await store.setRef(repository.fullName, `refs/heads/${branch}`, undefined);
    if (!(error instanceof CannotRevert)) throw error;
    throw new TypedError("UNPROCESSABLE", "This pull request cannot be reverted automatically");
  }
}
