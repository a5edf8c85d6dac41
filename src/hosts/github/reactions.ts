import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { Reaction } from "../../core/ports/code-host.js";
import { ownerAndRepo, type GitHubClient } from "./client.js";

/** https://docs.github.com/rest/reactions/reactions */
const CONTENT = { seen: "eyes", done: "rocket", failed: "confused" } as const satisfies Record<Reaction, string>;

/** GitHub answers 200 instead of 201 when we set the same one before. */
export async function react(
  client: GitHubClient,
  change: ChangeRequestRef,
  commentId: string,
  reaction: Reaction,
): Promise<void> {
  await client.inRepository(
    change.repository,
    `react to a comment on ${change.repository}#${change.number}`,
    (octokit) =>
      octokit.rest.reactions.createForIssueComment({
        ...ownerAndRepo(change.repository),
        comment_id: Number(commentId),
        content: CONTENT[reaction],
      }),
  );
}
