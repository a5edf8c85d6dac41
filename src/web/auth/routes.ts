import { type Request, type RequestHandler, type Response, Router } from "express";
import type { ServerConfig } from "../../config/server/server-config.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { AttemptCounter, UserStore } from "../../core/ports/stores.js";
import { userBody } from "../api/bodies.js";
import { isForm } from "../prefers-json.js";
import { viewerOf } from "../viewer.js";
import { basicRoutes } from "./basic.js";
import { checkPlainHttp, limitLogins } from "./login-guards.js";
import type { RedirectProvider } from "./login-provider.js";
import { redirectRoutes } from "./redirect-routes.js";
import { answerRefusal } from "./refusal.js";
import type { WebSessions } from "./session.js";
import { loginAddress, SESSION_EXPIRED, signInPage } from "./sign-in-page.js";
import type { TokenSeal } from "./token-seal.js";

export interface AuthParts {
  readonly config: Pick<ServerConfig, "auth" | "server">;
  readonly providers: readonly RedirectProvider[];
  readonly sessions: WebSessions;
  readonly users: UserStore;
  readonly attempts: AttemptCounter;
  readonly seal: TokenSeal;
  readonly clock: Clock;
  readonly log: Log;
}

/** `/login` and everything under `/auth` while authentication is on. Mount it after `identify`. */
export function authRoutes(parts: AuthParts): Router {
  const { config, providers, sessions } = parts;
  const { auth, server } = config;
  const router = Router();
  const limit = limitLogins(parts.attempts);
  const overHttps = refusePlainHttp(parts);
  const ways = { providers, basic: auth.basic !== undefined };
  router.get("/login", signInPage(ways, sessions));
  router.use("/auth", (_request, response, next) => {
    response.set("cache-control", "no-store");
    next();
  });
  router.get("/auth/providers", (_request, response) => {
    const listed = providers.map(({ id, name }) => ({ id, name, login_url: loginAddress(id) }));
    const basic = { id: "basic", name: "Username and password", login_url: "/auth/basic/login" };
    response.json({ providers: auth.basic === undefined ? listed : [...listed, basic] });
  });
  for (const provider of providers) {
    const routes = redirectRoutes({ ...parts, provider, auth, baseUrl: server.baseUrl });
    router.use(`/auth/${provider.id}`, limit, overHttps, routes);
  }
  if (auth.basic !== undefined) {
    router.use("/auth/basic/login", limit, overHttps, basicRoutes({ ...parts, configured: auth.basic.users, ways }));
  }
  router.get("/auth/me", (request, response) => {
    const viewer = viewerOf(request);
    if (viewer.kind === "account") response.json({ user: userBody(viewer.account) });
    else answerAnonymous(request, response);
  });
  router.post("/auth/logout", (request, response) => logOut(request, response, parts));
  return router;
}

async function logOut(request: Request, response: Response, { sessions, log }: AuthParts): Promise<void> {
  const viewer = viewerOf(request);
  if (viewer.kind !== "account" && !isForm(request)) {
    answerAnonymous(request, response);
    return;
  }
  await sessions.close(request, response);
  if (viewer.kind === "account") log.info({ account: viewer.account.id }, "logged out");
  if (isForm(request)) response.redirect(303, "/login");
  else response.status(204).end();
}

function answerAnonymous(request: Request, response: Response): void {
  const viewer = viewerOf(request);
  const expired = viewer.kind === "anonymous" && viewer.expired;
  response.status(401).json({ error: expired ? SESSION_EXPIRED : "not logged in; the sign-in page is /login" });
}

function refusePlainHttp({ config, log }: AuthParts): RequestHandler {
  const cureFor = checkPlainHttp(config.auth, config.server, log);
  return (request, response, next) => {
    const cure = cureFor(request);
    if (cure === undefined) next();
    else answerRefusal(request, response, { reason: "plain-http", cure });
  };
}
