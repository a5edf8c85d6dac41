import { fileURLToPath } from "node:url";
import { Router } from "express";
import { changeRequestName } from "../core/change-request.js";
import type { Clock } from "../core/clock.js";
import { safeMessage, StoreUnavailable } from "../core/errors.js";
import type { Lock } from "../core/lock.js";
import type { LockStore } from "../core/ports.js";
import { HOST_TITLES, SERVICE } from "../names.js";

/** Folder of the page templates, beside `src` and `dist`. */
export const VIEWS_FOLDER = fileURLToPath(new URL("../../views", import.meta.url));

/** The pages that anyone who reaches the server may read: which application is locked by whom. No diff is on them. */
export function pagesRouter({ locks, clock }: { readonly locks: LockStore; readonly clock: Clock }): Router {
  const router = Router();
  router.get("/style.css", (_request, response) => {
    response.sendFile("style.css", { root: VIEWS_FOLDER });
  });
  router.get("/", async (_request, response) => {
    response.set("cache-control", "no-store");
    try {
      const rows = (await locks.list()).map((lock) => rowOf(lock, clock.now()));
      response.render("locks", { service: SERVICE, rows });
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      response.status(503).render("error", { service: SERVICE, message: safeMessage(error) });
    }
  });
  return router;
}

function rowOf(lock: Lock, now: Date) {
  return {
    application: lock.application,
    changeRequest: changeRequestName(lock.holder),
    host: HOST_TITLES[lock.holder.host],
    user: lock.user,
    since: lock.timestamp,
    age: ageOf(now.getTime() - Date.parse(lock.timestamp)),
    commit: lock.planRevision?.slice(0, 8) ?? "not planned yet",
  };
}

function ageOf(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
