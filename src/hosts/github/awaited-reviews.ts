import * as z from "zod";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import { loginField } from "../payload-fields.js";
import type { GitHubClient } from "./client.js";

/** Separate from the approval query: without "Organization members: read", a requested team fails the whole query. */
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

/** The open review requests as a sentence after a space. Empty if GitHub refuses to list them. */
export async function describeAwaited(client: GitHubClient, change: ChangeRequestRef): Promise<string> {
  const asked = `read the review requests of ${change.repository}#${change.number}`;
  try {
    const { repository } = await client.read(awaitedSchema, change.repository, asked, async (octokit, at) => ({
      data: await octokit.graphql<unknown>(AWAITED_QUERY, { owner: at.owner, name: at.repo, number: change.number }),
    }));
    const { nodes } = repository.pullRequest.reviewRequests;
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
