import { readFileSync } from "node:fs";
import { Router } from "express";
import { parse } from "yaml";
import { shippedFile } from "../../config/files.js";
import { loggedIn } from "./guards.js";
import { withoutQuery } from "./read-input.js";
import { apiErrors } from "./respond.js";
import { type ApiParts, lockRoutes, readRoutes, userRoutes } from "./routes.js";

const BASE = "/api/v1";

/** Everything below `/api/v1`. `viewerOf` says who calls; requests from other sites were already refused. */
export function apiRouter(parts: ApiParts): Router {
  const router = Router();
  router.use(BASE, (_request, response, next) => {
    response.set("cache-control", "no-store");
    next();
  });
  router.get(`${BASE}/openapi.json`, withoutQuery, (_request, response) => {
    response.json(readOpenapi());
  });
  router.use(BASE, loggedIn, lockRoutes(parts), userRoutes(parts), readRoutes(parts));
  router.use(BASE, (_request, response) => {
    response.status(404).json({ error: "there is nothing at this address; /api/v1/openapi.json describes the API" });
  });
  router.use(BASE, apiErrors(parts.log));
  return router;
}

let read: unknown;

/** The description of the HTTP API, from the file shipped with the program; parsed on first use. */
export function readOpenapi(): unknown {
  read ??= parse(readFileSync(shippedFile("openapi.yaml"), "utf8"));
  return read;
}
