import type { Request, RequestHandler, Response } from "express";
import { rateLimit } from "express-rate-limit";
import type { AuthSection, ServerSection } from "../../config/server/server.js";
import type { Log } from "../../core/ports/log.js";
import type { AttemptCounter } from "../../core/ports/stores.js";
import { answerRefusal } from "./refusal.js";

/** Login requests per address and window: starts, callbacks and passwords. A login at a provider counts twice. */
export const MOST_ATTEMPTS = 60;
const WINDOW_MS = 5 * 60_000;

/** Refuses (429) addresses with too many login requests. */
export function limitLogins(attempts: AttemptCounter): RequestHandler {
  return limitAttempts(attempts, (response, seconds, request) => {
    answerRefusal(request, response, { reason: "too-many", seconds });
  });
}

/** Counts the requests of an address, and has those beyond `MOST_ATTEMPTS` refused. IPv6 addresses count per /56 network. */
export function limitAttempts(
  attempts: AttemptCounter,
  refuse: (response: Response, seconds: number, request: Request) => void,
): RequestHandler {
  return rateLimit({
    windowMs: WINDOW_MS,
    limit: MOST_ATTEMPTS,
    legacyHeaders: false,
    // server.trust_proxy decides about proxies; the library would print its own warnings to the console.
    validate: false,
    store: {
      increment: async (key) => {
        const { count, resetsInMs } = await attempts.add(key, WINDOW_MS);
        return { totalHits: count, resetTime: new Date(Date.now() + resetsInMs) };
      },
      decrement: () => undefined,
      resetKey: () => undefined,
    },
    handler: (request, response) => {
      const seconds = Number(response.getHeader("retry-after")) || WINDOW_MS / 1000;
      refuse(response, seconds, request);
    },
  });
}

/** Why a browser would not get the session cookie; undefined if it would. */
type PlainHttpCheck = (request: Request) => string | undefined;

/** Browsers drop a secure cookie over plain http, so a login would loop. Returns the cure, and logs it once per process. */
export function checkPlainHttp(
  { cookieSecure }: Pick<AuthSection, "cookieSecure">,
  { trustProxy }: Pick<ServerSection, "trustProxy">,
  log: Log,
): PlainHttpCheck {
  const logged = new Set<string>();
  return (request) => {
    if (!cookieSecure || request.secure) return undefined;
    const forwarded = request.get("x-forwarded-proto");
    const cure = cureFor(trustProxy, forwarded);
    if (!logged.has(cure)) {
      logged.add(cure);
      log.warn({ trustProxy, forwarded: forwarded?.slice(0, 40), cure }, "a login came over plain http");
    }
    return cure;
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
