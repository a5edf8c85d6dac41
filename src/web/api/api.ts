import { Router } from "express";
import type { ApiParts } from "./api-parts.js";
import { loggedIn } from "./guards.js";
import { lockRoutes } from "./lock-routes.js";
import { readOpenapi } from "./openapi.js";
import { readRoutes } from "./read-routes.js";
import { apiErrors } from "./respond.js";
import { userRoutes } from "./user-routes.js";

const BASE = "/api/v1";

/** Everything below `/api/v1`. Who calls is in `viewerOf`; requests from other sites were refused before. */
export function apiRouter(parts: ApiParts): Router {
  const router = Router();
  router.use(BASE, (_request, response, next) => {
    response.set("cache-control", "no-store");
    next();
  });
  router.get(`${BASE}/openapi.json`, (_request, response) => {
    response.json(readOpenapi());
  });
  router.use(BASE, loggedIn, lockRoutes(parts), userRoutes(parts), readRoutes(parts));
  router.use(BASE, (_request, response) => {
    response.status(404).json({ error: "there is nothing at this address; /api/v1/openapi.json describes the API" });
  });
  router.use(BASE, apiErrors(parts.log));
  return router;
}
