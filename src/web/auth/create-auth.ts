import { type RequestHandler, Router } from "express";
import type { ServerConfig } from "../../config/server/server-config.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { UserStore } from "../../core/ports/stores.js";
import type { Stores } from "../../store/stores.js";
import { isIdentified, setViewer, type Viewer } from "../viewer.js";
import { identifyToken } from "./api-tokens.js";
import { meaningOf } from "./assign-role.js";
import { githubLogin } from "./github.js";
import { gitlabLogin } from "./gitlab.js";
import type { RedirectProvider } from "./login-provider.js";
import { oidcLogin } from "./oidc.js";
import { callbackUrl } from "./redirect-routes.js";
import { authRoutes } from "./routes.js";
import { WebSessions } from "./session.js";
import { StandingChecks } from "./standing-checks.js";
import { TokenSeal } from "./token-seal.js";

export interface AuthOptions {
  readonly config: Pick<ServerConfig, "auth" | "server" | "hosta">;
  readonly stores: Pick<Stores, "users" | "sessions" | "attempts">;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the web server needs of authentication. */
export interface Auth {
  readonly identify: readonly RequestHandler[];
  readonly routes: Router;
}

/** Login, sessions and roles as configured. With authentication off, everyone is an `unguarded` viewer. */
export function createAuth({ config, stores, clock, log }: AuthOptions): Auth {
  const { auth, server } = config;
  if (!auth.enabled) return { identify: [identifyNobody()], routes: Router() };
  if (auth.sessionSecret === undefined) throw new TypeError("auth.enabled without auth.session_secret");
  const sessions = new WebSessions({ ...auth, secret: auth.sessionSecret }, stores.sessions, clock);
  const providers = providersOf(config, clock, log);
  for (const { id } of providers) {
    if (server.baseUrl === undefined) break;
    log.info({ provider: id, callback: callbackUrl(server.baseUrl, id) }, "register exactly this callback address");
  }
  for (const { pattern } of auth.roleAssignments.filter((one) => meaningOf(one).kind === "nothing")) {
    log.warn({ pattern }, "a role assignment matches nobody: a group needs its provider (hosta, hostb or oidc)");
  }
  const { users, attempts } = stores;
  const seal = new TokenSeal(auth.sessionSecret);
  const standings = new StandingChecks({ auth, users, providers, seal, clock, log });
  return {
    identify: [
      identifyToken({ tokens: auth.apiTokens, attempts, log }),
      unlessIdentified(sessions.middleware()),
      unlessIdentified(identify(sessions, users, standings)),
    ],
    routes: authRoutes({ config, providers, sessions, users, attempts, seal, clock, log }),
  };
}

function providersOf({ auth, hosta }: AuthOptions["config"], clock: Clock, log: Log): readonly RedirectProvider[] {
  const { roleAssignments } = auth;
  return [
    ...(auth.hosta === undefined
      ? []
      : [githubLogin({ ...auth.hosta, roleAssignments, ...addressesOf(hosta) }, clock, log)]),
    ...(auth.hostb === undefined ? [] : [gitlabLogin({ ...auth.hostb, roleAssignments }, clock, log)]),
    ...(auth.oidc === undefined ? [] : [oidcLogin(auth.oidc, clock, log)]),
  ];
}

/** The addresses of the configured GitHub, or of github.com. */
function addressesOf(hosta: ServerConfig["hosta"]) {
  return { apiUrl: hosta?.apiUrl ?? "https://api.github.com", webUrl: hosta?.webUrl ?? "https://github.com" };
}

/** With authentication off: records every request as `unguarded`. */
export function identifyNobody(): RequestHandler {
  return (request, _response, next) => {
    setViewer(request, { kind: "unguarded" });
    next();
  };
}

function unlessIdentified(handler: RequestHandler): RequestHandler {
  return (request, response, next) => {
    if (!isIdentified(request)) return handler(request, response, next);
    next();
    return undefined;
  };
}

/** Records who makes each request, with the current role. Mount it after the sessions. */
export function identify(sessions: WebSessions, users: UserStore, standings: StandingChecks): RequestHandler {
  return async (request, _response, next) => {
    const found = sessions.accountOf(request);
    const known = typeof found === "object" ? await users.find(found.id) : undefined;
    const account = known && (await standings.current(known));
    const viewer: Viewer =
      account === undefined ? { kind: "anonymous", expired: found !== "none" } : { kind: "account", account };
    setViewer(request, viewer);
    next();
  };
}
