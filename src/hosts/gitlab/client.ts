import { createRequesterFn } from "@gitbeaker/requester-utils";
import type { MergeRequests } from "@gitbeaker/rest";
import * as z from "zod";
import { HostFailure } from "../../core/model/errors.js";
import type { Clock } from "../../core/ports/clock.js";
import {
  budgetIn,
  type CallBudget,
  decodeAnswer,
  type FailureWords,
  oneLine,
  refusalMessage,
  refusalOf,
  scarceUntil,
  timeOf,
} from "../host-answer.js";
import { createHostFetch, createPastLimit, type PastLimit } from "../host-fetch.js";
import type { LimitWaits } from "../limit-waits.js";
import { GITLAB, OLDEST_GITLAB } from "./words.js";

interface GitLabClientOptions {
  /** The instance's root, without a final slash. */
  readonly url: string;
  readonly token: string;
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly waits: LimitWaits;
  /** Words for failure messages; those of the configuration if absent. */
  readonly words?: FailureWords;
}

/** The constructor options of gitbeaker's resource classes. */
type GitLabOptions = ConstructorParameters<typeof MergeRequests<false>>[0];

/** GitLab's API. */
export interface GitLabClient {
  readonly pastLimit: PastLimit;
  /** The time of GitLab's last answer, by its own clock. */
  answeredAt(): Date | undefined;
  /** Until when the token's calls are scarce, as the last answer said. GitLab need not have a limit. */
  scarceUntil(): Date | undefined;
  /** @param asked Completes "when asked to". @param call Calls one method of a resource. @throws {HostFailure} or the signal's reason. */
  ask(asked: string, call: GitLabCall, signal?: AbortSignal): Promise<unknown>;
  /** `ask` for a call that changes nothing. @returns What the schema makes of the answer. */
  read<S extends z.ZodType>(schema: S, asked: string, call: GitLabCall, signal?: AbortSignal): Promise<z.output<S>>;
  /** A GraphQL query, for what REST does not tell. @returns What the schema makes of `data`. @throws {HostFailure} */
  query<S extends z.ZodType>(
    schema: S,
    asked: string,
    query: string,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<z.output<S>>;
}

export type GitLabCall = (gitlab: GitLabOptions) => Promise<unknown>;

/** Passed through the requester, because gitbeaker would send a signal as a query parameter. */
interface Question {
  readonly asked: string;
  readonly signal: AbortSignal | undefined;
}

/** GraphQL receives queries only, never mutations. */
function isRead(method: string, url?: URL): boolean {
  return method === "GET" || method === "HEAD" || url?.pathname.endsWith("/api/graphql") === true;
}

/** The options that gitbeaker passes to a requester. */
const requestSchema = z.object({
  method: z.string(),
  prefixUrl: z.string(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
  searchParams: z.string().optional(),
});

const answerSchema = z.object({
  data: z.unknown().optional(),
  errors: z
    .array(z.object({ message: z.string(), extensions: z.object({ code: z.string() }).optional().catch(undefined) }))
    .min(1)
    .optional(),
});

/** gitbeaker with our own requester: its own sends the token along with redirects, repeats writes, and accepts a login page as an answer. */
export function createGitLabClient(options: GitLabClientOptions): GitLabClient {
  const { url, token, requestTimeoutMs, clock, waits, words = GITLAB } = options;
  const reportWait = (until: Date) => waits.begin({ host: "hostb", account: undefined, reason: "asked", until });
  let answeredAt: Date | undefined;
  let callBudget: CallBudget | undefined;
  const hostFetch = createHostFetch({
    words,
    origin: new URL(url).origin,
    clock,
    requestTimeoutMs,
    isRead,
    isChecked: (method, { pathname }) =>
      (method !== "GET" && /\/merge_requests\/\d+(?:\/merge|\/rebase)?$/.test(pathname)) ||
      // Nobody looks at the branch of a revert before svc makes it anew.
      (method === "DELETE" && /\/repository\/branches\/(?!svc-revert-)/.test(pathname)),
    followsOwnRedirects: false,
    onAnswer: (headers) => {
      answeredAt = timeOf(headers);
      callBudget = budgetIn(Object.fromEntries(headers), "ratelimit") ?? callBudget;
    },
    waits: reportWait,
  });

  async function request({ asked, signal }: Question, endpoint: string, options?: Record<string, unknown>) {
    const { method, prefixUrl, headers, body, searchParams } = requestSchema.parse(options);
    const address = new URL(endpoint, prefixUrl.endsWith("/") ? prefixUrl : `${prefixUrl}/`);
    address.search = searchParams ?? "";
    const response = await hostFetch(address, { method, headers, body, signal });
    const { status } = response;
    const answerHeaders = Object.fromEntries(response.headers);
    if (!response.ok) {
      const changing = !isRead(method);
      const message = refusalMessage(await response.text());
      throw refusalOf(words, asked, { status, headers: answerHeaders, message, changing, now: clock.now() });
    }
    return { status, headers: answerHeaders, body: (response.body ?? null) as Record<string, unknown> | null };
  }

  function optionsFor(question: Question): GitLabOptions {
    return {
      host: url,
      token,
      queryTimeout: null,
      rateLimits: {},
      requesterFn: createRequesterFn(
        (_resource, options) => Promise.resolve(options),
        (endpoint, options) => request(question, endpoint, options),
      ),
    };
  }

  async function ask(asked: string, call: GitLabCall, signal?: AbortSignal): Promise<unknown> {
    try {
      return await call(optionsFor({ asked, signal }));
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof HostFailure) throw error;
      throw new HostFailure("failed", `GitLab could not be asked to ${asked}; the log has the cause.`, {
        cause: error,
      });
    }
  }

  /** Errors of GraphQL come with status 200. */
  async function query(asked: string, text: string, variables: Readonly<Record<string, unknown>>): Promise<unknown> {
    const response = await hostFetch(new URL(`${url}/api/graphql`), {
      method: "POST",
      headers: { "private-token": token, "content-type": "application/json" },
      body: JSON.stringify({ query: text, variables }),
    });
    const headers = Object.fromEntries(response.headers);
    const { status } = response;
    if (!response.ok) {
      const message = refusalMessage(await response.text());
      throw refusalOf(words, asked, { status, headers, message, changing: false, now: clock.now() });
    }
    const { data, errors } = decodeAnswer(answerSchema, response.body, words, asked);
    if (errors !== undefined) {
      const said = oneLine(errors.map(({ message }) => message).join("; "), 300);
      // Only what GitLab finds in the query itself has a code: a field that it does not know. Timeouts have none.
      if (errors.every(({ extensions }) => extensions === undefined)) {
        throw new HostFailure("failed", `GitLab could not ${asked} ("${said}"). Try again later.`);
      }
      throw new HostFailure(
        "rejected",
        `GitLab refused to ${asked} ("${said}"): it needs GitLab ${OLDEST_GITLAB} or newer.`,
      );
    }
    return data;
  }

  return {
    pastLimit: createPastLimit({ clock, waits: reportWait }),
    answeredAt: () => answeredAt,
    scarceUntil: () => scarceUntil(callBudget, clock.now()),
    ask,
    query: async (schema, asked, text, variables) =>
      decodeAnswer(schema, await query(asked, text, variables), words, asked),
    read: async (schema, asked, call, signal) => decodeAnswer(schema, await ask(asked, call, signal), words, asked),
  };
}
