import { createPrivateKey } from "node:crypto";
import { afterEach } from "@jest/globals";
import express from "express";
import Provider, { type Configuration } from "oidc-provider";
import { listenOnLoopback } from "../../../sandbox/loopback.js";
import { appKeys } from "../../../sandbox/world.js";
import { identityStore } from "./identity-store.js";
import { BASE_URL } from "./site.js";

export const OIDC_CLIENT = { client_id: "svc-oidc", client_secret: "an-oidc-secret-of-the-tests" };

/** An OpenID provider (oidc-provider) whose one person agrees to every login, unless configured otherwise. */
export interface IdentityProvider {
  readonly issuer: string;
  /** What it says of the person. */
  claims: Readonly<Record<string, unknown>>;
  /** The person cancels. */
  refuses: boolean;
  /** Without, its description is not found. */
  discovery: boolean;
  /** Requests for the description so far. */
  readonly discoveries: () => number;
}

export interface IdentityOptions {
  /** True: the claims stand in the ID token; else only the user info has them. */
  readonly inIdToken?: boolean;
  /** Seconds that an ID token is valid. */
  readonly idTokenTtl?: number;
  readonly redirectUri?: string;
  /** Whether every login gets a refresh token. */
  readonly refreshTokens?: boolean;
}

const running: (() => Promise<void>)[] = [];
let key: object | undefined;

afterEach(async () => {
  await Promise.all(running.splice(0).map((stop) => stop()));
});

export async function startIdentityProvider(options: IdentityOptions = {}): Promise<IdentityProvider> {
  const app = express();
  const server = await listenOnLoopback(app);
  running.push(() => server.stop());
  let discoveries = 0;
  const state = {
    issuer: server.url,
    claims: { email: "ana@example.com", email_verified: true, preferred_username: "ana" } as IdentityProvider["claims"],
    refuses: false,
    discovery: true,
    discoveries: () => discoveries,
  };
  const provider = new Provider(
    server.url,
    configurationOf(options, () => state.claims),
  );
  app.get("/.well-known/openid-configuration", (_request, response, next) => {
    discoveries += 1;
    if (state.discovery) next();
    else response.status(404).send("not here");
  });
  app.get("/interaction/:uid", async (request, response) => {
    const denied = { error: "access_denied", error_description: "the person said no" };
    const result = state.refuses ? denied : { login: { accountId: "ana-1" } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  });
  app.use(provider.callback());
  return state;
}

function configurationOf(options: IdentityOptions, claims: () => IdentityProvider["claims"]): Configuration {
  key ??= createPrivateKey(appKeys().privateKey).export({ format: "jwk" });
  const {
    redirectUri = `${BASE_URL}/auth/oidc/callback`,
    inIdToken = false,
    idTokenTtl = 3600,
    refreshTokens = false,
  } = options;
  return {
    adapter: identityStore(),
    renderError: (context, { error, error_description: description = "" }) => {
      context.type = "text";
      context.body = `${error}: ${description}`;
    },
    clients: [
      {
        ...OIDC_CLIENT,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "client_secret_post",
        grant_types: ["authorization_code", "refresh_token"],
      },
    ],
    issueRefreshToken: () => refreshTokens,
    jwks: { keys: [{ ...key, alg: "RS256", use: "sig", kid: "test" }] },
    cookies: { keys: ["a-key-of-the-tests"] },
    claims: { email: ["email", "email_verified"], profile: ["preferred_username", "name"], groups: ["groups"] },
    scopes: ["openid", "email", "profile", "groups"],
    conformIdTokenClaims: !inIdToken,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    pkce: { required: () => true },
    ttl: {
      IdToken: () => idTokenTtl,
      AccessToken: 600,
      RefreshToken: 600,
      AuthorizationCode: 60,
      Interaction: 600,
      Session: 600,
      Grant: 600,
    },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...claims() }) }),
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client?.clientId, accountId: oidc.session?.accountId });
      grant.addOIDCScope("openid email profile groups");
      await grant.save();
      return grant;
    },
  };
}
