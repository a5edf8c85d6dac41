import type { Probot } from "probot";
import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequestRef, User } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost, FileContent, ForeignFile } from "../../core/ports/code-host.js";
import { SERVICE } from "../../names.js";
import { createContentPace, type InTurn } from "../content-pace.js";
import {
  decodeAnswer,
  HostRefusal,
  type HostServer,
  idField,
  ifFound,
  isAside,
  keepAccount,
  loginField,
  oneLine,
  refusalMessage,
  refusalOf,
  repositoryAt,
  underPresentName,
} from "../host-answer.js";
import type { HostParts } from "../host-module.js";
import { createApprovals } from "./approval.js";
import { createChangeRequests, findRepository } from "./change-request.js";
import { createGitHubClient, type GitHubClient } from "./client.js";
import { createComments } from "./comments.js";
import { createCommitReports } from "./commit-reports.js";
import { askInstallations, createFindRepositories, findInstalled, nameOf } from "./installations.js";
import { createMerges } from "./merge.js";
import { GITHUB } from "./words.js";

interface GitHubConfig {
  readonly appId: number | string;
  /** PEM text. */
  readonly privateKey: string;
  /** Root of the REST API: `https://HOST/api/v3` for a self-hosted server. */
  readonly apiUrl?: string;
  /** Root of the web pages and of git over HTTPS. */
  readonly webUrl?: string;
  /** Other host names of the same server, for repository URLs. */
  readonly aliases: readonly string[];
  /** Logins of bots that an administrator lets give commands. */
  readonly allowedBots?: readonly string[];
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
  const { appId, privateKey, aliases, requestTimeoutMs = 30_000 } = config;
  const server: HostServer = { webUrl, aliases };
  const client = createGitHubClient({ appId, privateKey, apiUrl, requestTimeoutMs, clock, waits, log });
  const self = keepAccount(() => findSelf(client, apiUrl));
  const limited = isOnline(apiUrl) ? () => true : () => client.showsLimit();
  const pace = createContentPace({ ...parts, host: "hosta", windows: () => (limited() ? CONTENT_WINDOWS : []) });
  const inTurn: InTurn = async ({ repository }, write, send) =>
    pace.send(String(await client.installationOf(repository)), write, send);

  return {
    id: "hosta",
    probot: client.probot,
    self,
    async reach() {
      await readApp(client);
      return client.answeredAt();
    },
    async version() {
      await readApp(client);
      return client.serverVersion();
    },
    // An App's key does not expire.
    tokenExpires: () => Promise.resolve(undefined),
    scarceUntil: ({ repository }) => client.scarceUntil(repository),
    ...createChangeRequests(client, server, clock),
    ...createApprovals(client, self),
    isProgram: (user) => Promise.resolve(user.bot),
    mayCommand: async (change, user) => isAllowed(user, config) || hasPermission(client, change, user, WRITERS),
    mayRead: async (change, person) =>
      hasPermission(client, await withPresentName(client, change), person, [...WRITERS, "read"]),
    belongsToAny: (change, user, teams) => belongsToAnyTeam(client, change, user, teams),
    readFile: (file) => readFile(client, file, server),
    cloneSource: createCloneSource(client, { webUrl, clock }),
    ...createComments(client, self, inTurn),
    commitUrl: ({ webUrl }, commit) => `${webUrl.replace(/\/pull\/\d+$/, "")}/commit/${commit}`,
    installedOn: async () => (await findInstalled(client)).flatMap(({ owner }) => owner ?? []),
    repositories: createFindRepositories(client, log),
    webhookProblems: () => findWebhookProblems(client),
    statusPerChange: false,
    ...createMerges(client, clock, self, inTurn),
    ...createCommitReports(client, config, self, inTurn),
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

/** Whether this is GitHub's own service, with data residency or without, and not a self-hosted server. */
function isOnline(apiUrl: string): boolean {
  const { hostname } = new URL(apiUrl);
  return hostname === "api.github.com" || hostname.endsWith(".ghe.com");
}

const appSchema = z.object({ slug: z.string().min(1).max(255) });
/** The App's own credentials do not use an installation's rate limit. */
async function readApp(client: GitHubClient): Promise<z.output<typeof appSchema>> {
  const asked = "read the App";
  return decodeAnswer(appSchema, await client.asApp(asked, ({ rest }) => rest.apps.getAuthenticated()), GITHUB, asked);
}

const accountSchema = z.object({ id: idField, login: loginField });

/** The account that the App comments with, read by one of its installations or without credentials: its own are not accepted. */
async function findSelf(client: GitHubClient, apiUrl: string): Promise<User> {
  const asked = "read the App's own account";
  const username = `${(await readApp(client)).slug}[bot]`;
  const data =
    (await askInstallations(client, (id) =>
      client.asInstallation(id, asked, ({ rest }) => rest.users.getByUsername({ username })),
    )) ?? (await readAnonymously(client, `${apiUrl}/users/${encodeURIComponent(username)}`, asked));
  const { id, login } = decodeAnswer(accountSchema, data, GITHUB, asked);
  return { id, login, bot: true };
}

const deliveriesSchema = z.array(z.object({ status: z.string(), status_code: z.int(), delivered_at: z.string() }));

/** GitHub remembers three days: https://docs.github.com/rest/apps/webhooks#list-deliveries-for-an-app-webhook */
async function findWebhookProblems(client: GitHubClient): Promise<readonly string[]> {
  const asked = "list the deliveries of the App's webhook";
  const listed = await ifFound(client.asApp(asked, ({ rest }) => rest.apps.listWebhookDeliveries({ per_page: 1 })));
  const [newest] = decodeAnswer(deliveriesSchema, listed ?? [], GITHUB, asked);
  if (newest === undefined) {
    return [
      "GitHub has sent no webhook in the last three days: if anything happened there, set the address, the secret and Active in the App's settings as app.yml has them, or set github.poll",
    ];
  }
  const { status, status_code: code, delivered_at: at } = newest;
  if (code >= 200 && code < 300) return [];
  const cure =
    code === 401
      ? "github.webhook_secret has to be the secret in the App's settings"
      : "make the address in the App's settings reachable from GitHub, or set github.poll";
  return [`GitHub's newest webhook was not accepted (${oneLine(status, 100)}, ${oneLine(at, 40)}): ${cure}`];
}

/** A server in private mode refuses requests without credentials, which says nothing about the App's key. */
const NOT_ANONYMOUS =
  "GitHub answers nobody without credentials (401), and the App is installed nowhere, so svc cannot ask for the App's own account: " +
  "install the App on an organization or account.";

async function readAnonymously(client: GitHubClient, url: string, asked: string): Promise<unknown> {
  const response = await client.fetch(url, {
    headers: { accept: "application/vnd.github+json", "user-agent": SERVICE },
  });
  if (response.ok) return response.body;
  if (response.status === 401) throw new HostFailure("failed", NOT_ANONYMOUS);
  throw refusalOf(GITHUB, asked, {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    message: refusalMessage(await response.text()),
    changing: false,
    now: client.now(),
  });
}

/** GitHub does not tell which access an App has, so the administrator's list decides. */
function isAllowed({ bot, login }: User, { allowedBots = [] }: GitHubConfig): boolean {
  return bot && allowedBots.includes(login.toLowerCase());
}

const WRITERS = ["admin", "write"];

const permissionSchema = z.object({
  permission: z.string(),
  user: z.object({ id: idField, login: loginField }).nullish(),
});

/**
 * Custom roles and `maintain` are mapped to `write`, `triage` to `read`. On a public repository everybody has `read`, and
 * on a private one strangers have `none`: https://docs.github.com/rest/collaborators/collaborators. Apps have `none`, or are not found.
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

const membershipSchema = z.object({ state: z.string() });

/**
 * Whether the user is an active member of one of these teams or their child teams. GitHub compares names and ignores
 * case. A team that does not exist, or that the App may not see, has no members.
 * @throws {HostFailure} `forbidden` if the App lacks "Organization members: read"; `rejected` for an invalid team name.
 */
async function belongsToAnyTeam(
  client: GitHubClient,
  change: ChangeRequestRef,
  user: User,
  teams: readonly string[],
): Promise<boolean> {
  for (const team of teams) {
    if (await isMember(client, change, user, team)) return true;
  }
  return false;
}

async function isMember(client: GitHubClient, change: ChangeRequestRef, user: User, team: string): Promise<boolean> {
  const [, org, slug] = /^([A-Za-z0-9-]+)\/([A-Za-z0-9_-]+)$/.exec(team) ?? [];
  if (org === undefined || slug === undefined) {
    throw new HostFailure("rejected", `GitHub has no team of the name "${team}": write <organization>/<team-slug>.`);
  }
  const asked = `look for ${user.login} in the team ${org}/${slug}`;
  try {
    const { state } = await client.read(membershipSchema, change.repository, asked, (octokit) =>
      octokit.rest.teams.getMembershipForUserInOrg({ org, team_slug: slug, username: user.login }),
    );
    return state === "active";
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    if (error.status === 404) return false;
    if (error.reason !== "forbidden") throw error;
    throw new HostFailure(
      "forbidden",
      `GitHub does not allow svc to ${asked} (403): the App needs the permission "Organization members: read" (see app.yml), and its installation on ${org} has to accept it.`,
      { cause: error },
    );
  }
}

/** An installation token lives an hour. It is renewed earlier, so that a long fetch can finish with it. */
const TOKEN_KEPT_MS = 50 * 60_000;

const tokenSchema = z.object({ token: z.string().min(1) });

/** Makes and caches tokens that can only read the contents of one repository, whatever its name is. */
function createCloneSource(
  client: GitHubClient,
  { webUrl, clock }: { readonly webUrl: string; readonly clock: Clock },
): CodeHost["cloneSource"] {
  const kept = new Map<string, readonly [token: Promise<string>, installation: Promise<number>, until: number]>();

  async function tokenFor({ repository, repositoryId = "" }: ChangeRequestRef): Promise<string> {
    const now = clock.now().getTime();
    const key = `${repositoryId} ${repository}`;
    const [known, madeFor, until = 0] = kept.get(key) ?? [];
    if (known && until > now && (await madeFor) === (await client.installationOf(repository))) return known;
    const installation = client.installationOf(repository);
    const token = installation.then((id) => newToken(repository, id));
    kept.set(key, [token, installation, now + TOKEN_KEPT_MS]);
    token.catch(() => kept.delete(key));
    return token;
  }

  async function newToken(repository: RepositoryName, installation_id: number): Promise<string> {
    const asked = `make a token to read ${repository}`;
    const data = await client.asApp(asked, (octokit) =>
      octokit.rest.apps.createInstallationAccessToken({
        installation_id,
        repositories: [repository.slice(repository.indexOf("/") + 1)],
        permissions: { contents: "read" },
      }),
    );
    return decodeAnswer(tokenSchema, data, GITHUB, asked).token;
  }

  return async (change) => ({
    url: `${webUrl}/${change.repository}.git`,
    authorization: `Basic ${Buffer.from(`x-access-token:${await tokenFor(change)}`).toString("base64")}`,
    headRef: `refs/pull/${change.number}/head`,
  });
}

/** A folder and a submodule are other objects than a blob; a link is a blob with the path that it leads to. */
const FILES_QUERY = `query ($owner: String!, $name: String!, $standard: String!, $followed: String!, $aside: Boolean!) {
  repository(owner: $owner, name: $name) {
    standard: object(expression: $standard) { __typename ...content }
    followed: object(expression: $followed) @include(if: $aside) { __typename ...content }
  }
}
fragment content on Blob { text isTruncated }`;

const contentSchema = z
  .object({ text: z.string().nullish(), isTruncated: z.boolean().nullish() })
  .nullable()
  .transform((blob): FileContent => {
    if (blob === null) return { kind: "absent" };
    const { text } = blob;
    return typeof text === "string" && blob.isTruncated === false ? { kind: "text", text } : { kind: "unreadable" };
  });
const filesSchema = z.object({ standard: contentSchema, followed: contentSchema.optional() });

/** A file of a repository on which the App is installed. @throws {HostFailure} if it is not. */
async function readFile(
  client: GitHubClient,
  { repoURL, path, follows }: ForeignFile,
  server: HostServer,
): Promise<readonly FileContent[] | undefined> {
  const repository = repositoryAt(repoURL, server);
  // All of GitHub's repositories belong to an owner directly.
  if (repository?.split("/").length !== 2) return undefined;
  const asked = `read ${path} in ${repository}`;
  const { standard, followed } = await client.queryRepository(filesSchema, repository, asked, FILES_QUERY, {
    standard: `HEAD:${path}`,
    followed: `${follows}:${path}`,
    aside: isAside(follows),
  });
  return followed === undefined ? [standard] : [standard, followed];
}

/** The change request with the name that its repository has now. */
async function withPresentName(client: GitHubClient, change: ChangeRequestRef): Promise<ChangeRequestRef> {
  if (change.repositoryId === undefined) return change;
  const read = async ({ repository: name }: ChangeRequestRef) => {
    const { id: repositoryId, full_name: repository } = await findRepository(client, name);
    return { repositoryId, repository };
  };
  return { ...change, ...(await underPresentName(change, read, (id) => nameOf(client, id), GITHUB)) };
}
