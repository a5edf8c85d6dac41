import {
  allowInsecureRequests,
  authorizationCodeGrant,
  ClientSecretPost,
  type Configuration,
  customFetch,
  discovery,
  fetchUserInfo,
  refreshTokenGrant,
} from "openid-client";
import * as z from "zod";
import { isLoopback } from "../../config/server/server-parts.js";
import type { OidcSection } from "../../config/server/server.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { LoginFacts, RedirectProvider } from "./login-provider.js";
import {
  authorizationUrl,
  tokensIn,
  refusalOfExchange,
  exchangeFailure,
  shortText,
  PROVIDER_LIMITS,
  providerFetch,
} from "./oauth-client.js";
import { isRefusal, type LoginRefusal, refuse } from "./refusal.js";

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
