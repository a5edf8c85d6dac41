import type { CustomFetch } from "openid-client";
import type * as z from "zod";
import { parseJson } from "../../core/model/json.js";
import { type Answer, AnswerTooLarge, fetchText, responseOf } from "../../http/fetch-text.js";
import type { groupsAskedFor } from "./assign-role.js";

/** A provider's API did not answer usefully. */
export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if it is missing or not JSON. */
  readonly body: unknown;
}

/** Reads a provider's API on behalf of one person. */
export interface ProviderApi {
  /** `path` is relative to the API's root. @throws {ProviderFailure} for a missing, too large or redirecting answer. */
  get(path: string): Promise<ApiAnswer>;
}

/** Sends the token to `apiUrl` only: redirects are not followed. */
export function providerApi(apiUrl: string, token: string, headers: Readonly<Record<string, string>>): ProviderApi {
  return {
    async get(path) {
      let answer: Answer;
      try {
        answer = await fetchText(
          apiUrl + path,
          {
            headers: { accept: "application/json", ...headers, authorization: `Bearer ${token}` },
            redirect: "manual",
          },
          PROVIDER_LIMITS,
        );
      } catch (cause) {
        if (cause instanceof AnswerTooLarge) throw new ProviderFailure("its answer is too large", { cause });
        throw new ProviderFailure("it did not answer", { cause });
      }
      const { status } = answer;
      if (status >= 300 && status < 400) throw new ProviderFailure("it redirects");
      return { status, headers: answer.headers, body: parseJson(answer.text) };
    },
  };
}

/** Limits for the answer of a provider. */
export const PROVIDER_LIMITS = { timeoutMs: 10_000, maxBytes: 2 * 1024 * 1024 } as const;

/** The same limits for openid-client; its own deadline is shorter and raises its own error. */
export const providerFetch: CustomFetch = async (url, { method, headers, body, redirect, signal }) => {
  const limits = { ...PROVIDER_LIMITS, timeoutMs: PROVIDER_LIMITS.timeoutMs + 1_000, signal };
  return responseOf(await fetchText(url, { method, headers, body, redirect }, limits));
};

/** Whether a person belongs to a team, group or organization. `problem` says what to check if the provider cannot tell. */
export type Membership =
  { readonly kind: "member" } | { readonly kind: "none" } | { readonly kind: "unproven"; readonly problem: string };

/** Parallel calls to a provider per login. */
const AT_ONCE = 5;

/** Asks about each name once. A failed call is "unproven", not "none". */
export async function askMemberships(
  names: readonly string[],
  ask: (name: string) => Promise<Membership>,
): Promise<ReadonlyMap<string, Membership>> {
  const left = [...new Set(names)];
  const found = new Map<string, Membership>();
  const worker = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      found.set(name, await ask(name).catch(safeFailure));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return found;
}

/** Whether a person belongs to at least one of the names; unproven if an undecided name could be the one. */
export function memberOfAny(names: readonly string[], found: ReadonlyMap<string, Membership>): Membership {
  const answers = names.map((name) => found.get(name) ?? { kind: "none" as const });
  return (
    answers.find(({ kind }) => kind === "member") ?? answers.find(({ kind }) => kind === "unproven") ?? { kind: "none" }
  );
}

/** All groups of a person, or why they could not be listed. */
export interface ListedGroups {
  readonly names: readonly string[];
  readonly problem: string | undefined;
}

const PER_PAGE = 100;
const MOST_PAGES = 20;

/** Reads all pages of a list of groups; `cure` and `tooMany` are for users. */
export async function listGroups(
  api: ProviderApi,
  path: string,
  names: z.ZodType<readonly string[]>,
  { cure, tooMany }: { readonly cure: string; readonly tooMany: string },
): Promise<ListedGroups> {
  const found: string[] = [];
  try {
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const answer = await api.get(`${path}per_page=${PER_PAGE}&page=${page}`);
      const parsed = answer.status === 200 ? names.safeParse(answer.body) : undefined;
      if (parsed?.success !== true) return { names: found, problem: hintFor(answer, cure) };
      found.push(...parsed.data);
      if (parsed.data.length < PER_PAGE) return { names: found, problem: undefined };
    }
    return { names: found, problem: tooMany };
  } catch (error) {
    return { names: found, problem: safeFailure(error).problem };
  }
}

/** The patterns that the provider could not decide, with what to check. Those with a `*` need the list of all groups. */
export function unprovenGroups(
  asked: ReturnType<typeof groupsAskedFor>,
  found: ReadonlyMap<string, Membership>,
  listProblem: string | undefined,
): ReadonlyMap<string, string> {
  const unproven = new Map<string, string>();
  for (const { pattern, name } of asked) {
    const answer = found.get(name);
    const problem = name.includes("*") ? listProblem : answer?.kind === "unproven" ? answer.problem : undefined;
    if (problem !== undefined) unproven.set(pattern, problem);
  }
  return unproven;
}

/** Whether the provider refused the person's own token: it was revoked, or the account is blocked or gone. */
export function isRejected({ status, headers }: ApiAnswer): boolean {
  const isLimit = headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0";
  return status === 401 || (status === 403 && !isLimit);
}

/** Explains an answer that is neither yes nor no, with the cure. */
export function hintFor({ status, headers }: ApiAnswer, cure: string): string {
  if (status === 429 || (status === 403 && headers.get("x-ratelimit-remaining") === "0")) {
    return "Its rate limit is used up: wait a few minutes.";
  }
  if (status >= 500) return `It answered ${status}: try again in a minute.`;
  // https://docs.github.com/rest/authentication/authenticating-to-the-rest-api : names the page that authorizes for SSO.
  if (headers.has("x-github-sso")) return `The organization requires single sign-on: sign in there first. ${cure}`;
  return `${status === 401 || status === 403 ? "It refused the request" : `It answered ${status}`}. ${cure}`;
}

/** Turns a failed call to a provider into an unproven membership. Throws other errors again. */
function safeFailure(error: unknown): Membership & { readonly kind: "unproven" } {
  if (!(error instanceof ProviderFailure)) throw error;
  return { kind: "unproven", problem: `Its API did not work (${error.message}): try again in a minute.` };
}
