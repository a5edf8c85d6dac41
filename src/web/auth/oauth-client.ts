import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretPost,
  Configuration,
  customFetch,
  refreshTokenGrant,
  type TokenEndpointResponse,
} from "openid-client";
import type { OAuthClient } from "../../config/server/server-config.js";
import type { LoginAttempt } from "../../store/stores.js";
import type { LoginStart } from "./login-provider.js";
import { PROVIDER_LIMITS, providerFetch } from "./provider-api.js";
import type { ProviderTokens } from "./token-seal.js";

export interface OAuthServer extends OAuthClient {
  /** What the provider calls itself in the `iss` of its callbacks (RFC 9207). */
  readonly issuer: string;
  readonly authorize: string;
  readonly token: string;
}

/** A client of an OAuth provider without discovery. Plain http is allowed if the address was configured so. */
export function oauthClient({ issuer, authorize, token, clientId, clientSecret }: OAuthServer): Configuration {
  const client = new Configuration(
    { issuer, authorization_endpoint: authorize, token_endpoint: token },
    clientId,
    { client_secret: clientSecret },
    ClientSecretPost(clientSecret),
  );
  client.timeout = PROVIDER_LIMITS.timeoutMs / 1000;
  client[customFetch] = providerFetch;
  if (token.startsWith("http:")) allowInsecureRequests(client);
  return client;
}

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

/** Exchanges the code in `answer` for tokens; the path of `answer` is the redirect URI. Throws the errors of openid-client. */
export async function exchangeCode(
  client: Configuration,
  answer: URL,
  attempt: LoginAttempt,
  now: Date,
): Promise<ProviderTokens> {
  const checks = { expectedState: attempt.state, pkceCodeVerifier: attempt.codeVerifier };
  return tokensIn(await authorizationCodeGrant(client, answer, checks), now);
}

/** An access token that expires sooner is renewed first. */
const REST_MS = 60_000;

/** Tokens that still work: the given ones, or new ones for the refresh token. Throws the errors of openid-client. */
export async function freshTokens(client: Configuration, tokens: ProviderTokens, now: Date): Promise<ProviderTokens> {
  const { refresh, expiresAt = Infinity } = tokens;
  if (refresh === undefined || expiresAt > now.getTime() + REST_MS) return tokens;
  return tokensIn(await refreshTokenGrant(client, refresh), now, refresh);
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
