import type { CustomFetch } from "openid-client";
import { parseJson } from "../../core/model/json.js";
import { type Answer, AnswerTooLarge, fetchText, responseOf } from "../../http/fetch-text.js";

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
