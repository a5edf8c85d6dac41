import { createHmac, timingSafeEqual } from "node:crypto";
import { unescape } from "node:querystring";
import type { CookieOptions, Request, RequestHandler, Response } from "express";
import session, { type Store } from "express-session";
import type { AuthSection } from "../../config/server/server.js";
import type { Account } from "../../core/model/account.js";
import type { Clock } from "../../core/ports/clock.js";
import { SESSION_COOKIE } from "../../names.js";
import type { LoginAttempt } from "../../store/stores.js";

/** A login has to finish within this time. */
const ATTEMPT_LIFETIME_MS = 10 * 60_000;
/** Unfinished logins per browser, in several tabs. */
const MOST_ATTEMPTS = 5;
/** The cookie outlives the session, so that svc can report an expired session. */
const COOKIE_REST_MS = 7 * 86_400_000;

type SessionSettings = Pick<AuthSection, "sessionTtl" | "cookieDomain" | "cookieSecure"> & { readonly secret: string };

/** Web sessions in the store, identified by a signed cookie. */
export class WebSessions {
  constructor(
    private readonly settings: SessionSettings,
    private readonly store: Store,
    private readonly clock: Clock,
  ) {}

  /** How long a session lasts, in milliseconds; requests do not prolong it. */
  get lifetimeMs(): number {
    return this.settings.sessionTtl;
  }

  /** Reads the session of each request. An outage of the store goes to the error handler. */
  middleware(): RequestHandler {
    return session({
      name: SESSION_COOKIE,
      secret: this.settings.secret,
      store: this.store,
      cookie: { ...this.#cookie(), maxAge: ATTEMPT_LIFETIME_MS },
      resave: false,
      saveUninitialized: false,
    });
  }

  /** The account of the session; `expired` if the cookie is ours but the session no longer exists. */
  accountOf(request: Request): { readonly id: string } | "expired" | "none" {
    // A request without a path, such as OPTIONS *, gets no session.
    if (!("session" in request)) return "none";
    const { accountId, expiresAt = 0 } = request.session;
    if (accountId !== undefined && expiresAt > this.clock.now().getTime()) return { id: accountId };
    if (accountId !== undefined) return "expired";
    const sent = signedIdIn(request.headers.cookie, this.settings.secret);
    return sent !== undefined && sent !== request.sessionID ? "expired" : "none";
  }

  /** Opens a session with a new id, which nobody can have fixed before. */
  async open(request: Request, account: Account): Promise<void> {
    await settled((done) => request.session.regenerate(done));
    const { sessionTtl } = this.settings;
    const expiresAt = this.clock.now().getTime() + sessionTtl;
    Object.assign(request.session, { accountId: account.id, lifetimeMs: sessionTtl, expiresAt });
    request.session.cookie.maxAge = sessionTtl + COOKIE_REST_MS;
    await settled((done) => request.session.save(done));
  }

  async close(request: Request, response: Response): Promise<void> {
    await settled((done) => request.session.destroy(done));
    this.forget(response);
  }

  forget(response: Response): void {
    response.clearCookie(SESSION_COOKIE, this.#cookie());
  }

  /** Records the start of a login in the current session or in a new short one. */
  async begin(request: Request, attempt: Omit<LoginAttempt, "expiresAt">): Promise<void> {
    await this.#readAgain(request);
    const now = this.clock.now().getTime();
    const { session: current } = request;
    const earlier = (current.attempts ?? []).filter(({ expiresAt }) => expiresAt > now);
    current.attempts = [...earlier, { ...attempt, expiresAt: now + ATTEMPT_LIFETIME_MS }].slice(-MOST_ATTEMPTS);
    const ends = current.accountId === undefined ? now + ATTEMPT_LIFETIME_MS : (current.expiresAt ?? now);
    current.expiresAt = ends;
    current.lifetimeMs = Math.max(ends - now, ATTEMPT_LIFETIME_MS);
    await settled((done) => current.save(done));
  }

  /** Takes the login with this state, once. Undefined if it did not start here, is too old or was already used. */
  async take(request: Request, provider: LoginAttempt["provider"], state: string): Promise<LoginAttempt | undefined> {
    await this.#readAgain(request);
    const { session: current } = request;
    const attempts = current.attempts ?? [];
    const found = attempts.find((one) => one.provider === provider && one.state === state);
    if (found === undefined) return undefined;
    current.attempts = attempts.filter((one) => one !== found);
    await settled((done) => current.save(done));
    return found.expiresAt > this.clock.now().getTime() ? found : undefined;
  }

  /** Starts a new session if the old one is gone. It may have ended while this request waited, and a write would bring it back. */
  async #readAgain({ session: read }: Request): Promise<void> {
    await settled((done) => read.reload(done)).catch(() => settled((done) => read.regenerate(done)));
  }

  #cookie(): CookieOptions {
    const { cookieDomain, cookieSecure } = this.settings;
    return { path: "/", httpOnly: true, sameSite: "lax", secure: cookieSecure, domain: cookieDomain };
  }
}

/** The session id in the cookie if we signed it. express-session writes `s:<id>.<hmac>`. */
function signedIdIn(cookies: string | undefined, secret: string): string | undefined {
  const beginning = `${SESSION_COOKIE}=`;
  const pairs = (cookies ?? "").split(";").map((pair) => pair.trim());
  const value = pairs.find((pair) => pair.startsWith(beginning))?.slice(beginning.length) ?? "";
  const [, id = "", signature = ""] = /^s:(.+)\.([^.]+)$/.exec(unescape(value)) ?? [];
  const expected = createHmac("sha256", secret).update(id).digest();
  const given = Buffer.from(signature, "base64");
  return given.length === expected.length && timingSafeEqual(given, expected) ? id : undefined;
}

function settled(start: (done: (error?: unknown) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => {
      if (error === undefined || error === null) resolve();
      else reject(error instanceof Error ? error : new Error("the session could not be stored", { cause: error }));
    });
  });
}
