import { Router } from "express";
import { applicationName } from "../../core/model/brand.js";
import { forceUnlock } from "../force-unlock.js";
import type { ApiParts } from "./api-parts.js";
import { lockBody } from "./bodies.js";
import { answeringAdmin } from "./guards.js";
import { pathPart, withoutQuery } from "./read-input.js";
import { answering, type ApiAnswer } from "./respond.js";

/** `/api/v1/locks`: who holds what, and the way to take a lock away. */
export function lockRoutes(parts: ApiParts): Router {
  const { locks, hostPages } = parts;
  const router = Router();
  router.get(
    "/locks",
    withoutQuery,
    answering(async () => {
      const held = await locks.list();
      return { status: 200, body: { locks: held.map((lock) => lockBody(lock, hostPages)) } };
    }),
  );
  router.get(
    "/locks/:app",
    withoutQuery,
    answering(async (request) => {
      const name = pathPart(request, "app");
      const lock = await locks.find(applicationName(name));
      return lock === undefined ? notLocked(name) : { status: 200, body: { lock: lockBody(lock, hostPages) } };
    }),
  );
  router.delete(
    "/locks/:app",
    answeringAdmin(async (request, admin) => {
      const name = pathPart(request, "app");
      const lock = await forceUnlock(applicationName(name), admin, parts);
      if (lock === undefined) return notLocked(name);
      return { status: 200, body: { status: "unlocked", application: lock.application } };
    }, withoutQuery),
  );
  return router;
}

function notLocked(application: string): ApiAnswer {
  return {
    status: 404,
    error: `no lock is held on the application ${JSON.stringify(application.slice(0, 300))}`,
  };
}
