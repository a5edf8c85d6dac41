import {
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type Configuration,
  type CustomFetch,
  type TokenEndpointResponse,
} from "openid-client";
import * as z from "zod";
import type { Log } from "../../core/ports/log.js";
import { type AnswerHeaders, fetchText } from "../../http/fetch-text.js";
import { HOST_PREFIXES } from "../../names.js";
import type { LoginAttempt } from "../../store/stores.js";
import type { RedirectProvider } from "./login-provider.js";
import { type LoginRefusal, refuse } from "./refusal.js";
import type { ProviderTokens } from "./token-seal.js";

/** The address at which a login starts, with PKCE (S256) and the state. */
export async function authorizationUrl(
  client: Configuration,
  attempt: Pick<LoginAttempt, "state" | "codeVerifier">,
  more: Readonly<Record<string, string>> & { readonly redirect_uri: string },
): Promise<URL> {
  return buildAuthorizationUrl(client, {
    ...more,
    state: attempt.state,
    code_challenge: await calculatePKCECodeChallenge(attempt.codeVerifier),
    code_challenge_method: "S256",
  });
}

/** @param refresh the refresh token that stays in use if the provider sends no other. */
export function tokensIn(
  answer: Pick<TokenEndpointResponse, "access_token" | "refresh_token" | "expires_in">,
  now: Date,
  refresh?: string,
): ProviderTokens {
  const { access_token: access, refresh_token: next = refresh, expires_in: seconds } = answer;
  return { access, refresh: next, expiresAt: seconds === undefined ? undefined : now.getTime() + seconds * 1000 };
}

/** The refusal in a provider's callback, which is quoted only if this browser `started` the login: anyone can link to one. */
export function refusalInCallback(answer: URL, title: string, started: boolean): LoginRefusal | undefined {
  const code = answer.searchParams.get("error");
  if (code === null) return undefined;
  if (REDIRECT_CODES.has(code)) return refuse("invalid-redirect", title, addressOf(answer));
  if (!started) return undefined;
  if (code === "access_denied") return refuse("cancelled", title);
  if (CLIENT_CODES.has(code)) return refuse("client-refused", title, "its client id and secret");
  const description = answer.searchParams.get("error_description") ?? "";
  return refuse("provider-error", title, shortText(code, 60), shortText(description, 200));
}

interface ExchangeContext {
  readonly provider: RedirectProvider["id"];
  readonly title: string;
  /** Configuration key of the provider's address. */
  readonly addressKey: string;
  /** Undefined if no callback led here. */
  readonly answer?: URL | undefined;
}

/** Logs and explains an error of openid-client. The token endpoint's error code takes precedence over the library's. */
export function refusalOfExchange(error: unknown, context: ExchangeContext, log: Log): LoginRefusal {
  const { provider, title, addressKey, answer } = context;
  const { code, oauthError } = exchangeFailure(error);
  log.warn({ provider, code, oauthError }, "exchanging the login's code failed");
  if (oauthError !== undefined) {
    if (REDIRECT_CODES.has(oauthError) && answer !== undefined) {
      return refuse("invalid-redirect", title, addressOf(answer));
    }
    if (CLIENT_CODES.has(oauthError)) {
      const section = `auth.${provider === "oidc" ? provider : HOST_PREFIXES[provider][0]}`;
      return refuse("client-refused", title, `${section}.client_id and ${section}.client_secret`);
    }
    if (CODE_CODES.has(oauthError)) return refuse("code-refused", title);
    return refuse("provider-error", title, shortText(oauthError, 60), "");
  }
  if (code === undefined || code === "OAUTH_TIMEOUT") return refuse("unreachable", title, addressKey);
  return refuse("bad-answer", title, PROBLEMS[code] ?? "It does not follow the protocol.");
}

/** Error codes of several providers for an unregistered callback address. */
const REDIRECT_CODES = new Set(["redirect_uri_mismatch", "invalid_redirect_uri"]);

/** Error codes for a refused client: RFC 6749, 5.2, and GitHub's own. */
const CLIENT_CODES = new Set([
  "invalid_client",
  "unauthorized_client",
  "incorrect_client_credentials",
  "application_suspended",
]);

/** Error codes for a refused code or refresh token. */
const CODE_CODES = new Set(["invalid_grant", "bad_verification_code", "bad_refresh_token"]);

/** Explanations by the error codes of https://github.com/panva/openid-client. */
const PROBLEMS: Readonly<Record<string, string>> = {
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: "Its token was not made for this sign-in.",
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: "Its token is not valid at this time; the clocks of both servers may differ.",
  OAUTH_INVALID_SIGNATURE: "The signature of its token is wrong.",
  OAUTH_HTTP_REQUEST_FORBIDDEN: "One of its addresses is plain http.",
};

/** The parts of such an error that are safe to log; the rest may contain tokens. */
export function exchangeFailure(error: unknown) {
  const known = z.object({ code: z.string().regex(/^OAUTH_/) }).safeParse(error);
  let oauthError: string | undefined;
  for (let inner = error, depth = 0; depth < 5 && oauthError === undefined; depth += 1) {
    const parsed = failure.safeParse(inner);
    if (!parsed.success) break;
    oauthError = parsed.data.error ?? parsed.data.body?.error;
    inner = parsed.data.cause;
  }
  return { code: known.data?.code, oauthError };
}

/** GitHub answers errors with status 200; the library exposes the body as `cause.cause.body`. */
const failure = z.object({
  error: z.string().optional().catch(undefined),
  body: z
    .object({ error: z.string().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  cause: z.unknown().optional(),
});

function addressOf(answer: URL): string {
  return answer.origin + answer.pathname;
}

/** An untrusted text as one line of limited length. */
export function shortText(text: string, most: number): string {
  const line = text.replace(/[\p{C}\s]+/gu, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Undefined if it is missing or not JSON. */
  readonly body: unknown;
}

/** Limits for the answer of a provider. */
export const PROVIDER_LIMITS = { timeoutMs: 10_000, maxBytes: 2 * 1024 * 1024 } as const;

/** The same limits for openid-client; its own deadline is shorter and raises its own error. */
export const providerFetch: CustomFetch = async (url, { method, headers, body, redirect, signal }) => {
  const limits = { ...PROVIDER_LIMITS, timeoutMs: PROVIDER_LIMITS.timeoutMs + 1_000, signal };
  const { text, ...answer } = await fetchText(url, { method, headers, body, redirect }, limits);
  const hasNoBody = [204, 205, 304].includes(answer.status);
  return new Response(hasNoBody ? null : text, { status: answer.status, headers: [...answer.headers] });
};

/** Whether the provider refuses for the time being, because of a rate limit. GitHub may send no header: docs/adr/0020-host-messages.md. */
export function isLimited({ status, headers, body }: ApiAnswer): boolean {
  if (status !== 403) return status === 429;
  if (headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0") return true;
  return /\bsecondary rate\b|\babuse detection\b|\brate limit (?:already )?exceeded\b/i.test(
    said.safeParse(body).data?.message ?? "",
  );
}

const said = z.object({ message: z.string() });

/** Explains an answer that is neither yes nor no, with the cure. */
export function hintFor(answer: ApiAnswer, cure: string): string {
  const { status, headers } = answer;
  if (isLimited(answer)) {
    return "Its rate limit is used up: wait a few minutes.";
  }
  if (status >= 500) return `It answered ${status}: try again in a minute.`;
  // https://docs.github.com/rest/authentication/authenticating-to-the-rest-api : names the page that authorizes for SSO.
  if (headers.has("x-github-sso")) return `The organization requires single sign-on: sign in there first. ${cure}`;
  return `${status === 401 || status === 403 ? "It refused the request" : `It answered ${status}`}. ${cure}`;
}
