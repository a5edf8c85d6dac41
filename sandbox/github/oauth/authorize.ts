import express, { type Request, type Response, type Router } from "express";
import type { World } from "../world.js";
import type { OAuthApp } from "./login-world.js";

const DOCUMENTATION = "https://docs.github.com/apps/managing-oauth-apps/troubleshooting-authorization-request-errors";

/**
 * The pages of https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps . They act only on
 * documented parameters. The person who is signed in agrees at once.
 */
export function authorizePages(world: World): Router {
  const router = express.Router();
  router.get("/login/oauth/authorize", (request, response) => authorize(world, request, response));
  return router;
}

function authorize(world: World, request: Request, response: Response): void {
  const query = new URL(request.originalUrl, world.url).searchParams;
  const app = world.login.app(query.get("client_id") ?? "");
  if (app === undefined) {
    page(response, 404, "<h1>404</h1><p>This is not the web page you are looking for.</p>");
    return;
  }
  const redirectUri = query.get("redirect_uri") ?? app.callbackUrl;
  if (!isBelow(redirectUri, app.callbackUrl)) {
    mismatch(response, app, query);
    return;
  }
  const challenge = query.get("code_challenge") ?? undefined;
  if (challenge !== undefined && query.get("code_challenge_method") !== "S256") {
    page(response, 400, "<h1>Invalid request</h1><p>Only the code challenge method S256 is supported.</p>");
    return;
  }
  const login = world.login.signedIn;
  if (login === "cancel") {
    const description = "The user has denied your application access.";
    back(response, redirectUri, { ...refused("access_denied", description), state: query.get("state") });
    return;
  }
  const scopes = (query.get("scope") ?? "").split(/[\s,]+/).filter((scope) => scope !== "");
  const code = world.login.issueCode({ app, person: world.person(login), scopes, redirectUri, challenge });
  back(response, redirectUri, { code, state: query.get("state"), iss: `${world.url}/login/oauth` });
}

function mismatch(response: Response, app: OAuthApp, query: URLSearchParams): void {
  if (app.onMismatch === "redirect") {
    const description = "The redirect_uri MUST match the registered callback URL for this application.";
    const error = refused("redirect_uri_mismatch", description);
    back(response, app.callbackUrl, { ...error, state: query.get("state") });
    return;
  }
  const text = "The <code>redirect_uri</code> is not associated with this application.";
  page(response, 400, `<h1>Be careful!</h1><p>${text} The application might be misconfigured.</p>`);
}

/**
 * "The redirect_uri's host (excluding sub-domains) and port must exactly match the callback URL. Its path must
 * reference a subdirectory."
 */
function isBelow(redirectUri: string, callbackUrl: string): boolean {
  if (!URL.canParse(redirectUri)) return false;
  const [asked, registered] = [new URL(redirectUri), new URL(callbackUrl)];
  const path = registered.pathname.replace(/\/$/, "");
  return asked.origin === registered.origin && (asked.pathname === path || asked.pathname.startsWith(`${path}/`));
}

function refused(error: string, description: string) {
  return { error, error_description: description, error_uri: DOCUMENTATION };
}

function back(response: Response, address: string, members: Readonly<Record<string, string | null>>): void {
  const url = new URL(address);
  for (const [name, value] of Object.entries(members)) if (value !== null) url.searchParams.set(name, value);
  response.redirect(302, url.href);
}

function page(response: Response, status: number, body: string): void {
  response.status(status).type("html").send(`<!doctype html><html lang="en"><title>GitHub</title>${body}</html>`);
}
