import type { ChangeRequest } from "../../core/model/change-request.js";
import type { CommitStatus } from "../../core/ports/code-host.js";
import { STATUS_NAME } from "../../names.js";
import { oneLine } from "../host-refusal.js";
import { ownerAndRepo, type GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

/** On the base repository with the head's commit, which is right for forks as well. */
export async function setStatus(client: GitHubClient, change: ChangeRequest, status: CommitStatus): Promise<void> {
  await client.inRepository(
    change.repository,
    `set the commit status of ${change.repository}#${change.number}`,
    (octokit) =>
      octokit.rest.repos.createCommitStatus({
        ...ownerAndRepo(change.repository),
        sha: change.headRevision,
        context: STATUS_NAME,
        state: status.state,
        description: oneLine(status.description, GITHUB.maxStatusDescription - 1),
        ...(status.url === undefined ? {} : { target_url: status.url }),
      }),
  );
}
