import * as z from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { OwnComment, Reaction } from "../../core/ports/code-host.js";
import { decodeAnswer } from "../json-answer.js";
import { idField } from "../payload-fields.js";
import type { GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

const PAGE_SIZE = 100;
const MAX_PAGES = 50;

const commentsSchema = z.array(
  z.object({ id: idField, body: z.string().nullish(), user: z.object({ id: idField }).nullish() }),
);

/** Comments of the account with this id, oldest first, out of the first 5,000 of the pull request. */
export async function listCommentsOf(
  client: GitHubClient,
  change: ChangeRequestRef,
  account: string,
): Promise<readonly OwnComment[]> {
  const asked = `list the comments of ${change.repository}#${change.number}`;
  const own: OwnComment[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const comments = await client.read(commentsSchema, change.repository, asked, (octokit, at) =>
      octokit.rest.issues.listComments({ ...at, issue_number: change.number, per_page: PAGE_SIZE, page }),
    );
    for (const { id, body, user } of comments) {
      if (user?.id === account) own.push({ id, body: body ?? "" });
    }
    if (comments.length < PAGE_SIZE) break;
  }
  return own;
}

export async function postComment(client: GitHubClient, change: ChangeRequestRef, body: string): Promise<string> {
  const asked = `post a comment on ${change.repository}#${change.number}`;
  const data = await client.inRepository(change.repository, asked, (octokit, at) =>
    octokit.rest.issues.createComment({ ...at, issue_number: change.number, body }),
  );
  return decodeAnswer(z.object({ id: idField }), data, GITHUB, asked, true).id;
}

export async function editComment(
  client: GitHubClient,
  change: ChangeRequestRef,
  commentId: string,
  body: string,
): Promise<void> {
  const asked = `edit a comment on ${change.repository}#${change.number}`;
  await client.inRepository(change.repository, asked, (octokit, at) =>
    octokit.rest.issues.updateComment({ ...at, comment_id: Number(commentId), body }),
  );
}

/** https://docs.github.com/rest/reactions/reactions */
const REACTIONS = { seen: "eyes", done: "rocket", failed: "confused" } as const satisfies Record<Reaction, string>;

/** Adding the same reaction again is not an error: GitHub answers 200 instead of 201. */
export async function react(
  client: GitHubClient,
  change: ChangeRequestRef,
  commentId: string,
  reaction: Reaction,
): Promise<void> {
  const content = REACTIONS[reaction];
  const asked = `react to a comment on ${change.repository}#${change.number}`;
  await client.inRepository(change.repository, asked, (octokit, at) =>
    octokit.rest.reactions.createForIssueComment({ ...at, comment_id: Number(commentId), content }),
  );
}

/** Only GraphQL can minimise: https://docs.github.com/graphql/reference/mutations#minimizecomment */
export const MINIMISE_MUTATION = `mutation ($comment: ID!) {
  minimizeComment(input: { subjectId: $comment, classifier: OUTDATED }) {
    minimizedComment { isMinimized }
  }
}`;

const nodeSchema = z.object({ node_id: z.string().min(1).max(255) });

/** Hides a comment as outdated. Hiding it again is not an error. */
export async function minimise(client: GitHubClient, change: ChangeRequestRef, commentId: string): Promise<void> {
  const asked = `hide an outdated comment on ${change.repository}#${change.number}`;
  const { node_id } = await client.read(nodeSchema, change.repository, asked, (octokit, at) =>
    octokit.rest.issues.getComment({ ...at, comment_id: Number(commentId) }),
  );
  await client.inRepository(change.repository, asked, async (octokit) => ({
    data: await octokit.graphql<unknown>(MINIMISE_MUTATION, { comment: node_id }),
  }));
}
