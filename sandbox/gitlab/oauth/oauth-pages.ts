import express, { type Request, type Response, type Router } from "express";
import type { Instance } from "../model/instance.js";
import { TOKEN_LIFETIME_S, type OAuthApplication } from "./login-instance.js";

/** `/oauth/authorize` and `/oauth/token` of https://docs.gitlab.com/api/oauth2/ (GitLab uses Doorkeeper). */
export function oauthPages(instance: Instance): Router {
  const router = express.Router();
  router.get("/oauth/authorize", (request, response) => authorize(instance, request, response));
  router.post("/oauth/token", express.urlencoded({ extended: false }), express.json(), (request, response) => {
    giveToken(instance, request, response);
  });
  return router;
}

function authorize(instance: Instance, request: Request, response: Response): void {
  const { login: world } = instance;
  const query = new URL(request.originalUrl, instance.url).searchParams;
  const application = world.application(query.get("client_id") ?? "");
  if (application === undefined) {
    page(
      response,
      401,
      "Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.",
    );
    return;
  }
  const redirectUri = query.get("redirect_uri") ?? "";
  if (!application.redirectUris.includes(redirectUri)) {
    page(response, 400, "The redirect URI included is not valid.");
    return;
  }
  const back = (members: Readonly<Record<string, string>>): void => {
    const url = new URL(redirectUri);
    for (const [name, value] of Object.entries(members)) url.searchParams.set(name, value);
    const state = query.get("state");
    if (state !== null) url.searchParams.set("state", state);
    response.redirect(302, url.href);
  };
  const problem = problemOf(application, query);
  if (problem !== undefined) {
    back(problem);
    return;
  }
  const username = world.signedIn;
  if (username === "deny") {
    const description = "The resource owner or authorization server denied the request.";
    back({ error: "access_denied", error_description: description });
    return;
  }
  const person = instance.people.named(username);
  const scopes = scopesIn(query);
  const challenge = query.get("code_challenge") ?? undefined;
  back({ code: world.issueCode({ application, person, scopes, redirectUri, challenge }) });
}

function problemOf(application: OAuthApplication, query: URLSearchParams) {
  if (query.get("response_type") !== "code") {
    const description = "The authorization server does not support this response type.";
    return { error: "unsupported_response_type", error_description: description };
  }
  if (scopesIn(query).some((scope) => !application.scopes.includes(scope))) {
    const description = "The requested scope is invalid, unknown, or malformed.";
    return { error: "invalid_scope", error_description: description };
  }
  if (query.get("code_challenge") !== null && query.get("code_challenge_method") !== "S256") {
    return { error: "invalid_code_challenge_method", error_description: "The code_challenge_method must be S256." };
  }
  return undefined;
}

function giveToken({ login: world }: Instance, request: Request, response: Response): void {
  const given = (request.body ?? {}) as Readonly<Record<string, string | undefined>>;
  const application = world.application(given.client_id ?? "");
  response.set("cache-control", "no-store");
  if (application === undefined || application.clientSecret !== given.client_secret) {
    const description =
      "Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.";
    response.status(401).json({ error: "invalid_client", error_description: description });
    return;
  }
  const { grant_type: kind, code = "", redirect_uri: redirectUri = "", code_verifier: verifier } = given;
  if (kind !== "authorization_code" && kind !== "refresh_token") {
    const description = "The authorization grant type is not supported by the authorization server.";
    response.status(400).json({ error: "unsupported_grant_type", error_description: description });
    return;
  }
  const grant =
    kind === "refresh_token"
      ? world.refresh(given.refresh_token ?? "", application)
      : world.redeem(code, application, redirectUri, verifier);
  if (grant === undefined) {
    const description =
      "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.";
    response.status(400).json({ error: "invalid_grant", error_description: description });
    return;
  }
  response.json({
    access_token: world.issueToken(grant),
    token_type: "Bearer",
    expires_in: TOKEN_LIFETIME_S,
    refresh_token: world.issueRefreshToken(grant),
    scope: grant.scopes.join(" "),
    created_at: Math.floor(world.now() / 1000),
  });
}

function scopesIn(query: URLSearchParams): readonly string[] {
  return (query.get("scope") ?? "").split(" ").filter((scope) => scope !== "");
}

function page(response: Response, status: number, text: string): void {
  const body = `<!doctype html><html lang="en"><title>GitLab</title><h1>An error has occurred</h1><p>${text}</p></html>`;
  response.status(status).type("html").send(body);
}
