import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequestRef, User } from "../../core/model/change-request.js";
import type { CodeHost, OwnComment, Reaction, RecentComment } from "../../core/ports/code-host.js";
import type { InTurn } from "../content-pace.js";
import { commentField, decodeAnswer, idField, numberField, revisionField, timeField } from "../host-answer.js";
import { findRepository, repositorySchema } from "./change-request.js";
import type { GitHubClient } from "./client.js";
import { userField } from "./webhook.js";
import { GITHUB } from "./words.js";

/** https://docs.github.com/rest/reactions/reactions. Adding the same one again answers 200 instead of 201. */
const REACTIONS = { seen: "eyes", done: "rocket", failed: "confused" } as const satisfies Record<Reaction, string>;

/** Only GraphQL can minimise: https://docs.github.com/graphql/reference/mutations#minimizecomment. Twice is not an error. */
export const MINIMISE_MUTATION = `mutation ($comment: ID!) {
  minimizeComment(input: { subjectId: $comment, classifier: OUTDATED }) {
    minimizedComment { isMinimized }
  }
}`;

const createdSchema = z.object({ id: idField });
const nodeSchema = z.object({ node_id: z.string().min(1).max(255) });

type Comments = Pick<CodeHost, "listOwnComments" | "postComment" | "editComment" | "commentUrl" | "react" | "minimise">;

/** The comments of one pull request. */
export function createComments(client: GitHubClient, self: () => Promise<User>, inTurn: InTurn): Comments {
  return {
    listOwnComments: async (change) => listOwn(client, change, (await self()).id),
    postComment: (change, body, posting) =>
      inTurn(change, posting, async () => {
        const asked = `post a comment on ${change.repository}#${change.number}`;
        const data = await client.inRepository(change.repository, asked, (octokit, at) =>
          octokit.rest.issues.createComment({ ...at, issue_number: change.number, body }),
        );
        return decodeAnswer(createdSchema, data, GITHUB, asked, true).id;
      }),
    async editComment({ repository, number }, commentId, body) {
      await client.inRepository(repository, `edit a comment on ${repository}#${number}`, (octokit, at) =>
        octokit.rest.issues.updateComment({ ...at, comment_id: Number(commentId), body }),
      );
    },
    commentUrl: (change, commentId) => `${change.webUrl}#issuecomment-${commentId}`,
    async react({ repository, number }, commentId, reaction) {
      const content = REACTIONS[reaction];
      await client.inRepository(repository, `react to a comment on ${repository}#${number}`, (octokit, at) =>
        octokit.rest.reactions.createForIssueComment({ ...at, comment_id: Number(commentId), content }),
      );
    },
    async minimise({ repository, number }, commentId) {
      const asked = `hide an outdated comment on ${repository}#${number}`;
      const { node_id } = await client.read(nodeSchema, repository, asked, (octokit, at) =>
        octokit.rest.issues.getComment({ ...at, comment_id: Number(commentId) }),
      );
      await client.inRepository(repository, asked, async (octokit) => ({
        data: await octokit.graphql<unknown>(MINIMISE_MUTATION, { comment: node_id }),
      }));
    },
  };
}

const PAGE_SIZE = 100;
const MAX_PAGES = 50;

const ownCommentsSchema = z.array(
  z.object({ id: idField, body: z.string().nullish(), user: z.object({ id: idField }).nullish() }),
);

/** Comments of the account with this id, oldest first, out of the first 5,000 of the pull request. */
async function listOwn(
  client: GitHubClient,
  { repository, number }: ChangeRequestRef,
  account: string,
): Promise<readonly OwnComment[]> {
  const asked = `list the comments of ${repository}#${number}`;
  const own: OwnComment[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const comments = await client.read(ownCommentsSchema, repository, asked, (octokit, at) =>
      octokit.rest.issues.listComments({ ...at, issue_number: number, per_page: PAGE_SIZE, page }),
    );
    for (const { id, body, user } of comments) {
      if (user?.id === account) own.push({ id, body: body ?? "" });
    }
    if (comments.length < PAGE_SIZE) break;
  }
  return own;
}

const pullsSchema = z.array(
  z.object({
    number: numberField,
    updated_at: timeField,
    head: z.object({ sha: revisionField }),
    base: z.object({ repo: repositorySchema }),
  }),
);

/** One call for the pull requests, and one for each 100 comments. A comment updates its pull request, as a push does. */
export function createRecentActivity(client: GitHubClient): CodeHost["recentActivity"] {
  return async (name, since) => {
    const asked = `list the open pull requests of ${name}`;
    const pulls = await client.read(pullsSchema, name, asked, (octokit, at) =>
      octokit.rest.pulls.list({ ...at, state: "open", sort: "updated", direction: "desc", per_page: PAGE_SIZE }),
    );
    const comments = await commentsSince(client, name, since);
    if (pulls.length + comments.length === 0) return { heads: [], comments: [] };
    // Answers come under the old name of a renamed repository as well.
    const { id, full_name } = pulls[0]?.base.repo ?? (await findRepository(client, name));
    const at = { host: "hosta", repository: full_name, repositoryId: id } as const;
    const heads = pulls
      .filter(({ updated_at }) => updated_at >= since)
      .map(({ number, updated_at, head }) => ({
        change: { ...at, number },
        headRevision: head.sha,
        updatedAt: updated_at,
      }));
    return {
      heads: heads.reverse(),
      comments: comments.map(({ number, ...comment }) => ({ ...comment, change: { ...at, number } })),
    };
  };
}

/** Pages of new comments that one call of `recentActivity` reads. */
const MAX_RECENT_PAGES = 5;

const recentCommentsSchema = z.array(
  z.object({
    id: idField,
    body: commentField.nullish(),
    user: userField.nullish(),
    html_url: z.string().max(2000),
    created_at: timeField,
    updated_at: timeField,
  }),
);

async function commentsSince(client: GitHubClient, repository: RepositoryName, since: Date) {
  const asked = `list the new comments of ${repository}`;
  const recent: (Omit<RecentComment, "change"> & { readonly number: number })[] = [];
  for (let page = 1; page <= MAX_RECENT_PAGES; page += 1) {
    const order = { sort: "created", direction: "asc", per_page: PAGE_SIZE, page } as const;
    const comments = await client.read(recentCommentsSchema, repository, asked, (octokit, at) =>
      octokit.rest.issues.listCommentsForRepo({ ...at, ...order, since: since.toISOString() }),
    );
    for (const { id, body, user, html_url, created_at, updated_at } of comments) {
      const number = Number(/\/pull\/(\d+)#/.exec(html_url)?.[1]);
      const edited = updated_at.getTime() !== created_at.getTime();
      if (!Number.isSafeInteger(number) || !user || edited || created_at < since) continue;
      recent.push({ number, id, body: body ?? "", author: user, createdAt: created_at });
    }
    if (comments.length < PAGE_SIZE) break;
  }
  return recent;
}
