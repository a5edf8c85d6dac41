import { fileURLToPath } from "node:url";
import ejs from "ejs";
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from "express";
import { shippedFile } from "../config/files.js";
import { safeMessage, StoredValueUnreadable, StoreUnavailable } from "../core/model/errors.js";
import type { HostWords } from "../core/model/host-words.js";
import type { Log } from "../core/ports/log.js";
import { SERVICE } from "../names.js";
import { apiTokenIn } from "./auth/api-tokens.js";
import { comesFromElsewhere, prefersJson, securityHeaders } from "./browser-guards.js";
import { problemPage, show } from "./pages/page.js";
import { viewerOf } from "./viewer.js";

const READS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses (403) state changes that a page of another site triggers. Browsers send `Sec-Fetch-Site` and `Origin` with such
 * requests, and no page can forge them (https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site).
 * Programs that send neither header pass, and so does whoever sends an API token: it counts alone, without the cookie.
 * @param baseUrl Where people reach the service. The host that the request was sent to is accepted as well.
 */
function refuseOtherSites(baseUrl: string | undefined): RequestHandler {
  const own = baseUrl === undefined ? undefined : new URL(baseUrl).origin;
  return (request, response, next) => {
    if (READS.has(request.method) || apiTokenIn(request) !== undefined || !comesFromElsewhere(request, own)) {
      next();
      return;
    }
    if (request.accepts(["json", "html"]) === "html") show(response, viewerOf(request), REFUSED_PAGE);
    else response.status(403).json({ error: REFUSED });
  };
}

const REFUSED =
  "a page of another site sent this request, so nothing was changed; repeat it on a page of this service. " +
  "If you did, server.base_url differs from the address that your browser shows";

const REFUSED_PAGE = problemPage(403, "Nothing was changed", [
  `A page of another site sent this request. Repeat it on a page of ${SERVICE}.`,
  `If you did, server.base_url differs from the address that your browser shows: tell whoever runs ${SERVICE}.`,
]);

/** Folder of the page templates; only `assets` in it is served. */
export const VIEWS_FOLDER = fileURLToPath(shippedFile("views"));

interface WebParts {
  /** Runs before the webhooks. */
  readonly tracing: readonly RequestHandler[];
  /** Mounted first: they verify raw bytes, and their senders wait. */
  readonly webhooks: readonly { readonly path: string; readonly post: RequestHandler }[];
  /** Records who makes the request, for everything below. */
  readonly identify: readonly RequestHandler[];
  /** `/login` and `/auth`; an empty router when authentication is off. */
  readonly auth: Router;
  readonly api: Router;
  readonly pages: Router;
  readonly words: readonly HostWords[];
  /** Where people reach the service. */
  readonly baseUrl: string | undefined;
  /** Resolves if the store answers. The message of its error is safe to show. */
  readonly ping: () => Promise<void>;
  readonly trustProxy: boolean;
  readonly log: Log;
}

/** Lets an application render the page templates. */
export function renderViews(app: Express): void {
  app.set("views", VIEWS_FOLDER);
  app.set("view engine", "ejs");
  // Without this, Express would require the engine by its name, which a bundle cannot.
  app.engine("ejs", (path, data, done) => ejs.renderFile(path, data, done));
}

/** The HTTP surface: webhooks, health, login, API, pages. */
export function createWebServer(parts: WebParts): Express {
  const app = express();
  app.disable("x-powered-by");
  renderViews(app);
  app.set("trust proxy", parts.trustProxy ? 1 : false);
  Object.assign(app.locals, {
    command: parts.words[0]?.command,
    changeRequest: anyChangeRequest(parts.words),
    changeRequests: anyChangeRequest(parts.words, "s"),
  });
  for (const handler of parts.tracing) app.use(handler);
  for (const { path, post } of parts.webhooks) app.post(path, post);
  app.use(securityHeaders());
  app.get("/health", (_request, response) => {
    response.json({ status: "ok" });
  });
  app.get("/ready", async (_request, response) => {
    try {
      await parts.ping();
      response.json({ status: "ready" });
    } catch (error) {
      const message = error instanceof Error ? error.message : "the store does not answer";
      response.status(503).json({ status: "unavailable", error: message });
    }
  });
  // The same for everybody, so no session is read for them. No max-age: browsers ask each time whether a file changed.
  app.use("/assets", express.static(`${VIEWS_FOLDER}/assets`, { index: false, redirect: false, maxAge: 0 }));
  app.use(refuseOtherSites(parts.baseUrl), ...parts.identify);
  app.use(parts.auth, parts.api, parts.pages);
  app.use((_request, response) => {
    response.status(404).json({ error: "there is nothing at this address" });
  });
  app.use(errorHandler(parts.log));
  return app;
}

function errorHandler(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const ofStore = error instanceof StoreUnavailable || error instanceof StoredValueUnreadable;
    const page = problemOf(error);
    if (ofStore) log.warn({ path: request.path, err: error }, "could not answer a request from the store");
    else if (page.status >= 500) log.error({ path: request.path, err: error }, "request failed");
    response.status(page.status).set("cache-control", "no-store");
    if (!prefersJson(request)) show(response, viewerOf(request), page);
    else if (ofStore) response.json({ error: safeMessage(error) });
    else response.json({ error: page.status >= 500 ? "internal error; the log has the details" : "bad request" });
  };
}

function problemOf(error: unknown) {
  if (error instanceof StoredValueUnreadable) return problemPage(500, "A stored value cannot be read", [error.message]);
  if (error instanceof StoreUnavailable) {
    const hint = "This page works again as soon as the store answers. Until then, nothing is deployed.";
    return problemPage(503, "The store is unavailable", [`${safeMessage(error)}.`, hint]);
  }
  const status = statusOf(error);
  return status >= 500
    ? problemPage(status, "Internal error", [
        `${SERVICE} could not answer this request. Try again; if it fails once more, ask whoever runs ${SERVICE}: the log says why.`,
      ])
    : problemPage(status, "Bad request", [
        `${SERVICE} cannot read this request: its address or its form is malformed or too long.`,
      ]);
}

function statusOf(error: unknown): number {
  const status = typeof error === "object" && error !== null && "status" in error ? error.status : undefined;
  return typeof status === "number" && status >= 400 && status < 600 ? status : 500;
}

/** What readers of several hosts call a change request: `pull request or merge request`. */
export function anyChangeRequest(words: readonly Pick<HostWords, "changeRequest">[], plural: "" | "s" = ""): string {
  return [...new Set(words.map(({ changeRequest }) => `${changeRequest}${plural}`))].join(" or ");
}
