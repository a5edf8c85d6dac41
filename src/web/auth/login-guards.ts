import type { Request, RequestHandler, Response } from "express";
import { rateLimit } from "express-rate-limit";
import type { AttemptCounter } from "../../core/ports/stores.js";

/** Login requests per address and window: starts, callbacks and passwords. A login at a provider counts twice. */
export const MOST_ATTEMPTS = 60;
const WINDOW_MS = 5 * 60_000;

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
