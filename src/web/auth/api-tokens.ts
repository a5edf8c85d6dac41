import { timingSafeEqual } from "node:crypto";
import type { Request, RequestHandler, Response } from "express";
import { hashOfToken, isApiToken } from "../../config/server/server-parts.js";
import type { AuthSection } from "../../config/server/server.js";
import type { Account } from "../../core/model/account.js";
import type { Log } from "../../core/ports/log.js";
import type { AttemptCounter } from "../../core/ports/stores.js";
import { networkOf } from "../../http/listen.js";
import { API_TOKEN_PREFIX } from "../../names.js";
import { setViewer } from "../viewer.js";

const API = /^\/api\/v1(?:\/|$)/i;

/** The API token of a request to `/api/v1`. Other bearers are not svc's, and without CORS no page of another site can send one. */
export function apiTokenIn({ path, headers }: Pick<Request, "path" | "headers">): string | undefined {
  if (!API.test(path)) return undefined;
  const [, sent] = /^bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
  return sent?.startsWith(API_TOKEN_PREFIX) === true ? sent : undefined;
}

interface ApiTokenParts {
  readonly tokens: readonly ApiToken[];
  readonly attempts: AttemptCounter;
  readonly log: Log;
}

/** Identifies requests by their API token. Unknown ones are refused, even beside a session, and limited per address. */
export function identifyToken({ tokens, attempts, log }: ApiTokenParts): RequestHandler {
  // Counted apart from logins: a script with an old token must not keep the people behind its address out.
  const counter: AttemptCounter = { add: (key, windowMs) => attempts.add(`api-token:${key}`, windowMs) };
  const limit = limitAttempts(counter, (response, seconds) => {
    const error = `too many unknown API tokens came from your address; wait ${seconds} seconds, and check the token meanwhile`;
    response
      .status(429)
      .set({ "retry-after": String(seconds), "cache-control": "no-store" })
      .json({ error });
  });
  return async (request, response, next) => {
    const sent = apiTokenIn(request);
    const account = sent === undefined ? undefined : accountOf(sent, tokens);
    if (account !== undefined) setViewer(request, { kind: "account", account });
    if (sent === undefined || account !== undefined) {
      next();
      return;
    }
    await limit(request, response, () => {
      log.warn({ remote: request.ip }, "refused an unknown API token");
      response.status(401).set({ "www-authenticate": "Bearer", "cache-control": "no-store" }).json({ error: UNKNOWN });
    });
  };
}

const UNKNOWN =
  "this API token is unknown or no longer valid: an operator lists the hash of each token in auth.api_tokens of svc.yaml";

/** Compares with every token in constant time. */
function accountOf(sent: string, tokens: readonly ApiToken[]): Account | undefined {
  const hash = Buffer.from(hashOfToken(sent));
  const [found] = tokens.filter((token) => timingSafeEqual(Buffer.from(token.hash), hash));
  if (found === undefined || !isApiToken(sent)) return undefined;
  const { name, role } = found;
  return { id: `api-token:${name}`, provider: "api-token", username: name, email: undefined, role };
}

/** Login requests per address and window: starts, callbacks and passwords. A login at a provider counts twice. */
export const MOST_ATTEMPTS = 60;
const WINDOW_MS = 5 * 60_000;

/** Counts the requests of an address, and has those beyond `MOST_ATTEMPTS` refused. IPv6 addresses count per /56 network. */
export function limitAttempts(
  attempts: AttemptCounter,
  refuse: (response: Response, seconds: number, request: Request) => void,
): RequestHandler {
  return async (request, response, next) => {
    const { count, resetsInMs } = await attempts.add(networkOf(request.ip), WINDOW_MS);
    if (count > MOST_ATTEMPTS) refuse(response, Math.max(1, Math.ceil(resetsInMs / 1000)), request);
    else next();
  };
}

type ApiToken = AuthSection["apiTokens"][number];
