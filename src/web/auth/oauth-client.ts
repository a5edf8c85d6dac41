import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  fetchUserInfo,
  refreshTokenGrant,
  type TokenEndpointResponse,
} from "openid-client";
import * as z from "zod";
import { isLoopback } from "../../config/server/server-parts.js";
import type { OidcSection } from "../../config/server/server.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import { type AnswerHeaders, fetchText } from "../../http/fetch-text.js";
import { HOST_PREFIXES } from "../../names.js";
import type { LoginAttempt } from "../../store/stores.js";
import type { LoginFacts, RedirectProvider } from "./login-provider.js";
import { isRefusal, type LoginRefusal, refuse } from "./refusal.js";
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

/**
 * The refusal in a provider's callback. Anyone can link to one, so it quotes the provider only if this browser
 * `started` the login.
 */
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
function exchangeFailure(error: unknown) {
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
function shortText(text: string, most: number): string {
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

/** The provider's metadata is read again after this time. */
const KEPT_MS = 60 * 60_000;

/** Login with any OpenID Connect provider. */
export function oidcLogin(options: OidcSection, clock: Clock, log: Log): RedirectProvider {
  const title = options.name;
  const discovered = cachedClient(options, clock, log);
  const context = { provider: "oidc", title, addressKey: "auth.oidc.issuer_url" } as const;
  const scope = [...new Set(["openid", ...options.scopes])].join(" ");
  return {
    id: "oidc",
    name: title,
    async begin(attempt, callbackUrl) {
      const client = await discovered();
      if (isRefusal(client)) return client;
      return authorizationUrl(client, attempt, { redirect_uri: callbackUrl, scope, nonce: attempt.nonce ?? "" });
    },
    async finish(answer, attempt) {
      const client = await discovered();
      if (isRefusal(client)) return client;
      try {
        const given = await authorizationCodeGrant(client, answer, {
          expectedState: attempt.state,
          expectedNonce: attempt.nonce,
          pkceCodeVerifier: attempt.codeVerifier,
          idTokenExpected: true,
        });
        const facts = factsOfClaims(await claimsOf(client, given, given.claims()?.sub ?? ""), options);
        if (isRefusal(facts)) return facts;
        // Without a refresh token, the ID token's claims cannot be read again.
        const tokens = given.refresh_token === undefined ? undefined : tokensIn(given, clock.now());
        return { facts, tokens };
      } catch (error) {
        return refusalOfExchange(error, { ...context, answer }, log);
      }
    },
    async ask(known, subject) {
      const client = await discovered();
      if (isRefusal(client)) return { answer: client, tokens: known };
      let tokens = known;
      try {
        const given = await refreshTokenGrant(client, known.refresh ?? "");
        tokens = tokensIn(given, clock.now(), known.refresh);
        const claims = await claimsOf(client, given, subject);
        const missing = claims.idToken === undefined ? missingIn(claims.userInfo, options) : undefined;
        if (missing === undefined) return { answer: factsOfClaims(claims, options), tokens };
        const what = `who you are: it does not send the claim ${missing} again`;
        return { answer: refuse("not-verified", title, what, ""), tokens };
      } catch (error) {
        return { answer: refusalOfExchange(error, context, log), tokens };
      }
    },
  };
}

/** The client for the provider's metadata, which is read at most once an hour, and again after a failure. */
function cachedClient(options: OidcSection, clock: Clock, log: Log): () => Promise<Configuration | LoginRefusal> {
  let kept: { readonly client: Promise<Configuration>; readonly until: number } | undefined;
  return async () => {
    const now = clock.now().getTime();
    if (kept === undefined || kept.until <= now) kept = { client: discover(options), until: now + KEPT_MS };
    const mine = kept;
    try {
      return await mine.client;
    } catch (error) {
      if (kept === mine) kept = undefined;
      const problem = discoveryProblem(error);
      log.warn({ issuer: options.issuerUrl, problem, ...exchangeFailure(error) }, "OIDC discovery failed");
      return refuse("discovery-failed", options.issuerUrl, problem);
    }
  };
}

/** Plain http is only for a provider on this machine: on a network, anyone could pose as the provider. */
async function discover({ issuerUrl, clientId, clientSecret }: OidcSection): Promise<Configuration> {
  const issuer = new URL(issuerUrl);
  return discovery(issuer, clientId, { client_secret: clientSecret }, ClientSecretPost(clientSecret), {
    timeout: PROVIDER_LIMITS.timeoutMs / 1000,
    [customFetch]: providerFetch,
    execute: isLoopback(issuer.hostname) ? [allowInsecureRequests] : [],
  });
}

function discoveryProblem(error: unknown): string {
  const { code } = exchangeFailure(error);
  switch (code) {
    case undefined:
    case "OAUTH_TIMEOUT":
      return "it could not be reached";
    case "OAUTH_HTTP_REQUEST_FORBIDDEN":
      return "its address is plain http, which is allowed on this machine only";
    case "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED":
      return "it describes a provider of another name; the address must be written exactly as the provider writes it";
    default:
      return "there is no such description at that address";
  }
}

/** Claims of the ID token and the user info: some providers put e-mail and groups into only one of them. */
async function claimsOf(client: Configuration, tokens: Tokens, subject: string): Promise<Claims> {
  const idToken = tokens.claims();
  const hasUserInfo = client.serverMetadata().userinfo_endpoint !== undefined;
  const userInfo = hasUserInfo ? await fetchUserInfo(client, tokens.access_token, subject) : {};
  return { idToken, userInfo };
}

type Tokens = Pick<Awaited<ReturnType<typeof refreshTokenGrant>>, "access_token" | "claims">;

/** The two places of claims about a person. Only a renewal may come without an ID token. */
interface Claims {
  readonly idToken: Readonly<Record<string, unknown>> | undefined;
  readonly userInfo: Readonly<Record<string, unknown>>;
}

/** The first claim that the rules need and the user info lacks; perhaps only the ID token of the login had it. */
function missingIn(userInfo: Claims["userInfo"], rules: OidcSection): string | undefined {
  const { emailClaim, groupsClaim, requireVerifiedEmail } = rules;
  const needed = ["sub", emailClaim, groupsClaim, requireVerifiedEmail ? "email_verified" : undefined];
  return needed.find((claim) => claim !== undefined && userInfo[claim] === undefined);
}

/** An address with exactly one `@`, so that the domain that is compared is the one that was verified. */
const address = z.string().regex(/^[^\s@]+@[^\s@]+$/);

/** The person, or the refusal. An e-mail address is always required. */
function factsOfClaims({ idToken, userInfo }: Claims, rules: OidcSection): LoginFacts | LoginRefusal {
  const all: Readonly<Record<string, unknown>> = { ...userInfo, ...idToken };
  const email = address.safeParse(all[rules.emailClaim]).data;
  if (email === undefined) return refuse("no-email", rules.emailClaim);
  const flags = [idToken, userInfo].flatMap((place) => {
    const flag = asFlag(place?.email_verified);
    // The flag is about the claim `email` beside it, whichever claim `email_claim` names.
    const about = String(place?.email ?? all.email).toLowerCase();
    return flag === undefined ? [] : [flag && about === email.toLowerCase()];
  });
  if (flags.includes(false) || (rules.requireVerifiedEmail && !flags.includes(true))) {
    return refuse("email-not-verified");
  }
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  if (rules.allowedDomains.length > 0 && !rules.allowedDomains.includes(domain)) {
    return refuse("wrong-domain", rules.allowedDomains);
  }
  const named = z.string().min(1).safeParse(all[rules.usernameClaim]).data;
  return {
    provider: "oidc",
    subject: String(all.sub),
    username: shortText(named ?? email, 100),
    email,
    groups: rules.groupsClaim === undefined ? [] : groupsIn(all[rules.groupsClaim]),
    unproven: new Map(),
  };
}

/** Some providers send the flag as text. Anything but a clear yes counts as no. */
function asFlag(claim: unknown): boolean | undefined {
  if (claim === undefined || claim === null) return undefined;
  return claim === true || claim === "true";
}

function groupsIn(claim: unknown): readonly string[] {
  return z.union([z.array(z.string()), z.string().transform((one) => [one])]).safeParse(claim).data ?? [];
}
