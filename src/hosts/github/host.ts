import type { Probot } from "probot";
import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequest, ChangeRequestRef, User } from "../../core/model/change-request.js";
import type {
  CodeHost,
  CommitStatus,
  RecentActivity,
  RecentComment,
  ShownDeployment,
} from "../../core/ports/code-host.js";
import { STATUS_NAME } from "../../names.js";
import { type ContentWrite, createContentPace, DEPLOYMENT_WRITE, MERGE_WRITE } from "../content-pace.js";
import { environmentName } from "../environment-name.js";
import type { HostParts } from "../host-module.js";
import { ifFound, oneLine } from "../host-refusal.js";
import { keepAccount } from "../own-account.js";
import { commentField, idField, loginField, numberField, revisionField, timeField } from "../payload-fields.js";
import { getAuthorship, getReviews } from "./approval.js";
import { getChangeRequest, getMergeability, getState } from "./change-request.js";
import { createGitHubClient, type GitHubClient } from "./client.js";
import { editComment, listCommentsOf, minimise, postComment, react } from "./comments.js";
import {
  createDeployment,
  type Environment,
  findDeployment,
  missingForDeployments,
  retireDeployments,
  setDeploymentState,
} from "./deployments.js";
import { merge } from "./merge.js";
import { belongsToAnyTeam, createCloneSource, findSelf, reachApp } from "./self.js";
import { isBot } from "./translate-event.js";
import { GITHUB } from "./words.js";

export interface GitHubConfig {
  readonly appId: number | string;
  /** PEM text. */
  readonly privateKey: string;
  /** Root of the REST API: `https://HOST/api/v3` for a self-hosted server. */
  readonly apiUrl?: string;
  /** Root of the web pages and of git over HTTPS. */
  readonly webUrl?: string;
  /** Other host names of the same server, for repository URLs. */
  readonly aliases: readonly string[];
  /** Deadline of one request in milliseconds; 30 seconds when absent. */
  readonly requestTimeoutMs?: number;
  readonly deployments?: boolean;
  /** The template of `environmentName`. */
  readonly environmentName?: string;
}

/** GitHub, through a GitHub App; `probot` receives its webhooks. Sends no request before the first call. */
export function createGitHubHost(config: GitHubConfig, parts: HostParts): CodeHost & { readonly probot: Probot } {
  const apiUrl = (config.apiUrl ?? "https://api.github.com").replace(/\/+$/, "");
  const webUrl = (
    config.webUrl ?? (config.apiUrl === undefined ? "https://github.com" : new URL(apiUrl).origin)
  ).replace(/\/+$/, "");
  const { clock, waits, log } = parts;
  const { appId, privateKey, requestTimeoutMs = 30_000 } = config;
  const client = createGitHubClient({ appId, privateKey, apiUrl, requestTimeoutMs, clock, waits, log });
  const ownAccount = keepAccount(() => findSelf(client, apiUrl));
  const limited = isOnline(apiUrl) ? () => true : () => client.showsLimit();
  const pace = createContentPace({ ...parts, host: "hosta", windows: () => (limited() ? CONTENT_WINDOWS : []) });
  const inTurn = async <T>({ repository }: ChangeRequestRef, write: ContentWrite, send: () => Promise<T>) =>
    pace.send(String(await client.installationOf(repository)), write, send);
  const environmentOf = async (shown: ShownDeployment): Promise<Environment> => ({
    name: environmentName(config.environmentName ?? "{application}", shown),
    self: (await ownAccount()).id,
  });

  return {
    id: "hosta",
    probot: client.probot,
    self: ownAccount,
    reach: () => reachApp(client),
    getChangeRequest: (change, signal) => getChangeRequest(client, change, config.aliases, signal),
    state: (change) => getState(client, change),
    recentActivity: (repository, since) => recentActivity(client, repository, since),
    mergeability: (change, signal) => getMergeability(client, change, clock, signal),
    reviews: (change) => getReviews(client, change),
    authorship: (change) => getAuthorship(client, change),
    mayCommand: (change, user) => hasPermission(client, change, user, ["admin", "write"]),
    mayRead: (change, person) => hasPermission(client, change, person, ["admin", "write", "read"]),
    cloneSource: createCloneSource(client, { webUrl, clock }),
    listOwnComments: async (change) => listCommentsOf(client, change, (await ownAccount()).id),
    postComment: (change, body, posting) => inTurn(change, posting, () => postComment(client, change, body)),
    editComment: (change, commentId, body) => editComment(client, change, commentId, body),
    commentUrl: (change, commentId) => `${change.webUrl}#issuecomment-${commentId}`,
    commitUrl: ({ webUrl }, commit) => `${webUrl.replace(/\/pull\/\d+$/, "")}/commit/${commit}`,
    react: (change, commentId, reaction) => react(client, change, commentId, reaction),
    minimise: (change, commentId) => minimise(client, change, commentId),
    setStatus: (change, status) => setStatus(client, change, status),
    belongsToAny: (change, user, teams) => belongsToAnyTeam(client, change, user, teams),
    merge: (change, intent) => inTurn(change, MERGE_WRITE, () => merge(client, change, intent, clock)),
    showsDeployments: config.deployments === true,
    async showDeployment(change, shown, state, known) {
      const { command, links } = shown;
      const environment = await environmentOf(shown);
      // The target branch has no Deployment of its own: what it takes the place of becomes inactive.
      const id =
        command === "rollback"
          ? undefined
          : (known ??
            (await inTurn(change, DEPLOYMENT_WRITE, () => createDeployment(client, change, shown, environment))));
      if (id !== undefined) await setDeploymentState(client, change, id, state, links);
      if (state === "succeeded") await retireDeployments(client, change, environment, { current: id, links });
      return id;
    },
    shownDeployment: async (change, shown) =>
      shown.command === "rollback" ? undefined : findDeployment(client, change, shown, await environmentOf(shown)),
    missingPermissions: async () => (config.deployments === true ? missingForDeployments(client) : []),
  };
}

/**
 * Requests that create content, per installation:
 * https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits
 */
const CONTENT_WINDOWS = [
  { windowMs: 60_000, max: 80 },
  { windowMs: 60 * 60_000, max: 500 },
];

/** GitHub's own service, with data residency or without, rather than a self-hosted server. */
function isOnline(apiUrl: string): boolean {
  const { hostname } = new URL(apiUrl);
  return hostname === "api.github.com" || hostname.endsWith(".ghe.com");
}

const permissionSchema = z.object({
  permission: z.string(),
  user: z.object({ id: idField, login: loginField }).nullish(),
});

/**
 * Custom roles and `maintain` are mapped to `write`, `triage` to `read`. On a public repository everybody has `read`, and
 * on a private one strangers have `none`: https://docs.github.com/rest/collaborators/collaborators
 */
async function hasPermission(
  client: GitHubClient,
  change: ChangeRequestRef,
  user: Pick<User, "id" | "login">,
  permissions: readonly string[],
): Promise<boolean> {
  const asked = `read ${user.login}'s permission on ${change.repository}`;
  const answer = await ifFound(
    client.read(permissionSchema, change.repository, asked, (octokit, at) =>
      octokit.rest.repos.getCollaboratorPermissionLevel({ ...at, username: user.login }),
    ),
  );
  // A login can change hands; the id cannot.
  return answer !== undefined && permissions.includes(answer.permission) && answer.user?.id === user.id;
}

/** Set in the base repository on the head commit, which works for forks as well. */
async function setStatus(client: GitHubClient, change: ChangeRequest, status: CommitStatus): Promise<boolean> {
  const asked = `set the commit status of ${change.repository}#${change.number}`;
  await client.inRepository(change.repository, asked, (octokit, at) =>
    octokit.rest.repos.createCommitStatus({
      ...at,
      sha: change.headRevision,
      context: STATUS_NAME,
      state: status.state,
      description: oneLine(status.description, GITHUB.maxStatusDescription - 1),
      ...(status.url === undefined ? {} : { target_url: status.url }),
    }),
  );
  return true;
}

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
async function recentActivity(client: GitHubClient, repository: RepositoryName, since: Date): Promise<RecentActivity> {
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
