import {
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type Configuration,
  type TokenEndpointResponse,
} from "openid-client";
import * as z from "zod";
import type { Log } from "../../core/ports/log.js";
import type { LoginStart, RedirectProvider } from "./login-provider.js";
import type { LoginRefusal } from "./refusal.js";
import type { ProviderTokens } from "./token-seal.js";

/** The address at which a login starts, with PKCE (S256) and the state. */
export async function authorizationUrl(
  client: Configuration,
  attempt: LoginStart,
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

/**
 * The refusal in a provider's callback. Anyone can link to one, so it quotes the provider only if this browser
 * `started` the login.
 */
export function refusalInCallback(answer: URL, title: string, started: boolean): LoginRefusal | undefined {
  const code = answer.searchParams.get("error");
  if (code === null) return undefined;
  if (REDIRECT_CODES.has(code)) return { reason: "invalid-redirect", title, callbackUrl: addressOf(answer) };
  if (!started) return undefined;
  if (code === "access_denied") return { reason: "cancelled", title };
  if (CLIENT_CODES.has(code)) return { reason: "client-refused", title, keys: "its client id and secret" };
  const description = answer.searchParams.get("error_description") ?? "";
  return { reason: "provider-error", title, code: shortText(code, 60), description: shortText(description, 200) };
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
      return { reason: "invalid-redirect", title, callbackUrl: addressOf(answer) };
    }
    if (CLIENT_CODES.has(oauthError)) {
      const keys = `auth.${provider}.client_id and auth.${provider}.client_secret`;
      return { reason: "client-refused", title, keys };
    }
    if (CODE_CODES.has(oauthError)) return { reason: "code-refused", title };
    return { reason: "provider-error", title, code: shortText(oauthError, 60), description: "" };
  }
  if (code === undefined || code === "OAUTH_TIMEOUT") return { reason: "unreachable", title, key: addressKey };
  return { reason: "bad-answer", title, problem: PROBLEMS[code] ?? "It does not follow the protocol." };
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

/** By the error codes of https://github.com/panva/openid-client. */
const PROBLEMS: Readonly<Record<string, string>> = {
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: "Its token was not made for this sign-in.",
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: "Its token is not valid at this time; the clocks of both servers may differ.",
  OAUTH_INVALID_SIGNATURE: "The signature of its token is wrong.",
  OAUTH_HTTP_REQUEST_FORBIDDEN: "One of its addresses is plain http.",
};

/** The parts of such an error that are safe to log; the rest may contain tokens. */
export function exchangeFailure(error: unknown): {
  readonly code: string | undefined;
  readonly oauthError: string | undefined;
} {
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
