import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { RecentActivity, RecentComment } from "../../core/ports/code-host.js";
import { commentField, idField, loginField, numberField, revisionField, timeField } from "../payload-fields.js";
import type { GitHubClient } from "./client.js";
import { isBot } from "./translate-event.js";

const PAGE_SIZE = 100;
/** Pages of comments of one look. */
const MAX_PAGES = 5;

const pullsSchema = z.array(
  z.object({ number: numberField, updated_at: timeField, head: z.object({ sha: revisionField }) }),
);

const commentsSchema = z.array(
  z.object({
    id: idField,
    body: commentField.nullish(),
    user: z.object({ id: idField, login: loginField, type: z.string().nullish() }).nullish(),
    html_url: z.string().max(2000),
    created_at: timeField,
    updated_at: timeField,
  }),
);

/** One call for the pull requests, and one for each 100 comments. A comment updates its pull request, as a push does. */
export async function recentActivity(
  client: GitHubClient,
  repository: RepositoryName,
  since: Date,
): Promise<RecentActivity> {
  const asked = `list the open pull requests of ${repository}`;
  const pulls = await client.read(pullsSchema, repository, asked, (octokit, at) =>
    octokit.rest.pulls.list({ ...at, state: "open", sort: "updated", direction: "desc", per_page: PAGE_SIZE }),
  );
  const heads = pulls
    .filter(({ updated_at }) => updated_at >= since)
    .map(({ number, updated_at, head }) => ({
      change: { host: "hosta", repository, number } as const,
      headRevision: head.sha,
      updatedAt: updated_at,
    }));
  return { heads: heads.reverse(), comments: await commentsSince(client, repository, since) };
}

async function commentsSince(
  client: GitHubClient,
  repository: RepositoryName,
  since: Date,
): Promise<readonly RecentComment[]> {
  const asked = `list the new comments of ${repository}`;
  const recent: RecentComment[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const order = { sort: "created", direction: "asc", per_page: PAGE_SIZE, page } as const;
    const comments = await client.read(commentsSchema, repository, asked, (octokit, at) =>
      octokit.rest.issues.listCommentsForRepo({ ...at, ...order, since: since.toISOString() }),
    );
    for (const { id, body, user, html_url, created_at, updated_at } of comments) {
      const number = Number(/\/pull\/(\d+)#/.exec(html_url)?.[1]);
      const edited = updated_at.getTime() !== created_at.getTime();
      if (!Number.isSafeInteger(number) || !user || edited || created_at < since) continue;
      const author = { id: user.id, login: user.login, bot: isBot(user.login, user.type) };
      const change = { host: "hosta", repository, number } as const;
      recent.push({ change, id, body: body ?? "", author, createdAt: created_at });
    }
    if (comments.length < PAGE_SIZE) break;
  }
  return recent;
}
