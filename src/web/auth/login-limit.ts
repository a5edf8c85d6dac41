import type { RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import type { AttemptCounter } from "../../core/ports/attempt-counter.js";
import { answerRefusal } from "./answer-refusal.js";

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
