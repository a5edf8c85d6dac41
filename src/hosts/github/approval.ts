import * as z from "zod";
import { revision } from "../../core/model/brand.js";
import type { ChangeRequest, Look, Reviews, ChangeRequestRef } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import { idField, loginField } from "../payload-fields.js";
import type { GitHubClient } from "./client.js";
import { isBot } from "./translate-event.js";

/**
 * Only GraphQL has `reviewDecision`, which reflects branch protection, rulesets and code owners, and the newest opinion
 * of each reviewer: https://docs.github.com/graphql/reference/objects#pullrequest
 */
export const APPROVAL_QUERY = `query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      reviewDecision
      latestOpinionatedReviews(first: 100, writersOnly: true) {
        pageInfo { hasNextPage }
        nodes {
          state
          author { __typename login ... on User { databaseId } }
          commit { oid }
        }
      }
    }
  }
}`;

const reviewSchema = z.object({
  state: z.string(),
  author: z.object({ __typename: z.string(), login: loginField, databaseId: idField.nullish() }).nullish(),
  commit: z.object({ oid: z.string() }).nullish(),
});
const approvalSchema = z.object({
  repository: z.object({
    pullRequest: z.object({
      headRefOid: z.string(),
      reviewDecision: z.string().nullish(),
      latestOpinionatedReviews: z.object({
        pageInfo: z.object({ hasNextPage: z.boolean() }),
        nodes: z.array(reviewSchema.nullable()),
      }),
    }),
  }),
});
type PullRequestReviews = z.output<typeof approvalSchema>["repository"]["pullRequest"];
type Review = z.output<typeof reviewSchema>;

export async function getReviews(client: GitHubClient, change: ChangeRequest): Promise<Reviews> {
  const asked = `read the reviews of ${change.repository}#${change.number}`;
  const { repository } = await client.read(approvalSchema, change.repository, asked, async (octokit, at) => ({
    data: await octokit.graphql<unknown>(APPROVAL_QUERY, { owner: at.owner, name: at.repo, number: change.number }),
  }));
  const verdict = judgeReviews(change, repository.pullRequest);
  if (verdict.missing === undefined) return verdict;
  return { ...verdict, missing: `${verdict.missing}${await describeAwaited(client, change)}` };
}

/** A missing decision means that GitHub requires no review, not that the pull request was approved. */
export function judgeReviews(change: ChangeRequest, pull: PullRequestReviews): Reviews {
  const reviews = pull.latestOpinionatedReviews.nodes.filter((review) => review !== null);
  const approvals = reviews.filter((review) => review.state === "APPROVED" && isOtherPerson(review, change));
  const fresh = approvals.filter((review) => review.commit?.oid === change.headRevision);
  const people = fresh.flatMap(lookOf).map(({ by }) => by);
  const given = { approvers: logins(fresh), people, looks: approvals.flatMap(lookOf) };
  const refuse = (missing: string): Reviews => ({ approved: false, ...given, missing });

  if (pull.headRefOid !== change.headRevision) return refuse("The head commit changed while the reviews were read.");
  if (pull.latestOpinionatedReviews.pageInfo.hasNextPage) {
    return refuse("More than 100 people reviewed: too many to judge.");
  }
  const objections = reviews.filter((review) => review.state === "CHANGES_REQUESTED");
  if (objections.length > 0 || pull.reviewDecision === "CHANGES_REQUESTED") {
    const who = logins(objections).join(", ") || "A reviewer";
    return refuse(`${who} requested changes.`);
  }
  if (pull.reviewDecision === "REVIEW_REQUIRED") {
    return refuse("GitHub requires more reviews: see the branch's protection rules and code owners.");
  }
  if (pull.reviewDecision && pull.reviewDecision !== "APPROVED") {
    return refuse("GitHub gives a review decision of an unknown kind.");
  }
  if (fresh.length > 0) return { approved: true, ...given, missing: undefined };
  if (approvals.length > 0) {
    return refuse(`${logins(approvals).join(", ")} approved an earlier commit: the present head needs an approval.`);
  }
  return refuse("Nobody other than the author, with write access, approved the head commit.");
}

function isOtherPerson({ author }: Review, change: ChangeRequest): boolean {
  if (author?.__typename !== "User" || isBot(author.login, "User") || !author.databaseId) return false;
  const sameLogin = author.login.toLowerCase() === change.author?.login.toLowerCase();
  return author.databaseId !== change.author?.id && !sameLogin;
}

function lookOf({ author, commit }: Review): readonly Look[] {
  if (!author?.databaseId) return [];
  const by = { id: author.databaseId, login: author.login, bot: false };
  return [{ by, saw: commit ? revision(commit.oid) : undefined }];
}

function logins(reviews: readonly Review[]): readonly string[] {
  return reviews.map((review) => review.author?.login).filter((login) => login !== undefined);
}

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
async function describeAwaited(client: GitHubClient, change: ChangeRequestRef): Promise<string> {
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
