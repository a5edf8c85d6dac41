import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from "express";
import * as z from "zod";
import type { AuthSection, BasicUser, ServerConfig } from "../../config/server/server.js";
import type { Account } from "../../core/model/account.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { AttemptCounter, UserStore } from "../../core/ports/stores.js";
import { SERVICE } from "../../names.js";
import { userBody } from "../api/bodies.js";
import { safeReturnTo } from "../page-paths.js";
import { isForm, prefersJson } from "../prefers-json.js";
import { viewerOf } from "../viewer.js";
import { assignRole } from "./assign-role.js";
import { checkPlainHttp, limitLogins } from "./login-guards.js";
import { accountOf, isRefusal, type RedirectProvider } from "./login-provider.js";
import { refusalInCallback } from "./oauth-client.js";
import { answerRefusal, type LoginRefusal, refusalText } from "./refusal.js";
import { completeLogin, type CompletionParts, type WebSessions } from "./session.js";
import type { TokenSeal } from "./token-seal.js";

interface AuthParts {
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

/** Shown to people whose session has expired. */
const SESSION_EXPIRED = "Session expired";

/** The ways to sign in. */
interface SignInWays {
  readonly providers: readonly RedirectProvider[];
  /** Whether there are users with passwords. */
  readonly basic: boolean;
}

/** `GET /login`. */
function signInPage(ways: SignInWays, sessions: WebSessions): RequestHandler {
  return (request, response) => {
    const returnTo = safeReturnTo(request.query.return_to);
    const viewer = viewerOf(request);
    if (viewer.kind === "account") {
      response.redirect(303, returnTo);
      return;
    }
    const expired = viewer.kind === "anonymous" && viewer.expired;
    // Shown once: without the cookie, the next request is an ordinary anonymous one.
    if (expired) sessions.forget(response);
    const notice = expired ? `${SESSION_EXPIRED}. Sign in again to continue.` : undefined;
    showSignIn(response, ways, { returnTo, notice });
  };
}

interface SignInShown {
  readonly returnTo: string;
  /** What happened before. */
  readonly notice: string | undefined;
  /** Given with a wrong password; filled in again. */
  readonly username?: string;
}

/** Shows a link per provider. Not forms: our content security policy forbids redirects of forms to other sites. */
function showSignIn(
  response: Response,
  { providers, basic }: SignInWays,
  { returnTo, notice, username = "" }: SignInShown,
): void {
  response.set("cache-control", "no-store").render("login", {
    service: SERVICE,
    providers: providers.map(({ id, name }) => ({ name, href: loginAddress(id, returnTo) })),
    basic,
    returnTo,
    notice,
    username,
  });
}

/** Where the login at a provider starts. */
function loginAddress(id: RedirectProvider["id"], returnTo = "/"): string {
  const path = `/auth/${id}/login`;
  return returnTo === "/" ? path : `${path}?return_to=${encodeURIComponent(returnTo)}`;
}

/** The address to register at the provider, word for word. */
export function callbackUrl(baseUrl: string, provider: RedirectProvider["id"]): string {
  return `${baseUrl}/auth/${provider}/callback`;
}

interface RedirectParts extends CompletionParts {
  readonly provider: RedirectProvider;
  readonly auth: Pick<AuthSection, "roleAssignments" | "defaultRole">;
  readonly baseUrl: string | undefined;
}

/** `login` and `callback` of one provider. */
function redirectRoutes(parts: RedirectParts): Router {
  const router = Router();
  router.get("/login", (request, response) => startLogin(request, response, parts));
  router.get("/callback", (request, response) => finishLogin(request, response, parts));
  return router;
}

async function startLogin(request: Request, response: Response, parts: RedirectParts): Promise<void> {
  const { provider, sessions, baseUrl } = parts;
  const returnTo = safeReturnTo(request.query.return_to);
  if (baseUrl === undefined) {
    refuseRedirect(request, response, parts, { reason: "no-base-url" }, returnTo);
    return;
  }
  const attempt = { state: random(), codeVerifier: random(), nonce: random() };
  const target = await provider.begin(attempt, callbackUrl(baseUrl, provider.id));
  if (!(target instanceof URL)) {
    refuseRedirect(request, response, parts, target, returnTo);
    return;
  }
  await sessions.begin(request, { provider: provider.id, returnTo, ...attempt });
  response.redirect(302, target.href);
}

async function finishLogin(request: Request, response: Response, parts: RedirectParts): Promise<void> {
  const { provider, sessions, auth, baseUrl } = parts;
  if (baseUrl === undefined) {
    refuseRedirect(request, response, parts, { reason: "no-base-url" });
    return;
  }
  // Never from the Host header: it has to be the registered address.
  const answer = new URL(callbackUrl(baseUrl, provider.id));
  answer.search = new URL(request.originalUrl, answer).search;
  const state = answer.searchParams.get("state") ?? "";
  const attempt = await sessions.take(request, provider.id, state);
  const refusal = refusalInCallback(answer, provider.name, attempt !== undefined);
  if (refusal !== undefined || attempt === undefined) {
    const unknown = { reason: "unknown-attempt", address: baseUrl } as const;
    refuseRedirect(request, response, parts, refusal ?? unknown, attempt?.returnTo);
    return;
  }
  const proven = await provider.finish(answer, attempt);
  if (isRefusal(proven)) {
    refuseRedirect(request, response, parts, proven, attempt.returnTo);
    return;
  }
  const { facts, tokens } = proven;
  const assigned = assignRole(auth.roleAssignments, auth.defaultRole, facts);
  if (assigned.kind === "unproven") {
    const what = `whether you belong to ${assigned.pattern}`;
    const unproven = { reason: "not-verified", title: provider.name, what, hint: assigned.hint } as const;
    refuseRedirect(request, response, parts, unproven, attempt.returnTo);
    return;
  }
  await completeLogin(request, accountOf(facts, assigned.role), parts, tokens);
  response.redirect(303, attempt.returnTo);
}

function refuseRedirect(
  request: Request,
  response: Response,
  { provider, log }: RedirectParts,
  refusal: LoginRefusal,
  returnTo?: string,
): void {
  log.warn({ provider: provider.id, reason: refusal.reason, remote: request.ip }, "login refused");
  answerRefusal(request, response, refusal, returnTo);
}

/** 256 bits, in the 43 to 128 characters that a PKCE verifier may have (RFC 7636, 4.1). */
function random(): string {
  return randomBytes(32).toString("base64url");
}

interface BasicParts extends CompletionParts {
  readonly configured: readonly BasicUser[];
  /** What the sign-in page offers. */
  readonly ways: SignInWays;
}

const MOST_BYTES = "10kb";

/** Login with a username and password of the configuration, for development only. */
function basicRoutes(parts: BasicParts): Router {
  const { configured, ways, log } = parts;
  const router = Router();
  router.use(express.json({ limit: MOST_BYTES }), express.urlencoded({ extended: false, limit: MOST_BYTES }));
  router.use(unreadable);
  router.post("/", async (request, response) => {
    const sent = readCredentials(request.body);
    if (typeof sent === "string") {
      refuse(request, response, { reason: "bad-request", problem: sent }, log);
      return;
    }
    const proven = basicAccount(configured, sent);
    if (proven === undefined) {
      const refusal = { reason: "wrong-password" } as const;
      if (prefersJson(request)) refuse(request, response, refusal, log);
      else stayOnPage(request, response, refusal, { sent, ways, log });
      return;
    }
    const account = await completeLogin(request, proven, parts);
    log.warn({ account: account.id }, "logged in with a password of the configuration: for development only");
    if (isForm(request)) response.redirect(303, safeReturnTo(sent.return_to));
    else response.json({ user: userBody(account) });
  });
  return router;
}

function refuse(request: Request, response: Response, refusal: LoginRefusal, log: Log): void {
  noteRefusal(request, refusal, log);
  answerRefusal(request, response, refusal);
}

/** Shows the form again, with the name that was given. */
function stayOnPage(
  request: Request,
  response: Response,
  refusal: LoginRefusal,
  { sent, ways, log }: { readonly sent: Credentials; readonly ways: SignInWays; readonly log: Log },
): void {
  noteRefusal(request, refusal, log);
  const { status, sentence, next } = refusalText(refusal);
  response.status(status);
  const { username, return_to } = sent;
  showSignIn(response, ways, { returnTo: safeReturnTo(return_to), notice: `${sentence}. ${next}`, username });
}

function noteRefusal(request: Request, { reason }: LoginRefusal, log: Log): void {
  log.warn({ provider: "basic", reason, remote: request.ip }, "login refused");
}

/** Answers bodies that the parsers reject. */
const unreadable: ErrorRequestHandler = (error: unknown, request, response, next) => {
  const status = error instanceof Error && "status" in error ? Number(error.status) : 500;
  if (status < 400 || status >= 500 || response.headersSent) {
    next(error);
    return;
  }
  answerRefusal(request, response, { reason: "bad-request", problem: "The body could not be read" });
};

const credentials = z.object({
  username: z.string().min(1).max(200),
  password: z.string().min(1).max(1000),
  return_to: z.string().optional(),
});

/** What the sign-in form or a program sent. */
type Credentials = z.infer<typeof credentials>;

/** The credentials of a parsed body, or a sentence that names the first wrong field. */
function readCredentials(body: unknown): Credentials | string {
  const parsed = credentials.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path[0];
  return field === undefined
    ? "the body: must be an object with username and password"
    : `${String(field)}: must be a non-empty text`;
}

/** The account of the configured user with this name and password. Takes equally long for an unknown name. */
function basicAccount(users: readonly BasicUser[], { username, password }: Credentials): Account | undefined {
  const given = digestOf(username, password);
  const found = users.filter((user) => timingSafeEqual(digestOf(user.username, user.password), given));
  const [user] = found;
  if (user === undefined) return undefined;
  const { role } = user;
  return { id: `basic:${user.username}`, provider: "basic", username: user.username, email: undefined, role };
}

function digestOf(username: string, password: string): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([username, password]))
    .digest();
}
