import {
  allowInsecureRequests,
  authorizationCodeGrant,
  ClientSecretPost,
  customFetch,
  discovery,
  fetchUserInfo,
  type Configuration,
} from "openid-client";
import { z } from "zod";
import type { OidcSection } from "../../config/server-config.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { LoginAttempt } from "../../store/session-data.js";
import type { LoginFacts, RedirectProvider } from "./login-provider.js";
import { authorizationUrl } from "./oauth-client.js";
import { PROVIDER_LIMITS, providerFetch } from "./provider-api.js";
import { exchangeFailure, refusalOfExchange, shortText } from "./provider-refusal.js";
import type { LoginRefusal } from "./refusal.js";

/** The provider's metadata is read again after this time. */
const KEPT_MS = 60 * 60_000;

/** Login with any OpenID Connect provider. Reads its metadata at the first login, caches it, and reads it again after a failure. */
export function oidcLogin(options: OidcSection, clock: Clock, log: Log): RedirectProvider {
  const title = options.name;
  let kept: { readonly client: Promise<Configuration>; readonly until: number } | undefined;
  const discovered = async (): Promise<Configuration | LoginRefusal> => {
    const now = clock.now().getTime();
    if (kept === undefined || kept.until <= now) kept = { client: discover(options), until: now + KEPT_MS };
    const mine = kept;
    try {
      return await mine.client;
    } catch (error) {
      if (kept === mine) kept = undefined;
      const problem = discoveryProblem(error);
      log.warn({ issuer: options.issuerUrl, problem, ...exchangeFailure(error) }, "OIDC discovery failed");
      return { reason: "discovery-failed", issuer: options.issuerUrl, problem };
    }
  };
  const scope = [...new Set(["openid", ...options.scopes])].join(" ");
  return {
    id: "oidc",
    name: title,
    async begin(attempt, callbackUrl) {
      const client = await discovered();
      if ("reason" in client) return client;
      return authorizationUrl(client, attempt, { redirect_uri: callbackUrl, scope, nonce: attempt.nonce ?? "" });
    },
    async finish(answer, attempt): Promise<LoginFacts | LoginRefusal> {
      const client = await discovered();
      if ("reason" in client) return client;
      let claims: Claims;
      try {
        claims = await claimsOf(client, answer, attempt);
      } catch (error) {
        const context = { provider: "oidc", title, addressKey: "auth.oidc.issuer_url", answer } as const;
        return refusalOfExchange(error, context, log);
      }
      return factsOfClaims(claims, options);
    },
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

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
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
async function claimsOf(client: Configuration, answer: URL, attempt: LoginAttempt): Promise<Claims> {
  const tokens = await authorizationCodeGrant(client, answer, {
    expectedState: attempt.state,
    expectedNonce: attempt.nonce,
    pkceCodeVerifier: attempt.codeVerifier,
    idTokenExpected: true,
  });
  const idToken = tokens.claims();
  if (idToken === undefined) throw new TypeError("the checked answer has no ID token");
  const hasUserInfo = client.serverMetadata().userinfo_endpoint !== undefined;
  const userInfo = hasUserInfo ? await fetchUserInfo(client, tokens.access_token, idToken.sub) : {};
  return { idToken, userInfo };
}

/** What an OpenID Connect provider says about a person, in its two places. */
interface Claims {
  readonly idToken: Readonly<Record<string, unknown>>;
  readonly userInfo: Readonly<Record<string, unknown>>;
}

type Rules = Pick<
  OidcSection,
  "usernameClaim" | "emailClaim" | "groupsClaim" | "allowedDomains" | "requireVerifiedEmail"
>;

/** An address with exactly one `@`, so that the domain that is compared is the one that was verified. */
const address = z.string().regex(/^[^\s@]+@[^\s@]+$/);

/** The person, or the refusal. An e-mail address is always required. */
function factsOfClaims({ idToken, userInfo }: Claims, rules: Rules): LoginFacts | LoginRefusal {
  const all = { ...userInfo, ...idToken };
  const email = address.safeParse(all[rules.emailClaim]).data;
  if (email === undefined) return { reason: "no-email", claim: rules.emailClaim };
  const verified = [idToken.email_verified, userInfo.email_verified].map(asFlag);
  if (verified.includes(false) || (rules.requireVerifiedEmail && !verified.includes(true))) {
    return { reason: "email-not-verified" };
  }
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  if (rules.allowedDomains.length > 0 && !rules.allowedDomains.includes(domain)) {
    return { reason: "wrong-domain", allowed: rules.allowedDomains };
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

/** A list of names, or a single name. */
function groupsIn(claim: unknown): readonly string[] {
  return z.union([z.array(z.string()), z.string().transform((one) => [one])]).safeParse(claim).data ?? [];
}
