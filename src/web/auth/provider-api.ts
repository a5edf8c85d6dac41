import type { CustomFetch } from "openid-client";
import { fetchText, responseOf } from "../../http/fetch-text.js";

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if it is missing or not JSON. */
  readonly body: unknown;
}

/** Limits for the answer of a provider. */
export const PROVIDER_LIMITS = { timeoutMs: 10_000, maxBytes: 2 * 1024 * 1024 } as const;

/** The same limits for openid-client; its own deadline is shorter and raises its own error. */
export const providerFetch: CustomFetch = async (url, { method, headers, body, redirect, signal }) => {
  const limits = { ...PROVIDER_LIMITS, timeoutMs: PROVIDER_LIMITS.timeoutMs + 1_000, signal };
  return responseOf(await fetchText(url, { method, headers, body, redirect }, limits));
};

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
