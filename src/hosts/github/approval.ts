import * as z from "zod";
import { revision } from "../../core/model/brand.js";
import type {
  Authorship,
  ChangeRequest,
  ChangeRequestRef,
  CommitAccounts,
  Look,
  Push,
  Reverts,
  Reviews,
  User,
} from "../../core/model/change-request.js";
import { HostFailure, only } from "../../core/model/errors.js";
import type { CodeHost } from "../../core/ports/code-host.js";
import { isOlder } from "../../core/ports/deployer.js";
import { idField, ifFound, loginField, oneLine, timeField } from "../host-answer.js";
import { readRevertBody } from "../revert-marker.js";
import { getPull } from "./change-request.js";
import type { GitHubClient } from "./client.js";
import { isBot, userField } from "./webhook.js";

/** GitHub lists at most 250 commits of a pull request. */
const MOST_PAGES = 3;

/** `authors` includes the people that `Co-authored-by` trailers name. */
export const COMMITS_QUERY = `query ($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      body
      lastEditedAt
      commits(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          commit {
            oid
            authors(first: 20) {
              pageInfo { hasNextPage }
              nodes { user { databaseId login } }
            }
            committer { user { databaseId login } }
          }
        }
      }
    }
  }
}`;

const gitActorSchema = z
  .object({ user: z.object({ databaseId: idField.nullish(), login: loginField }).nullish() })
  .nullish();
const commitSchema = z.object({
  oid: z.string(),
  authors: z.object({ pageInfo: z.object({ hasNextPage: z.boolean() }), nodes: z.array(gitActorSchema) }),
  committer: gitActorSchema,
});
const commitsSchema = z.object({
  body: z.string(),
  lastEditedAt: z.string().nullable(),
  commits: z.object({
    pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullish() }),
    nodes: z.array(z.object({ commit: commitSchema }).nullable()),
  }),
});

const activitiesSchema = z.array(z.object({ before: z.string(), after: z.string(), actor: userField.nullish() }));

/** Reads who approved a pull request, and whose work it is. */
export function createApprovals(
  client: GitHubClient,
  self: () => Promise<User>,
): Pick<CodeHost, "reviews" | "authorship"> {
  return {
    reviews: (change) => getReviews(client, change),
    authorship: async (change) => getAuthorship(client, change, (await self()).id),
  };
}

async function getAuthorship(client: GitHubClient, change: ChangeRequest, self: string): Promise<Authorship> {
  const [{ accounts, reverts }, pushes] = await Promise.all([getAccounts(client, change), getPushes(client, change)]);
  const isOurs = change.author?.id === self;
  // GitHub does not tell at which head it was opened; the branch of a revert is made by our own push.
  const made = isOurs ? pushes.find(({ by, before }) => by?.id === self && before === undefined) : undefined;
  return { accounts, pushes, opened: made?.after, reverts: reverts ?? (isOurs ? "unknown" : undefined) };
}

/** What a description says of a revert is worth nothing once it was edited: whoever can push can do that. */
async function getAccounts(
  client: GitHubClient,
  change: ChangeRequest,
): Promise<Pick<Authorship, "accounts"> & { readonly reverts: Reverts | undefined }> {
  const asked = `read the commits of ${change.repository}#${change.number}`;
  const accounts = new Map<string, CommitAccounts>();
  let reverts: Reverts | undefined;
  let after: string | null = null;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const variables: Record<string, unknown> = { after };
    const read = await client.queryPullRequest(commitsSchema, change, asked, COMMITS_QUERY, variables);
    const { commits, body, lastEditedAt } = read;
    reverts = lastEditedAt === null ? readRevertBody(body) : undefined;
    const { nodes, pageInfo } = commits;
    for (const node of nodes) if (node !== null) accounts.set(node.commit.oid, accountsOf(node.commit));
    if (!pageInfo.hasNextPage || !pageInfo.endCursor) break;
    after = pageInfo.endCursor;
  }
  return { accounts, reverts };
}

function accountsOf({ authors, committer }: z.output<typeof commitSchema>): CommitAccounts {
  const accounts = [...authors.nodes, committer].map(userOf);
  // GitHub itself commits what people do on its pages, as `web-flow`.
  const people = accounts.filter((user) => user !== undefined).filter(({ login }) => login !== "web-flow");
  return { people, unknown: authors.pageInfo.hasNextPage || accounts.includes(undefined) };
}

function userOf(actor: z.output<typeof gitActorSchema>): User | undefined {
  const { databaseId, login } = actor?.user ?? {};
  if (!databaseId || login === undefined) return undefined;
  return { id: databaseId, login, bot: isBot(login, "User") };
}

/** Empty on self-hosted servers before 3.10, which do not report pushes, and for a fork that the App cannot see. */
async function getPushes(client: GitHubClient, change: ChangeRequest): Promise<readonly Push[]> {
  const place = change.fork ? (await getPull(client, change)).head.repo?.full_name : change.repository;
  if (place === undefined) return [];
  const [owner = "", repo = ""] = place.split("/");
  const asked = `read who pushed to ${change.headBranch} of ${place}`;
  let pages = 0;
  const activities = await ifFound(
    client.read(activitiesSchema, change.repository, asked, async (octokit, at) => ({
      data: await octokit.paginate(
        octokit.rest.repos.listActivities,
        { ...at, owner, repo, ref: `refs/heads/${change.headBranch}`, per_page: 100 },
        (answer, done) => {
          pages += 1;
          if (pages === MOST_PAGES) done();
          return answer.data;
        },
      ),
    })),
  );
  return (activities ?? []).map(({ actor, before, after }) => ({
    by: actor ?? undefined,
    before: NO_COMMIT.test(before) ? undefined : before,
    after: NO_COMMIT.test(after) ? "deleted" : after,
  }));
}

const NO_COMMIT = /^0+$/;

/**
 * Only GraphQL has the changes of the base branch, `reviewDecision`, which reflects branch protection, rulesets and code owners, and the newest opinion
 * of each reviewer: https://docs.github.com/graphql/reference/objects#pullrequest
 */
export const APPROVAL_QUERY = `query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      baseRefName
      isInMergeQueue
      reviewDecision
      timelineItems(last: 100, itemTypes: [BASE_REF_CHANGED_EVENT, AUTOMATIC_BASE_CHANGE_SUCCEEDED_EVENT]) {
        pageInfo { hasPreviousPage }
        nodes {
          ... on BaseRefChangedEvent { createdAt from: previousRefName to: currentRefName }
          ... on AutomaticBaseChangeSucceededEvent { createdAt from: oldBase to: newBase }
        }
      }
      latestOpinionatedReviews(first: 100, writersOnly: true) {
        pageInfo { hasNextPage }
        nodes {
          state
          submittedAt
          author { __typename login ... on User { databaseId } }
          commit { oid }
        }
      }
    }
  }
}`;

const reviewSchema = z.object({
  state: z.string(),
  submittedAt: timeField.nullish(),
  author: z.object({ __typename: z.string(), login: loginField, databaseId: idField.nullish() }).nullish(),
  commit: z.object({ oid: z.string() }).nullish(),
});
const baseChangeSchema = z.object({ createdAt: timeField, from: z.string(), to: z.string() });
const approvalSchema = z.object({
  headRefOid: z.string(),
  baseRefName: z.string(),
  isInMergeQueue: z.boolean().nullish(),
  reviewDecision: z.string().nullish(),
  timelineItems: z.object({
    pageInfo: z.object({ hasPreviousPage: z.boolean() }),
    nodes: z.array(baseChangeSchema.nullable()),
  }),
  latestOpinionatedReviews: z.object({
    pageInfo: z.object({ hasNextPage: z.boolean() }),
    nodes: z.array(reviewSchema.nullable()),
  }),
});
type Review = z.output<typeof reviewSchema>;
type BaseChange = z.output<typeof baseChangeSchema>;

/** GitHub Enterprise Server before this version has no merge queues and refuses a query for `isInMergeQueue`: https://github.com/facebook/sapling/issues/906 */
const FIRST_WITH_QUEUES = "3.12";
const WITHOUT_QUEUES = APPROVAL_QUERY.replace(/\bisInMergeQueue\b/, "");

async function getReviews(client: GitHubClient, change: ChangeRequest): Promise<Reviews> {
  const asked = `read the reviews of ${change.repository}#${change.number}`;
  // The first answer tells the version.
  await client.installationOf(change.repository);
  const hasQueues = isOlder(client.serverVersion() ?? FIRST_WITH_QUEUES, FIRST_WITH_QUEUES) !== true;
  const query = hasQueues ? APPROVAL_QUERY : WITHOUT_QUEUES;
  const pull = await client.queryPullRequest(approvalSchema, change, asked, query);
  const verdict = { ...judgeReviews(change, pull), ...(pull.isInMergeQueue ? { queued: true as const } : {}) };
  if (verdict.missing === undefined) return verdict;
  return { ...verdict, missing: `${verdict.missing}${await describeAwaited(client, change)}` };
}

/** A missing decision means that GitHub requires no review, not that the pull request was approved. */
function judgeReviews(change: ChangeRequest, pull: z.output<typeof approvalSchema>): Reviews {
  const reviews = pull.latestOpinionatedReviews.nodes.filter((review) => review !== null);
  const base = lastBaseChange(change, pull);
  const all = reviews.filter((review) => review.state === "APPROVED" && isOtherPerson(review, change));
  const approvals = typeof base === "string" ? [] : all.filter((review) => isAfter(review, base));
  const fresh = approvals.filter((review) => review.commit?.oid === change.headRevision);
  const people = fresh.flatMap(lookOf).map(({ by }) => by);
  const given = { approvers: logins(fresh), people, looks: approvals.flatMap(lookOf) };
  const refuse = (missing: string): Reviews => ({ approved: false, ...given, missing });

  if (pull.headRefOid !== change.headRevision) return refuse("The head commit changed while the reviews were read.");
  if (typeof base === "string") return refuse(base);
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
  const early = all.filter((review) => review.commit?.oid === change.headRevision);
  if (base !== undefined && early.length > 0) {
    return refuse(
      `${logins(early).join(", ")} approved before the base changed from ${oneLine(base.from, 100)} to ${oneLine(base.to, 100)}: approve again.`,
    );
  }
  if (approvals.length > 0) {
    return refuse(`${logins(approvals).join(", ")} approved an earlier commit: the present head needs an approval.`);
  }
  return refuse("Nobody other than the author has approved the head commit; only people with write access count.");
}

/** The newest change of the base branch; undefined if it never changed, and a sentence if that cannot be told. */
function lastBaseChange(
  { baseBranch }: ChangeRequest,
  { baseRefName, timelineItems }: z.output<typeof approvalSchema>,
): BaseChange | string | undefined {
  if (baseRefName !== baseBranch) return "The base branch changed while the reviews were read.";
  if (timelineItems.pageInfo.hasPreviousPage) {
    return "The base branch changed more than 100 times, so which approvals came after the last change cannot be told: open a new pull request.";
  }
  const changes = timelineItems.nodes.filter((one) => one !== null);
  const newest = Math.max(...changes.map(({ createdAt }) => createdAt.getTime()));
  const last = changes.findLast(({ createdAt }) => createdAt.getTime() === newest);
  if (changes.length < timelineItems.nodes.length || (last !== undefined && last.to !== baseBranch)) {
    return `GitHub does not tell when the base changed to ${oneLine(baseBranch, 100)}, so which approvals came after that cannot be told: try again in a moment; if that does not help, open a new pull request.`;
  }
  return last;
}

/** GitHub counts whole seconds: a review in the same one may be older. What was seen under another base does not count. */
function isAfter({ submittedAt }: Review, change: BaseChange | undefined): boolean {
  return change === undefined || (submittedAt ? submittedAt > change.createdAt : false);
}

function isOtherPerson({ author }: Review, change: ChangeRequest): boolean {
  if (author?.__typename !== "User" || isBot(author.login, "User") || !author.databaseId) return false;
  const sameLogin = author.login.toLowerCase() === change.author?.login.toLowerCase();
  return author.databaseId !== change.author?.id && !sameLogin;
}

function lookOf({ author, commit, submittedAt }: Review): readonly Look[] {
  if (!author?.databaseId) return [];
  const by = { id: author.databaseId, login: author.login, bot: false, at: submittedAt?.toISOString() };
  return [{ by, saw: commit ? revision(commit.oid) : undefined, from: undefined }];
}

function logins(reviews: readonly Review[]): readonly string[] {
  return reviews.map((review) => review.author?.login).filter((login) => login !== undefined);
}

/** Separate from the approval query, because a requested team fails the whole query without "Organization members: read". */
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

const reviewerSchema = z.object({ login: loginField.optional(), combinedSlug: z.string().max(255).optional() });
const awaitedSchema = z.object({
  reviewRequests: z.object({
    nodes: z.array(z.object({ asCodeOwner: z.boolean(), requestedReviewer: reviewerSchema.nullish() }).nullable()),
  }),
});

/** The open review requests as a sentence after a space. Empty if GitHub refuses to list them. */
async function describeAwaited(client: GitHubClient, change: ChangeRequestRef): Promise<string> {
  const asked = `read the review requests of ${change.repository}#${change.number}`;
  const asking = client.queryPullRequest(awaitedSchema, change, asked, AWAITED_QUERY);
  const found = await asking.catch(only(HostFailure, () => undefined));
  const awaited = found?.reviewRequests.nodes.flatMap((node) => {
    const name = node?.requestedReviewer?.login ?? node?.requestedReviewer?.combinedSlug;
    return name === undefined ? [] : [node?.asCodeOwner === true ? `${name} (code owner)` : name];
  });
  return awaited?.length ? ` A review was asked of ${awaited.join(", ")}.` : "";
}
