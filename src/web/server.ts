import express, { type ErrorRequestHandler, type Express, type Router } from "express";
import helmet from "helmet";
import type { Log } from "../core/log.js";
import { VIEWS_FOLDER } from "./pages.js";

export interface WebParts {
  /** Mounted before everything that reads bodies: webhooks are verified on raw bytes. */
  readonly webhooks: readonly Router[];
  readonly pages: Router;
  /** Resolves when the store answers; its error's message is safe to show. */
  readonly ping: () => Promise<void>;
  readonly trustProxy: boolean;
  readonly log: Log;
}

/** The HTTP surface: webhooks, health, pages. */
export function createWebServer(parts: WebParts): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("views", VIEWS_FOLDER);
  app.set("view engine", "ejs");
  app.set("trust proxy", parts.trustProxy ? 1 : false);
  // Plain http is common behind an ingress; the ingress sends HSTS where it ends TLS.
  const csp = { directives: { "upgrade-insecure-requests": null } };
  app.use(helmet({ contentSecurityPolicy: csp, strictTransportSecurity: false }));
  for (const router of parts.webhooks) app.use(router);
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
  app.use(parts.pages);
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
    const status = statusOf(error);
    if (status >= 500) log.error({ path: request.path, err: error }, "request failed");
    response.status(status).json({ error: status >= 500 ? "internal error; the log has the details" : "bad request" });
  };
}

function statusOf(error: unknown): number {
  const status = typeof error === "object" && error !== null && "status" in error ? error.status : undefined;
  return typeof status === "number" && status >= 400 && status < 600 ? status : 500;
}
