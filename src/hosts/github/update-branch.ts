import type { ChangeRequest } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { UpdateOutcome } from "../../core/ports/code-host.js";
import { HostRefusal, LONG_READ_PAUSES_MS, readUntil } from "../host-answer.js";
import { getPull } from "./change-request.js";
import type { GitHubClient } from "./client.js";

/**
 * Merges the base branch into the head branch, in the background (202), and only into `change.headRevision`. GitHub's call
 * does not guard the base branch: https://docs.github.com/rest/pulls/pulls#update-a-pull-request-branch
 */
export async function updateBranch(client: GitHubClient, change: ChangeRequest, clock: Clock): Promise<UpdateOutcome> {
  if ((await getPull(client, change)).base.ref !== change.baseBranch) {
    return { kind: "refused", reason: "its base branch changed meanwhile" };
  }
  const unanswered = await request(client, change);
  if (typeof unanswered === "string") return { kind: "refused", reason: unanswered };
  const pull = await readUntil(
    () => getPull(client, change),
    ({ head, state }) => head.sha !== change.headRevision || state !== "open",
    clock,
    undefined,
    LONG_READ_PAUSES_MS,
  );
  if (pull.head.sha !== change.headRevision) return { kind: "moved", rewritten: false };
  if (unanswered !== undefined) throw unanswered;
  return { kind: "refused", reason: "GitHub accepted the update and has not made a new head within a minute" };
}

/** @returns Why GitHub refused; the failure, if it may have accepted all the same; undefined if it accepted. */
async function request(client: GitHubClient, change: ChangeRequest): Promise<string | HostFailure | undefined> {
  const asked = `update the branch of ${change.repository}#${change.number}`;
  try {
    await client.inRepository(change.repository, asked, ({ rest }, at) =>
      rest.pulls.updateBranch({ ...at, pull_number: change.number, expected_head_sha: change.headRevision }),
    );
    return undefined;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 422) return `GitHub says "${error.hostMessage}"`;
    if (error instanceof HostFailure && error.maybeDone) return error;
    throw error;
  }
}
