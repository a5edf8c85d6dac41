import { createHash, timingSafeEqual } from "node:crypto";
import express, { type ErrorRequestHandler, type RequestHandler, type Router } from "express";
import { z } from "zod";
import type { Instance } from "../model/instance.js";
import { accountRoutes } from "./account-routes.js";
import { approvalRoutes } from "./approval-routes.js";
import { awardRoutes } from "./award-routes.js";
import { holderOf } from "./call.js";
import { deploymentRoutes } from "./deployment-routes.js";
import { graphqlEndpoint } from "./graphql.js";
import { hookRoutes } from "./hook-routes.js";
import { mergeRequestRoutes } from "./merge-request-routes.js";
import { mergeTrainRoutes } from "./merge-train-routes.js";
import { noteRoutes } from "./note-routes.js";
import { repositoryRoutes } from "./repository-routes.js";
import { statusRoutes } from "./status-routes.js";

/** The REST API below `/api/v4`, and GraphQL. Anything that the sandbox does not serve is 404 and a violation. */
export function apiRouter(instance: Instance): Router {
  const router = express.Router({ caseSensitive: true });
  router.use("/api/v4", authenticate(instance), express.json({ limit: "10mb" }));
  router.post("/api/graphql", authenticate(instance), express.json({ limit: "10mb" }), graphqlEndpoint(instance));
  accountRoutes(router, instance);
  mergeRequestRoutes(router, instance);
  mergeTrainRoutes(router, instance);
  approvalRoutes(router, instance);
  noteRoutes(router, instance);
  awardRoutes(router, instance);
  statusRoutes(router, instance);
  deploymentRoutes(router, instance);
  hookRoutes(router, instance);
  repositoryRoutes(router, instance);
  router.use("/api/v4", (request, response) => {
    instance.violations.push(`${request.method} ${request.originalUrl}: there is no such endpoint`);
    response.status(404).json({ error: "404 Not Found" });
  });
  router.use(answerError(instance));
  return router;
}

/** An unreadable body is the client's fault, any other error the sandbox's. Both are violations. */
function answerError(instance: Instance): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const known = z.object({ status: z.int().min(400).max(499), message: z.string() }).safeParse(error);
    instance.violations.push(`${request.method} ${request.path}: ${error instanceof Error ? error.message : "failed"}`);
    if (known.success) response.status(known.data.status).json({ error: known.data.message });
    else response.status(500).json({ message: "500 Internal Server Error" });
  };
}

function authenticate(instance: Instance): RequestHandler {
  return (request, response, next) => {
    if (holderOf(instance, request) === undefined) {
      response.status(401).json({ message: "401 Unauthorized" });
      return;
    }
    // GitLab sends no webhooks for a request with this header, which marks it as caused by a webhook.
    if (request.get("x-gitlab-event-uuid") !== undefined) {
      instance.violations.push(`${request.method} ${request.path}: a webhook's X-Gitlab-Event-UUID was passed on`);
    }
    next();
  };
}

/** Git's basic authentication: any user name, with the token as the password. */
export function mayFetch(instance: Instance, authorization: string | undefined): boolean {
  const [, encoded] = /^Basic (.+)$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return false;
  const credentials = Buffer.from(encoded, "base64").toString();
  const colon = credentials.indexOf(":");
  return colon > 0 && sameSecret(credentials.slice(colon + 1), instance.token);
}

function sameSecret(a: string, b: string): boolean {
  const [one, two] = [a, b].map((text) => createHash("sha256").update(text).digest());
  return one !== undefined && two !== undefined && timingSafeEqual(one, two);
}
