import { createPrivateKey, randomUUID } from "node:crypto";
import type { OctokitOptions } from "@octokit/core/types";
import { createProbotAuth } from "octokit-auth-probot";
import type { Logger } from "pino";
import { Probot, ProbotOctokit } from "probot";
import * as z from "zod";
import type { RepositoryName } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { HostFailure, type HostFailureReason } from "../../core/model/errors.js";
import { parseJson } from "../../core/model/json.js";
import type { Answer } from "../../http/fetch-text.js";
import {
  budgetIn,
  type CallBudget,
  decodeAnswer,
  HostRefusal,
  oneLine,
  refusalOf,
  scarceUntil,
  timeOf,
} from "../host-answer.js";
import { createHostFetch, createPastLimit, type PastLimit, type HostFetch } from "../host-fetch.js";
import type { HostParts } from "../host-module.js";
import { GITHUB } from "./words.js";

interface GitHubClientOptions extends Omit<HostParts, "budget"> {
  readonly appId: number | string;
  readonly privateKey: string;
  /** Root of the REST API, without a final slash. */
  readonly apiUrl: string;
  readonly requestTimeoutMs: number;
}

interface GitHubAnswer {
  readonly data: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
}

type GitHubCall = (octokit: ProbotOctokit) => Promise<GitHubAnswer>;

/** One call about a repository; `at` goes into its parameters. */
type RepositoryCall = (octokit: ProbotOctokit, at: RepositoryParameters) => Promise<GitHubAnswer>;

interface RepositoryParameters {
  readonly owner: string;
  readonly repo: string;
  readonly request: { readonly signal: AbortSignal | undefined };
}

/** GitHub's API through a GitHub App. Calls throw `HostFailure`, or the signal's reason if it was aborted. */
export interface GitHubClient {
  /** The Probot app that receives the webhooks. */
  readonly probot: Probot;
  /** The fetch below Octokit, for requests without authentication. */
  readonly fetch: HostFetch;
  readonly pastLimit: PastLimit;
  now(): Date;
  /** The time of GitHub's last answer, by its own clock. */
  answeredAt(): Date | undefined;
  /** The version in GitHub's last answer that has one; undefined for GitHub's own service. */
  serverVersion(): string | undefined;
  /** Whether an answer of the last hour named a rate limit: self-hosted servers have none by default. */
  showsLimit(): boolean;
  /** Until when the calls of the REST API are scarce for the installation on this repository, as its last answer said. */
  scarceUntil(repository: RepositoryName): Date | undefined;
  /** Calls as the App itself. @param asked Completes "when asked to" in error messages. */
  asApp(asked: string, call: GitHubCall): Promise<unknown>;
  asInstallation(id: number, asked: string, call: GitHubCall, signal?: AbortSignal): Promise<unknown>;
  /** Id of the App's installation on this repository, requested once per repository. */
  installationOf(repository: RepositoryName): Promise<number>;
  /** Calls as the App's installation on this repository. */
  inRepository(repository: RepositoryName, asked: string, call: RepositoryCall, signal?: AbortSignal): Promise<unknown>;
  /** `inRepository` for a call that changes nothing. @returns What the schema makes of the answer. */
  read<Schema extends z.ZodType>(
    schema: Schema,
    repository: RepositoryName,
    asked: string,
    call: RepositoryCall,
    signal?: AbortSignal,
  ): Promise<z.output<Schema>>;
  /** A GraphQL query with the variables `$owner`, `$name` and those given. @returns `repository` of its answer. */
  queryRepository<Schema extends z.ZodType>(
    schema: Schema,
    repository: RepositoryName,
    asked: string,
    query: string,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<z.output<Schema>>;
  /** A GraphQL query with `$owner`, `$name`, `$number` and those given. @returns `repository.pullRequest` of its answer, by the schema. */
  queryPullRequest<Schema extends z.ZodType>(
    schema: Schema,
    change: ChangeRequestRef,
    asked: string,
    query: string,
    variables?: Readonly<Record<string, unknown>>,
  ): Promise<z.output<Schema>>;
}

const LIMIT_SHOWN_FOR_MS = 60 * 60_000;

/**
 * Without Octokit's throttling, which puts seconds between writes, and its retries, which repeat failed writes: our fetch
 * repeats reads only. Probot overrides these options unless they are given as a function.
 */
const QuietOctokit = ProbotOctokit.defaults((options: OctokitOptions) => ({
  ...options,
  throttle: { enabled: false },
  retry: { enabled: false },
  authStrategy: appAuth,
}));

/** Probot makes a client for each event, which costs more than to translate the event. No handler of ours uses it. */
const EVENT_CLIENT = new ProbotOctokit({ throttle: { enabled: false } });

/** Probot's own authentication, except that all events share one client without access. */
function appAuth(options: Parameters<typeof createProbotAuth>[0]): ReturnType<typeof createProbotAuth> {
  const auth = createProbotAuth(options);
  return Object.assign(
    (request: Parameters<typeof auth>[0]) =>
      request.type === "event-octokit" ? Promise.resolve(EVENT_CLIENT) : auth(request),
    { hook: auth.hook },
  );
}

export function createGitHubClient(options: GitHubClientOptions): GitHubClient {
  const { log } = options;
  let answeredAt: Date | undefined;
  let serverVersion: string | undefined;
  let limitShownAt = Number.NEGATIVE_INFINITY;
  const waits = (until: Date) => options.waits.begin({ host: "hosta", account: undefined, reason: "asked", until });
  const hostFetch = createHostFetch({
    words: GITHUB,
    // https://docs.github.com/rest/about-the-rest-api/api-versions
    headers: { "x-github-api-version": "2022-11-28" },
    origin: new URL(options.apiUrl).origin,
    clock: options.clock,
    requestTimeoutMs: options.requestTimeoutMs,
    isRead,
    isChecked: (method, { pathname }, body = "") =>
      /\/pulls\/\d+\/(?:merge|update-branch)$/.test(pathname) ||
      (method === "DELETE" && pathname.includes("/git/refs/heads")) ||
      /^\{"query":"[^"]*\benqueuePullRequest\(/.test(body),
    followsOwnRedirects: true,
    statusOf,
    waits,
    onAnswer: (headers) => {
      answeredAt = timeOf(headers);
      // A proxy in front of a server may answer without it.
      serverVersion = /\d+\.\d+[\d.]*/.exec(headers.get("x-github-enterprise-version") ?? "")?.[0] ?? serverVersion;
      if (headers.has("x-ratelimit-limit")) limitShownAt = options.clock.now().getTime();
    },
  });
  const probot = new Probot({
    appId: options.appId,
    privateKey: options.privateKey,
    // Unused, since our own route verifies deliveries. Left out, it would be a well-known word.
    secret: randomUUID(),
    baseUrl: options.apiUrl,
    log: quietLog(log),
    Octokit: QuietOctokit,
    request: { fetch: hostFetch, parseSuccessResponseBody: false },
  });
  const installations = new Map<RepositoryName, number>();
  const octokits = new Map<number, ProbotOctokit>();
  const budgets = new Map<number, CallBudget>();

  async function call(
    octokit: ProbotOctokit,
    asked: string,
    request: GitHubCall,
    { signal, installation }: { readonly signal?: AbortSignal | undefined; readonly installation?: number } = {},
  ) {
    try {
      const { data, headers } = await request(octokit);
      noteBudget(installation, headers);
      return data;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      noteBudget(installation, (error as { readonly response?: Partial<GitHubAnswer> }).response?.headers);
      if (installation !== undefined && endsInstallation(error)) forget(installation);
      throw githubFailure(error, asked, options.clock.now());
    }
  }

  function noteBudget(installation: number | undefined, headers: GitHubAnswer["headers"] = {}): void {
    const budget = budgetIn(headers, "x-ratelimit");
    if (installation !== undefined && budget !== undefined) budgets.set(installation, budget);
  }

  /** An App that was uninstalled and installed again has a new installation id. */
  function forget(installation: number): void {
    octokits.delete(installation);
    for (const [repository, id] of installations) if (id === installation) installations.delete(repository);
  }

  let isUsable = false;

  async function asApp(asked: string, request: GitHubCall, signal?: AbortSignal): Promise<unknown> {
    if (!isUsable) refuseUnusableKey(options.privateKey);
    isUsable = true;
    return call(await probot.auth(), asked, request, { signal });
  }

  async function asInstallation(id: number, asked: string, request: GitHubCall, signal?: AbortSignal) {
    // Making one costs as much as a call.
    const octokit = octokits.get(id) ?? (await probot.auth(id));
    octokits.set(id, octokit);
    return call(octokit, asked, request, { signal, installation: id });
  }

  async function installationOf(repository: RepositoryName, signal?: AbortSignal): Promise<number> {
    const known = installations.get(repository);
    if (known !== undefined) return known;
    const asked = `find the App's installation on ${repository}`;
    const data = await asApp(
      asked,
      (octokit) => octokit.rest.apps.getRepoInstallation({ ...parametersOf(repository, signal) }),
      signal,
    );
    const { id } = decodeAnswer(z.object({ id: z.int().positive() }), data, GITHUB, asked);
    installations.set(repository, id);
    return id;
  }

  async function inRepository(
    repository: RepositoryName,
    asked: string,
    request: RepositoryCall,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const id = await installationOf(repository, signal);
    return asInstallation(id, asked, (octokit) => request(octokit, parametersOf(repository, signal)), signal);
  }

  const read: GitHubClient["read"] = async (schema, repository, asked, request, signal) =>
    decodeAnswer(schema, await inRepository(repository, asked, request, signal), GITHUB, asked);

  const queryRepository: GitHubClient["queryRepository"] = async (schema, repository, asked, query, variables) => {
    const answer = await read(repositorySchema, repository, asked, async (octokit, { owner, repo }) => ({
      data: await octokit.graphql<unknown>(query, { owner, name: repo, ...variables }),
    }));
    return decodeAnswer(schema, answer.repository, GITHUB, asked);
  };

  return {
    probot,
    fetch: hostFetch,
    pastLimit: createPastLimit({ clock: options.clock, waits }),
    now: () => options.clock.now(),
    answeredAt: () => answeredAt,
    serverVersion: () => serverVersion,
    showsLimit: () => options.clock.now().getTime() - limitShownAt < LIMIT_SHOWN_FOR_MS,
    asApp,
    asInstallation,
    installationOf: (repository) => installationOf(repository),
    scarceUntil: (repository) => scarceUntil(budgets.get(installations.get(repository) ?? 0), options.clock.now()),
    inRepository,
    read,
    queryRepository,
    async queryPullRequest(schema, { repository, number }, asked, query, variables) {
      const answer = await queryRepository(pullRequestSchema, repository, asked, query, { number, ...variables });
      return decodeAnswer(schema, answer.pullRequest, GITHUB, asked);
    },
  };
}

const repositorySchema = z.object({ repository: z.unknown() });
const pullRequestSchema = z.object({ pullRequest: z.unknown() });

/** Keeps Probot off the debug level, at which it logs whole events and request bodies, comments included. */
function quietLog(log: Logger): Logger {
  return log.child({}, { level: log.isLevelEnabled("debug") ? "info" : log.level });
}

function parametersOf(repository: RepositoryName, signal: AbortSignal | undefined): RepositoryParameters {
  const [owner = "", repo = ""] = repository.split("/");
  return { owner, repo, request: { signal } };
}

function isRead(method: string, url: URL, body: string | undefined): boolean {
  if (method === "GET" || method === "HEAD") return true;
  // Minting a token changes nothing.
  if (url.pathname.endsWith("/access_tokens")) return true;
  return url.pathname.endsWith("/graphql") && body !== undefined && /^\{"query":"\s*query\b/.test(body);
}

function refuseUnusableKey(privateKey: string): void {
  try {
    createPrivateKey(privateKey);
  } catch (error) {
    throw new HostFailure(
      "unauthenticated",
      "github.private_key is not a usable private key: give the PEM file that GitHub made for the App, whole and without a passphrase.",
      { cause: error },
    );
  }
}

/**
 * GitHub's secondary limits come as 403 without any header that names a limit, that of new content as 422 as well, and GraphQL's
 * limits and failures as 200 with errors. Only the message tells them from a missing permission or a mistake:
 * docs/adr/0020-host-messages.md.
 * https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
 */
function statusOf({ status, text }: Pick<Answer, "status" | "text">): number {
  if (![200, 403, 422].includes(status) || !TELLING_WORDS.test(text)) return status;
  const { message = "", errors = [] } = refusalSchema.safeParse(parseJson(text)).data ?? {};
  const isLimited = errors.some(({ type, code, message: said }) => {
    return code === "abuse" || PRIMARY_LIMIT.test(type) || SECONDARY_LIMIT.test(said);
  });
  if (isLimited || (status === 403 && SECONDARY_LIMIT.test(message))) return 429;
  return status === 200 && errors.some((error) => FAILURE.test(error.message)) ? 500 : status;
}

/**
 * As in Octokit's throttling plugin; older GitHub Enterprise Servers speak of abuse. What creates content is refused with the third
 * words: https://github.com/cli/cli/issues/4801#issuecomment-1029207971. A burst may be refused with those of the hourly limit.
 * The code `abuse` comes without words: https://github.com/octokit/plugin-throttling.js/issues/775
 */
const SECONDARY_LIMIT =
  /\bsecondary rate\b|\babuse detection\b|\bsubmitted too quickly\b|\brate limit (?:already )?exceeded\b/i;
/** GitHub documents `RATE_LIMITED` and sends `RATE_LIMIT` as well: https://github.com/octokit/plugin-throttling.js/pull/848 */
const PRIMARY_LIMIT = /^RATE_LIMIT(?:ED)?$/;
/** As in Octokit's retry plugin: https://github.com/octokit/plugin-retry.js/issues/395 */
const FAILURE = /^Something went wrong while executing your query\b/;
/** Saves the parsing of other answers. */
const TELLING_WORDS = /RATE.LIMIT|secondary rate|abuse detection|"abuse"|submitted too quickly|Something went wrong/i;
const wordField = z.string().catch("");
/** GraphQL gives an error a type, REST a code, and either may have no message; some errors of REST are a message alone. */
const refusalSchema = z.object({
  message: wordField,
  errors: z
    .array(
      z.preprocess(
        (error) => (typeof error === "string" ? { message: error } : error),
        z.object({ type: wordField, code: wordField, message: wordField }),
      ),
    )
    .catch([]),
});

/** Octokit's `RequestError`. */
const requestErrorSchema = z.object({
  status: z.int(),
  request: z.object({ method: z.string(), url: z.string() }).optional(),
  response: z.object({ headers: z.record(z.string(), z.unknown()), data: z.unknown() }).optional(),
});

/** Octokit's `GraphqlResponseError`: HTTP 200 with errors. */
const graphqlErrorSchema = z.object({
  errors: z.array(z.object({ type: z.string().nullish().catch(undefined), message: z.string().catch("") })).min(1),
});

/** Converts what an Octokit call threw. @param asked Completes "when asked to". */
function githubFailure(error: unknown, asked: string, now: Date): HostFailure {
  // Octokit wraps what its fetch throws in an error of its own with status 500.
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof HostFailure) return inner;
  }
  const { status, response, request } = requestErrorSchema.safeParse(error).data ?? {};
  // Octokit takes the answer away from a 404 about a team on a self-hosted server, and speaks of an unsupported endpoint.
  if (status !== undefined && (response !== undefined || status === 404)) {
    const { headers = {}, data } = response ?? {};
    const { message: said = "", errors = [] } = refusalSchema.safeParse(data).data ?? {};
    const message = [said, ...errors.map((one) => one.message)].filter((text) => text !== "").join(": ");
    // GraphQL queries and new tokens change nothing although they are POSTs; hiding a comment twice does no harm.
    const changing = request?.method !== "GET" && !/\/(?:graphql|access_tokens)$/.test(request?.url ?? "");
    return refusalOf(GITHUB, asked, { status, headers, message, changing, now });
  }
  const graphql = graphqlErrorSchema.safeParse(error);
  if (graphql.success) return graphqlFailure(graphql.data.errors, asked);
  return new HostFailure("failed", `GitHub could not be asked to ${asked}; the log has the cause.`, { cause: error });
}

/** Whether an Octokit call failed because its installation is gone: its token is refused, or it gets none. */
function endsInstallation(error: unknown): boolean {
  const refused = requestErrorSchema.safeParse(error).data;
  if (refused === undefined) return false;
  return refused.status === 401 || (refused.status === 404 && refused.request?.url.endsWith("/access_tokens") === true);
}

const GRAPHQL_REASONS: ReadonlyMap<string, HostFailureReason> = new Map([
  ["NOT_FOUND", "not-found"],
  ["FORBIDDEN", "forbidden"],
]);

function graphqlFailure(errors: z.output<typeof graphqlErrorSchema>["errors"], asked: string): HostFailure {
  const reasons = errors.map(({ type }) => GRAPHQL_REASONS.get(type ?? "")).filter((reason) => reason !== undefined);
  const reason = reasons[0] ?? "failed";
  const said = oneLine(errors[0]?.message ?? "", 300);
  const cure =
    reason === "forbidden" ? `: ${GITHUB.permissionCure}` : reason === "not-found" ? `: ${GITHUB.visibilityCure}` : ".";
  return new HostRefusal(200, reason, `GitHub could not ${asked} ("${said}")${cure}`, said);
}
