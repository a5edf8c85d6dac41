import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from "express";
import * as z from "zod";
import type { AuthSection, ServerConfig } from "../../config/server/server.js";
import { percentDecoded } from "../../core/detect/tree/repository-url.js";
import type { Account, LoginProvider } from "../../core/model/account.js";
import { changePagePath } from "../../core/model/change-request.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { AttemptCounter, UserStore } from "../../core/ports/stores.js";
import { SERVICE } from "../../names.js";
import { readChangeAddress, PAGE_PATHS } from "../addresses.js";
import { userBody } from "../api/bodies.js";
import { prefersJson } from "../browser-guards.js";
import { viewerOf } from "../viewer.js";
import { limitAttempts } from "./api-tokens.js";
import { assignRole } from "./assign-role.js";
import { accountOf, type RedirectProvider } from "./login-provider.js";
import { refusalInCallback } from "./oauth-client.js";
import { isRefusal, type LoginRefusal, refuse } from "./refusal.js";
import type { WebSessions } from "./session.js";
import type { ProviderTokens, TokenSeal } from "./token-seal.js";

/** What the routes of a login need. */
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
  const limit = limitAttempts(parts.attempts, (response, seconds, request) => {
    answerRefusal(request, response.set("retry-after", String(seconds)), refuse("too-many", seconds));
  });
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
    if (server.baseUrl !== undefined) {
      const callback = callbackUrl(server.baseUrl, provider.id);
      parts.log.info({ provider: provider.id, callback }, "register exactly this callback address");
    }
    router.use(`/auth/${provider.id}`, limit, overHttps, redirectRoutes(provider, parts));
  }
  if (auth.basic !== undefined) {
    router.use("/auth/basic/login", limit, overHttps, basicRoutes(auth.basic.users, ways, parts));
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

const SESSION_EXPIRED = "Session expired";

interface SignInWays {
  readonly providers: readonly RedirectProvider[];
  /** Whether there are users with passwords. */
  readonly basic: boolean;
}

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

/** Where a login leads by default. */
const HOME = "/";

/**
 * The page to open after the login: one of our pages with its query, or the first page for anything else. The path is
 * compared as it was sent: nothing is resolved first, so `/../`, `//host` and `/\host` name no page.
 */
export function safeReturnTo(wish: unknown): string {
  if (typeof wish !== "string" || wish.length > 2000 || /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\\]/u.test(wish)) return HOME;
  const path = /^[^?#]*/.exec(wish)?.[0] ?? "";
  const page = knownPage(path);
  if (page === undefined) return HOME;
  const { search, hash } = new URL(HOME + wish.slice(path.length), "http://svc.invalid");
  return page + search + hash;
}

/** What browsers or proxies may interpret: escapes, backslashes, control characters, lone surrogates, dot segments. */
const AMBIGUOUS = /[%\\\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?:^|\/)\.{1,2}(?:\/|$)/u;

/**
 * The canonical path of one of our pages; undefined if `path` names none. Each part is decoded once, so
 * an escaped letter names the same page as the letter, and a part that still holds an escape names none.
 */
function knownPage(path: string): string | undefined {
  const parts = path.split("/").map(percentDecoded);
  for (const route of PAGE_PATHS) {
    const wanted = route.split("/");
    if (wanted.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = wanted.every((name, index) => {
      const part = parts[index];
      if (part === undefined || AMBIGUOUS.test(part)) return false;
      if (!name.startsWith(":")) return part === name;
      params[name.slice(1)] = part;
      return true;
    });
    if (!fits) continue;
    if (!route.includes(":")) return route;
    const change = readChangeAddress(params);
    return change && changePagePath(change);
  }
  return undefined;
}

/** Shows a link per provider. Not forms: our content security policy forbids redirects of forms to other sites. */
function showSignIn(
  response: Response,
  { providers, basic }: SignInWays,
  { returnTo, notice, username = "" }: { returnTo: string; notice: string | undefined; username?: string },
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

/** Where the login at a provider starts; without one, the sign-in page. */
function loginAddress(id?: RedirectProvider["id"], returnTo = "/"): string {
  const path = id === undefined ? "/login" : `/auth/${id}/login`;
  return returnTo === "/" ? path : `${path}?return_to=${encodeURIComponent(returnTo)}`;
}

/** The callback address, exactly as it must be registered with the provider. */
function callbackUrl(baseUrl: string, provider: RedirectProvider["id"]): string {
  return `${baseUrl}/auth/${provider}/callback`;
}

function redirectRoutes(provider: RedirectProvider, parts: AuthParts): Router {
  const router = Router();
  for (const [path, step] of [
    ["/login", startLogin],
    ["/callback", finishLogin],
  ] as const) {
    router.get(path, async (request, response) => {
      const next = await step(request, provider, parts);
      if ("to" in next) response.redirect(next.status, next.to);
      else refuseLogin(request, response, next.refusal, { ...parts, id: provider.id, returnTo: next.returnTo });
    });
  }
  return router;
}

/** Where the browser goes, or why the login ends. */
type LoginStep =
  | { readonly status: 302 | 303; readonly to: string }
  | { readonly refusal: LoginRefusal; readonly returnTo?: string | undefined };

async function startLogin(request: Request, provider: RedirectProvider, parts: AuthParts): Promise<LoginStep> {
  const { baseUrl } = parts.config.server;
  const returnTo = safeReturnTo(request.query.return_to);
  if (baseUrl === undefined) return { refusal: refuse("no-base-url"), returnTo };
  const attempt = { state: random(), codeVerifier: random(), nonce: random() };
  const target = await provider.begin(attempt, callbackUrl(baseUrl, provider.id));
  if (!(target instanceof URL)) return { refusal: target, returnTo };
  await parts.sessions.begin(request, { provider: provider.id, returnTo, ...attempt });
  return { status: 302, to: target.href };
}

async function finishLogin(request: Request, provider: RedirectProvider, parts: AuthParts): Promise<LoginStep> {
  const { auth, server } = parts.config;
  const { baseUrl } = server;
  if (baseUrl === undefined) return { refusal: refuse("no-base-url") };
  // Never from the Host header: it has to be the registered address.
  const answer = new URL(callbackUrl(baseUrl, provider.id));
  answer.search = request.originalUrl.replace(/^[^?]*/, "");
  const attempt = await parts.sessions.take(request, provider.id, answer.searchParams.get("state") ?? "");
  const refusal = refusalInCallback(answer, provider.name, attempt !== undefined);
  if (refusal !== undefined) return { refusal, returnTo: attempt?.returnTo };
  if (attempt === undefined) return { refusal: refuse("unknown-attempt", baseUrl) };
  const { returnTo } = attempt;
  const proven = await provider.finish(answer, attempt);
  if (isRefusal(proven)) return { refusal: proven, returnTo };
  const { facts, tokens } = proven;
  const assigned = assignRole(auth.roleAssignments, auth.defaultRole, facts);
  if (assigned.kind === "unproven") {
    const what = `whether you belong to ${assigned.pattern}`;
    return { refusal: refuse("not-verified", provider.name, what, assigned.hint), returnTo };
  }
  await completeLogin(request, accountOf(facts, assigned.role), parts, tokens);
  return { status: 303, to: returnTo };
}

/** Records the person and opens the session. Returns the account with its effective role. */
async function completeLogin(
  request: Request,
  proven: Account,
  { sessions, users, seal, clock, log }: AuthParts,
  tokens?: ProviderTokens,
): Promise<Account> {
  const now = clock.now().getTime();
  const standing = tokens && { sealed: seal.seal(tokens, proven.id), askedAt: now, provenAt: now };
  const account = await users.signIn(proven, sessions.lifetimeMs, standing);
  await sessions.open(request, account);
  const { id, username, role, provider } = account;
  log.info({ account: id, username, role, provider, remote: request.ip }, "logged in");
  return account;
}

function refuseLogin(
  request: Request,
  response: Response,
  refusal: LoginRefusal,
  { id, log, returnTo }: { readonly id: LoginProvider; readonly log: Log; readonly returnTo?: string | undefined },
): void {
  log.warn({ provider: id, reason: refusal.reason, remote: request.ip }, "login refused");
  answerRefusal(request, response, refusal, returnTo);
}

/** 256 bits, in the 43 to 128 characters that a PKCE verifier may have (RFC 7636, 4.1). */
function random(): string {
  return randomBytes(32).toString("base64url");
}

const MOST_BYTES = "10kb";

/** Login with a username and password of the configuration, for development only. */
function basicRoutes(configured: readonly BasicUser[], ways: SignInWays, parts: AuthParts): Router {
  const { log } = parts;
  const router = Router();
  router.use(express.json({ limit: MOST_BYTES }), express.urlencoded({ extended: false, limit: MOST_BYTES }));
  router.use(unreadable);
  router.post("/", async (request, response) => {
    const sent = readCredentials(request.body);
    if (typeof sent === "string") {
      refuseLogin(request, response, refuse("bad-request", sent), { id: "basic", log });
      return;
    }
    const proven = basicAccount(configured, sent);
    if (proven !== undefined) {
      const account = await completeLogin(request, proven, parts);
      log.warn({ account: account.id }, "logged in with a password of the configuration: for development only");
      if (isForm(request)) response.redirect(303, safeReturnTo(sent.return_to));
      else response.json({ user: userBody(account) });
    } else if (prefersJson(request)) {
      refuseLogin(request, response, refuse("wrong-password"), { id: "basic", log });
    } else {
      // The form again, with the name that was given.
      log.warn({ provider: "basic", reason: "wrong-password", remote: request.ip }, "login refused");
      const { status, sentence, next } = refuse("wrong-password");
      const { username, return_to } = sent;
      const shown = { returnTo: safeReturnTo(return_to), notice: `${sentence}. ${next}`, username };
      showSignIn(response.status(status), ways, shown);
    }
  });
  return router;
}

/** Answers bodies that the parsers reject. */
const unreadable: ErrorRequestHandler = (error: unknown, request, response, next) => {
  const status = error instanceof Error && "status" in error ? Number(error.status) : 500;
  if (status < 400 || status >= 500 || response.headersSent) {
    next(error);
    return;
  }
  answerRefusal(request, response, refuse("bad-request", "The body could not be read"));
};

const credentials = z.object({
  username: z.string().min(1).max(200),
  password: z.string().min(1).max(1000),
  return_to: z.string().optional(),
});

type Credentials = z.infer<typeof credentials>;

/** The credentials in a body, or a sentence that names the first wrong field. */
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
  const [user] = users.filter((one) => timingSafeEqual(digestOf(one.username, one.password), given));
  if (user === undefined) return undefined;
  return { id: `basic:${user.username}`, provider: "basic", username, email: undefined, role: user.role };
}

function digestOf(username: string, password: string): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([username, password]))
    .digest();
}

/** Whether a page submitted a form, with or without fields. */
function isForm(request: Request): boolean {
  return /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(request.headers["content-type"] ?? "");
}

/** Browsers drop a secure cookie over plain http, so a login would loop. Refuses it, and logs the cure once per process. */
function refusePlainHttp({ config, log }: AuthParts): RequestHandler {
  const { trustProxy } = config.server;
  const logged = new Set<string>();
  return (request, response, next) => {
    if (!config.auth.cookieSecure || request.secure) {
      next();
      return;
    }
    const forwarded = request.get("x-forwarded-proto");
    const cure = cureFor(trustProxy, forwarded);
    if (!logged.has(cure)) {
      logged.add(cure);
      log.warn({ trustProxy, forwarded: forwarded?.slice(0, 40), cure }, "a login came over plain http");
    }
    answerRefusal(request, response, refuse("plain-http", cure));
  };
}

function cureFor(trustProxy: boolean, forwarded: string | undefined): string {
  if (!trustProxy && forwarded !== undefined) {
    return "There is a proxy in front of this service: set server.trust_proxy to true, so that svc believes its X-Forwarded-Proto.";
  }
  if (trustProxy && forwarded === undefined) {
    return "The proxy does not say whether the browser uses HTTPS: let it send the header X-Forwarded-Proto.";
  }
  return "Open this service by its https address. For development on plain http, set auth.cookie_secure to false.";
}

/** Answers with the refusal's status: a page for people, `{"error"}` for programs. */
function answerRefusal(
  request: Request,
  response: Response,
  { status, sentence, next }: LoginRefusal,
  returnTo = "/",
): void {
  response.status(status);
  if (prefersJson(request)) {
    response.json({ error: `${sentence}. ${next}` });
    return;
  }
  response.render("sign-in-failed", { service: SERVICE, sentence, next, again: loginAddress(undefined, returnTo) });
}

type BasicUser = NonNullable<AuthSection["basic"]>["users"][number];
