import type { Request, RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import type { AuthSection, ServerSection } from "../../config/server-config.js";
import type { AttemptCounter } from "../../core/ports/attempt-counter.js";
import type { Log } from "../../core/ports/log.js";
import { answerRefusal } from "./refusal.js";

/** Logins begun, callbacks and passwords of one address; a login at a provider counts twice. */
export const MOST_ATTEMPTS = 60;
const WINDOW_MS = 5 * 60_000;

/** Refuses an address that tries too often (429). An IPv6 address counts with its whole network of 56 bits. */
export function limitLogins(attempts: AttemptCounter): RequestHandler {
  return rateLimit({
    windowMs: WINDOW_MS,
    limit: MOST_ATTEMPTS,
    legacyHeaders: false,
    // Proxies are a matter of server.trust_proxy; the library would print its doubts to the console.
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
      answerRefusal(request, response, { reason: "too-many", seconds });
    },
  });
}

/** Why a browser would not get the session's cookie; undefined when it would. */
export type PlainHttpCheck = (request: Request) => string | undefined;

/**
 * With `cookie_secure` on, a request that did not come by HTTPS gets no cookie, and a login would end where it began,
 * without a word. Tells the cure for each cause, in the log once per process.
 */
export function checkPlainHttp(
  { cookieSecure }: Pick<AuthSection, "cookieSecure">,
  { trustProxy }: Pick<ServerSection, "trustProxy">,
  log: Log,
): PlainHttpCheck {
  const told = new Set<string>();
  return (request) => {
    if (!cookieSecure || request.secure) return undefined;
    const forwarded = request.get("x-forwarded-proto");
    const cure = cureFor(trustProxy, forwarded);
    if (!told.has(cure)) {
      told.add(cure);
      log.warn({ trustProxy, forwarded: forwarded?.slice(0, 40), cure }, "a login came over plain http");
    }
    return cure;
  };
}

function cureFor(trustProxy: boolean, forwarded: string | undefined): string {
  if (!trustProxy && forwarded !== undefined) {
    return "A proxy stands before this service: set server.trust_proxy to true, so that it is believed when it says that the browser uses HTTPS.";
  }
  if (trustProxy && forwarded === undefined) {
    return "The proxy does not say how the browser came: let it send the header X-Forwarded-Proto.";
  }
  return "Open this service by its https address. For development on plain http, set auth.cookie_secure to false.";
}
