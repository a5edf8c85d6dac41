import { AccessLevel, Metadata, PersonalAccessTokens, ProjectHooks, Projects, Users } from "@gitbeaker/rest";
import { LRUCache } from "lru-cache";
import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { User } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import type { CodeHost, FileContent, ForeignFile } from "../../core/ports/code-host.js";
import type { Log } from "../../core/ports/log.js";
import { WEBHOOK_PATHS } from "../../names.js";
import { createContentPace } from "../content-pace.js";
import {
  type HostServer,
  idField,
  ifFound,
  isAside,
  keepAccount,
  loginField,
  repositoryAt,
  repositoryField,
} from "../host-answer.js";
import type { HostParts } from "../host-module.js";
import { belongsToAnyGroup, type IsProgram, mayRead, mayWrite } from "./access.js";
import { getReviews } from "./approval.js";
import { createChangeRequests, withPresentName } from "./change-request.js";
import { createGitLabClient, type GitLabClient } from "./client.js";
import { createCommitReports } from "./commit-reports.js";
import { findTrainProblems } from "./merge-train.js";
import { createMerges } from "./merge.js";
import { createNotes } from "./notes.js";
import { isBot } from "./webhook.js";
import { GITLAB } from "./words.js";

interface GitLabConfig {
  /** Root of the instance, with its path prefix if it has one. */
  readonly url: string;
  /** Access token of a project, a group or a dedicated account, with the scope `api`. */
  readonly token: string;
  /** Other host names of the same server, for repository URLs. */
  readonly aliases: readonly string[];
  /** Deadline of one request in milliseconds; 30 seconds when absent. */
  readonly requestTimeoutMs?: number;
  readonly environments?: boolean;
  /** The template of `environmentName`. */
  readonly environmentName?: string;
}

type GitLabParts = Pick<HostParts, "clock" | "budget" | "waits"> & { readonly log: Log };

/** GitLab, through an access token. Sends no request before the first call. */
export function createGitLabHost(config: GitLabConfig, parts: GitLabParts): CodeHost {
  const { clock, waits, log } = parts;
  const url = config.url.replace(/\/+$/, "");
  const server: HostServer = { webUrl: url, aliases: config.aliases };
  const { token, requestTimeoutMs = 30_000 } = config;
  const client = createGitLabClient({ url, token, requestTimeoutMs, clock, waits });
  const self = keepAccount(() => findSelf(client, log));
  const isProgram = createProgramCheck(client, clock);
  const windows = [new URL(url).hostname === "gitlab.com" ? NOTES_ON_GITLAB_COM : NOTES_BY_DEFAULT];
  const pace = createContentPace({ ...parts, host: "hostb", windows: () => windows });

  return {
    id: "hostb",
    self,
    reach: async () => {
      await findSelf(client, log);
      return client.answeredAt();
    },
    version: () => findVersion(client),
    tokenExpires: () => findExpiry(client),
    scarceUntil: () => client.scarceUntil(),
    ...createChangeRequests(client, server, clock),
    reviews: async (change) => getReviews(client, change, { self: (await self()).id, isProgram, clock }),
    isProgram,
    mayCommand: (change, user) => mayWrite(client, change, user),
    mayRead: async (change, person) => {
      const present = await withPresentName(client, change);
      return present !== undefined && mayRead(client, present, person);
    },
    readFile: (file) => readFile(client, file, server),
    cloneSource: (change) =>
      Promise.resolve({
        url: `${url}/${change.repository}.git`,
        // With an access token, GitLab accepts any user name.
        authorization: `Basic ${Buffer.from(`oauth2:${token}`).toString("base64")}`,
        headRef: `refs/merge-requests/${change.number}/head`,
      }),
    ...createNotes(client, self, (_, write, send) => pace.send("token", write, send)),
    commitUrl: ({ webUrl }, commit) => `${webUrl.replace(/\/merge_requests\/\d+$/, "")}/commit/${commit}`,
    installedOn: () => Promise.resolve([]),
    repositories: () => findProjects(client),
    webhookProblems: (serves) => findWebhookProblems(client, serves),
    queueProblems: (repositories) => findTrainProblems(client, repositories),
    statusPerChange: true,
    // A merge train asks nobody: its pipelines run for the merge requests themselves.
    mergeGroup: () => Promise.resolve(undefined),
    belongsToAny: (_change, user, groups) => belongsToAnyGroup(client, user, groups),
    ...createMerges(client, clock, self),
    ...createCommitReports(client, config, self, log),
  };
}

/** New notes per account; other writes have no limit of their own: https://docs.gitlab.com/user/gitlab_com/rate_limits/ */
const NOTES_ON_GITLAB_COM = { windowMs: 60_000, max: 60 };
/** https://docs.gitlab.com/administration/settings/rate_limit_on_notes_creation/ */
const NOTES_BY_DEFAULT = { windowMs: 60_000, max: 300 };

const userSchema = z.object({ bot: z.boolean() });
const accountSchema = z.object({ id: idField, username: loginField, bot: z.boolean().nullish() });

/** The account counts as a bot even if GitLab shows it as a person, because svc writes with it. */
async function findSelf(client: GitLabClient, log: Log): Promise<User> {
  const asked = "read the token's own account";
  const { id, username, bot } = await client.read(accountSchema, asked, (gitlab) =>
    new Users(gitlab).showCurrentUser(),
  );
  if (bot !== true) {
    log.debug({ account: username }, "the GitLab token belongs to an account that looks like a person's");
  }
  return { id, login: username, bot: true };
}

const metadataSchema = z.object({ version: z.string() });

/** GitLab before 15.2 has no such endpoint: https://docs.gitlab.com/api/metadata/ */
async function findVersion(client: GitLabClient): Promise<string> {
  const answer = client.read(metadataSchema, "read its version", (gitlab) => new Metadata(gitlab).show());
  return (await ifFound(answer))?.version ?? "15.1 or older";
}

const MOST_PAGES = 10;
const projectsSchema = z.array(z.object({ path_with_namespace: repositoryField }));

/** Projects in which the token's account has the role that svc needs. */
async function findProjects(client: GitLabClient): Promise<readonly RepositoryName[]> {
  const names: RepositoryName[] = [];
  const wanted = {
    membership: true,
    minAccessLevel: AccessLevel.DEVELOPER,
    archived: false,
    simple: true,
    perPage: 100,
  } as const;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const listed = await client.read(projectsSchema, "list the projects of the token's account", (gitlab) =>
      new Projects(gitlab).all<false, "offset">({ ...wanted, page }),
    );
    names.push(...listed.map((one) => one.path_with_namespace));
    if (listed.length < 100) break;
  }
  return names;
}

const MOST_ASKED = 20;
const hooksSchema = z.array(z.object({ url: z.string(), alert_status: z.string().nullish() }));

/** Only maintainers see webhooks: https://docs.gitlab.com/api/project_webhooks/ */
async function findWebhookProblems(
  client: GitLabClient,
  serves: (repository: RepositoryName) => boolean,
): Promise<readonly string[]> {
  const served = (await findProjects(client)).filter(serves).slice(0, MOST_ASKED);
  const problems = served.map(async (path) => {
    const asked = `list the webhooks of ${path}`;
    try {
      const listed = await client.read(hooksSchema, asked, (gitlab) =>
        new ProjectHooks(gitlab).all(path, { perPage: 100 }),
      );
      return problemOfHooks(path, listed);
    } catch (error) {
      if (!(error instanceof HostFailure) || error.reason !== "forbidden") throw error;
      return [`GitLab shows the webhooks of ${path} to maintainers alone: look there for the recent events of svc's`];
    }
  });
  return (await Promise.all(problems)).flat();
}

function problemOfHooks(path: RepositoryName, listed: z.output<typeof hooksSchema>): readonly string[] {
  const own = listed.filter(({ url }) => url.endsWith(WEBHOOK_PATHS.hostb));
  if (own.length === 0) {
    return [
      `${path} has no webhook to svc: unless its group has one, create it with svc setup gitlab, or set gitlab.poll`,
    ];
  }
  if (own.some(({ alert_status: state }) => state !== "disabled" && state !== "temporarily_disabled")) return [];
  return [
    `GitLab has disabled the webhook of ${path} after failures: make its address reachable, and send a test event from its settings, or set gitlab.poll`,
  ];
}

const tokenSchema = z.object({ expires_at: z.iso.date().nullish() });

/** Expired at midnight UTC of that day: https://docs.gitlab.com/user/profile/personal_access_tokens/#access-token-expiration */
async function findExpiry(client: GitLabClient): Promise<Date | undefined> {
  const asked = "read when the token expires";
  const token = await ifFound(client.read(tokenSchema, asked, (gitlab) => new PersonalAccessTokens(gitlab).show()));
  return token?.expires_at ? new Date(`${token.expires_at}T00:00:00Z`) : undefined;
}

const KNOWN_FOR_MS = 24 * 60 * 60_000;
const MOST_KNOWN = 10_000;

/**
 * Asks GitLab at most once a day for each account: nothing else marks a service account with a name of its own.
 * https://docs.gitlab.com/api/users/#retrieve-a-user
 */
function createProgramCheck(client: GitLabClient, clock: Clock): IsProgram {
  const known = new LRUCache<string, boolean>({
    maxSize: MOST_KNOWN,
    sizeCalculation: () => 1,
    ttl: KNOWN_FOR_MS,
    ttlResolution: 0,
    perf: { now: () => clock.now().getTime() },
  });
  return async ({ id, login }) => {
    if (isBot(login)) return true;
    const before = known.get(id);
    if (before !== undefined) return before;
    const asked = `read whether the account ${login} is a program's`;
    const { bot } = await client.read(userSchema, asked, (gitlab) => new Users(gitlab).show(Number(id)));
    known.set(id, bot);
    return bot;
  };
}

/**
 * Without `ref` it is the default branch. REST answers 404 for a project that is hidden and for a file that does not exist.
 * https://docs.gitlab.com/api/graphql/reference/#repositoryblobs
 */
const FILES_QUERY = `query ($project: ID!, $paths: [String!]!, $follows: String, $aside: Boolean!) {
  project(fullPath: $project) {
    repository {
      standard: blobs(paths: $paths) { nodes { mode rawTextBlob } }
      followed: blobs(paths: $paths, ref: $follows) @include(if: $aside) { nodes { mode rawTextBlob } }
    }
  }
}`;

/** Links and what has no text are not files that can be read. */
const contentSchema = z
  .object({ nodes: z.array(z.object({ mode: z.string().nullish(), rawTextBlob: z.string().nullish() })).max(1) })
  .transform(({ nodes: [blob] }): FileContent => {
    if (blob === undefined) return { kind: "absent" };
    const { mode, rawTextBlob: text } = blob;
    const isRegular = mode === "100644" || mode === "100755";
    return isRegular && typeof text === "string" ? { kind: "text", text } : { kind: "unreadable" };
  });
/** Null for whoever may see the project, and not its files. */
const filesSchema = z.object({
  project: z
    .object({
      repository: z.object({ standard: contentSchema.nullish(), followed: contentSchema.nullish() }).nullish(),
    })
    .nullish(),
});

/** A file of a project that the token's account may read. @throws {HostFailure} if it may not. */
async function readFile(
  client: GitLabClient,
  { repoURL, path, follows }: ForeignFile,
  server: HostServer,
): Promise<readonly FileContent[] | undefined> {
  const repository = repositoryAt(repoURL, server);
  if (repository === undefined) return undefined;
  const asked = `read ${path} in ${repository}`;
  const variables = { project: repository, paths: [path], follows, aside: isAside(follows) };
  const { project } = await client.query(filesSchema, asked, FILES_QUERY, variables);
  const { standard, followed } = project?.repository ?? {};
  if (!standard || (variables.aside && !followed)) throw hidden(asked);
  return followed ? [standard, followed] : [standard];
}

function hidden(asked: string): HostFailure {
  return new HostFailure("not-found", `GitLab could not ${asked}: ${GITLAB.visibilityCure}`);
}
