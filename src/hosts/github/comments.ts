import { LRUCache } from "lru-cache";
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

type Comments = Pick<
  CodeHost,
  "listOwnComments" | "postComment" | "editComment" | "commentUrl" | "react" | "minimise" | "recentActivity"
>;

/** The comments of pull requests. */
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
    recentActivity: createRecentActivity(client),
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
    state: z.enum(["open", "closed"]),
    draft: z.boolean().nullish(),
    updated_at: timeField,
    closed_at: timeField.nullish(),
    head: z.object({ sha: revisionField }),
    base: z.object({ ref: z.string().min(1).max(1000), repo: repositorySchema }),
  }),
);
type RecentPull = z.output<typeof pullsSchema>[number];

/** Repositories whose last quiet look is remembered. */
const MAX_QUIET = 1000;

/** A look that found nothing: what GitHub showed then, and since when nothing had happened. */
interface QuietLook {
  readonly etag: string;
  readonly since: Date;
}

/**
 * One call for each 100 pull requests, one for each 100 comments, and one that tells whether these were edited. A comment and a
 * review update their pull request, as a push does, so a repository where nothing happens costs one call, which GitHub
 * does not count: https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#use-conditional-requests-if-appropriate
 */
function createRecentActivity(client: GitHubClient): CodeHost["recentActivity"] {
  const quiet = new LRUCache<RepositoryName, QuietLook>({ max: MAX_QUIET });
  return async ({ repository: name }, since) => {
    const last = quiet.get(name);
    const known = last && last.since <= since ? last.etag : undefined;
    const { pulls, etag, at: readAt } = await pullsSince(client, name, since, known);
    const nothing = { at: readAt, heads: [], closed: [], comments: [] };
    if (pulls === "unchanged") return nothing;
    const { comments, readTo } = await commentsSince(client, name, since);
    const isQuiet = pulls.length + comments.length === 0;
    if (!isQuiet || readTo !== undefined) quiet.delete(name);
    else if (etag !== undefined) quiet.set(name, { etag, since });
    if (isQuiet) return { ...nothing, readTo };
    // Answers come under the old name of a renamed repository as well.
    const { id, full_name } = pulls[0]?.base.repo ?? (await findRepository(client, name));
    const at = { host: "hosta", repository: full_name, repositoryId: id } as const;
    return {
      ...nothing,
      readTo,
      heads: pulls
        .filter(({ state }) => state === "open")
        .map(({ number, draft, updated_at: updatedAt, head, base }) => {
          const change = { ...at, number };
          // Within one second, a comment may come before it becomes a draft.
          const activity = `${updatedAt.toISOString()}${draft === true ? " draft" : ""}`;
          const facts = { headRevision: head.sha, baseBranch: base.ref, draft: draft === true };
          return { change, ...facts, updatedAt, activity };
        }),
      closed: pulls.flatMap(({ number, closed_at: closedAt }) =>
        closedAt && closedAt >= since ? [{ change: { ...at, number }, closedAt }] : [],
      ),
      comments: comments.map(({ number, ...comment }) => ({ ...comment, change: { ...at, number } })),
    };
  };
}

/** Pages of new comments that one call of `recentActivity` reads; the next one goes on where it ended. */
const MAX_COMMENT_PAGES = 5;
/** Pages of pull requests that one call reads. They come newest first, so that what is behind the last page is lost. */
const MAX_PULL_PAGES = 20;

/**
 * Pull requests that changed since then, the least recently changed first; `unchanged` if the first page still has this ETag. What
 * changes after `at`, when the first page was read, moves onto that page.
 */
async function pullsSince(
  client: GitHubClient,
  name: RepositoryName,
  since: Date,
  known: string | undefined,
): Promise<{
  readonly pulls: readonly RecentPull[] | "unchanged";
  readonly etag: string | undefined;
  readonly at: Date | undefined;
}> {
  const asked = `list the pull requests of ${name}`;
  const order = { state: "all", sort: "updated", direction: "desc", per_page: PAGE_SIZE } as const;
  const found: RecentPull[] = [];
  let etag: string | undefined;
  let at: Date | undefined;
  for (let page = 1; page <= MAX_PULL_PAGES; page += 1) {
    const headers = page === 1 && known !== undefined ? { "if-none-match": known } : {};
    const listed = await client.read(pullsSchema.or(z.literal("unchanged")), name, asked, async (octokit, place) => {
      try {
        const answer = await octokit.rest.pulls.list({ ...place, ...order, page, headers });
        if (page === 1) etag = answer.headers.etag;
        return answer;
      } catch (error) {
        if (notModifiedSchema.safeParse(error).success) return { data: "unchanged" };
        throw error;
      }
    });
    if (page === 1) at = client.answeredAt();
    if (listed === "unchanged") return { pulls: listed, etag: known, at };
    found.push(...listed.filter(({ updated_at }) => updated_at >= since));
    if (listed.length < PAGE_SIZE || found.length < page * PAGE_SIZE) break;
  }
  return { pulls: found.reverse(), etag, at };
}

/** Octokit throws for every answer that is no success. */
const notModifiedSchema = z.object({ status: z.literal(304) });

const recentCommentsSchema = z.array(
  z.object({
    id: idField,
    node_id: z.string().min(1).max(255),
    body: commentField.nullish(),
    user: userField.nullish(),
    html_url: z.string().max(2000),
    created_at: timeField,
    updated_at: timeField,
  }),
);

/** Asks for what follows the last one, as of its time: edits meanwhile shift the pages. A comment may then come twice. */
async function commentsSince(client: GitHubClient, repository: RepositoryName, since: Date) {
  const asked = `list the new comments of ${repository}`;
  const recent = new Map<
    string,
    Omit<RecentComment, "change"> & { readonly number: number; readonly nodeId: string }
  >();
  let readTo: Date | undefined;
  let [from, page] = [since, 1];
  for (let pages = 1; pages <= MAX_COMMENT_PAGES; pages += 1) {
    // What was edited is as new as its edit. Comments that nobody edited come in the order in which they were written.
    const order = { sort: "updated", direction: "asc", per_page: PAGE_SIZE, page, since: from.toISOString() } as const;
    const comments = await client.read(recentCommentsSchema, repository, asked, (octokit, at) =>
      octokit.rest.issues.listCommentsForRepo({ ...at, ...order }),
    );
    for (const { id, node_id, body, user, html_url, created_at, updated_at } of comments) {
      const number = Number(/\/pull\/(\d+)#/.exec(html_url)?.[1]);
      const edited = updated_at.getTime() !== created_at.getTime();
      if (!Number.isSafeInteger(number) || !user || edited || created_at < since) continue;
      recent.set(id, { number, id, nodeId: node_id, body: body ?? "", author: user, createdAt: created_at });
    }
    readTo = comments.length < PAGE_SIZE ? undefined : comments.at(-1)?.updated_at;
    if (readTo === undefined) break;
    // One second may have more than a page.
    page = readTo.getTime() === from.getTime() ? page + 1 : 1;
    from = readTo;
  }
  const found = [...recent.values()];
  const edited = await editedOf(
    client,
    repository,
    found.map(({ nodeId }) => nodeId),
  );
  return { comments: found.flatMap(({ nodeId, ...comment }) => (edited.has(nodeId) ? [] : [comment])), readTo };
}

const editsSchema = z.object({
  nodes: z.array(z.object({ id: z.string(), lastEditedAt: z.string().nullable() }).nullable()),
});

/**
 * Which of these comments do not say any more what their author wrote, as far as can be told. The times of REST have whole
 * seconds, and whoever has write access can change another person's comment within the second in which it was written.
 */
async function editedOf(
  client: GitHubClient,
  repository: RepositoryName,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const unedited = new Set<string>();
  for (let at = 0; at < ids.length; at += PAGE_SIZE) {
    const some = ids.slice(at, at + PAGE_SIZE);
    const asked = `read whether comments of ${repository} were edited`;
    const { nodes } = await client.read(editsSchema, repository, asked, async (octokit) => ({
      data: await octokit.graphql<unknown>(EDITS_QUERY, { ids: some }),
    }));
    for (const node of nodes) if (node?.lastEditedAt === null) unedited.add(node.id);
  }
  return new Set(ids.filter((id) => !unedited.has(id)));
}

const EDITS_QUERY = `query ($ids: [ID!]!) {
  nodes(ids: $ids) {
    ... on IssueComment { id lastEditedAt }
  }
}`;
