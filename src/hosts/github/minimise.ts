import { z } from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { decodeAnswer } from "../json-answer.js";
import { ownerAndRepo, type GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

/** Only GraphQL can minimise: https://docs.github.com/graphql/reference/mutations#minimizecomment */
export const MINIMISE_MUTATION = `mutation ($comment: ID!) {
  minimizeComment(input: { subjectId: $comment, classifier: OUTDATED }) {
    minimizedComment { isMinimized }
  }
}`;

const nodeSchema = z.object({ node_id: z.string().min(1).max(255) });

/** Folds a comment away as outdated; doing it twice is no error. */
export async function minimise(client: GitHubClient, change: ChangeRequestRef, commentId: string): Promise<void> {
  const asked = `hide an outdated comment on ${change.repository}#${change.number}`;
  const comment = await client.inRepository(change.repository, asked, (octokit) =>
    octokit.rest.issues.getComment({ ...ownerAndRepo(change.repository), comment_id: Number(commentId) }),
  );
  const { node_id } = decodeAnswer(nodeSchema, comment, GITHUB, asked);
  await client.inRepository(change.repository, asked, async (octokit) => ({
    data: await octokit.graphql<unknown>(MINIMISE_MUTATION, { comment: node_id }),
  }));
}
