import { z } from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import { decodeAnswer } from "../json-answer.js";
import { loginField } from "../payload-fields.js";
import { ownerAndRepo, type GitHubClient } from "./client.js";
import { GITHUB } from "./words.js";

/** Apart from the verdict's query: without Organization members: read, a team in it makes the whole answer an error. */
export const AWAITED_QUERY = `query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewRequests(first: 20) {
        nodes {
          asCodeOwner
          requestedReviewer { __typename ... on User { login } ... on Team { combinedSlug } }
        }
      }
    }
  }
}`;

const awaitedSchema = z.object({
  repository: z.object({
    pullRequest: z.object({
      reviewRequests: z.object({
        nodes: z.array(
          z
            .object({
              asCodeOwner: z.boolean(),
              requestedReviewer: z
                .object({ login: loginField.optional(), combinedSlug: z.string().max(255).optional() })
                .nullish(),
            })
            .nullable(),
        ),
      }),
    }),
  }),
});

/**
 * Whose review is still awaited, as a sentence with a space in front; empty where GitHub does not tell: it only explains
 * a verdict.
 */
export async function describeAwaited(client: GitHubClient, change: ChangeRequestRef): Promise<string> {
  const asked = `read the review requests of ${change.repository}#${change.number}`;
  const { owner, repo } = ownerAndRepo(change.repository);
  try {
    const data = await client.inRepository(change.repository, asked, async (octokit) => ({
      data: await octokit.graphql<unknown>(AWAITED_QUERY, { owner, name: repo, number: change.number }),
    }));
    const { nodes } = decodeAnswer(awaitedSchema, data, GITHUB, asked).repository.pullRequest.reviewRequests;
    const awaited = nodes.flatMap((node) => {
      const name = node?.requestedReviewer?.login ?? node?.requestedReviewer?.combinedSlug;
      return name === undefined ? [] : [node?.asCodeOwner === true ? `${name} (code owner)` : name];
    });
    return awaited.length === 0 ? "" : ` A review was asked of ${awaited.join(", ")}.`;
  } catch (error) {
    if (error instanceof HostFailure) return "";
    throw error;
  }
}
