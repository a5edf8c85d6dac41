import { Router, type RequestHandler } from "express";
import { liveRoute } from "../live-streams.js";
import { PAGE_PATHS, type PagePath } from "../page-paths.js";
import { viewerOf } from "../viewer.js";
import { activityPage } from "./activity-page.js";
import { applicationsPage } from "./applications-page.js";
import { changePage } from "./change-page.js";
import { locksPage } from "./locks-page.js";
import { page, type PageParts, problemPage, show } from "./page.js";
import { statusPage } from "./status-page.js";
import { usersPage } from "./users-page.js";

/** The pages. `viewerOf` says who reads; with authentication off, no diff is shown. */
export function pagesRouter(parts: PageParts): Router {
  const router = Router();
  const handlers: Readonly<Record<PagePath, RequestHandler>> = {
    "/": page((reader, { query }) => locksPage(query, reader, parts)),
    "/applications": page((_reader, { query }) => applicationsPage(query, parts)),
    "/activity": page((_reader, { query }) => activityPage(query, parts)),
    "/users": page((reader) => usersPage(reader, parts)),
    "/status": page((reader) => statusPage(reader, parts)),
    "/changes/:host/:owner/:repo/:number": page((reader, { params }) => changePage(params, reader, parts)),
  };
  for (const path of PAGE_PATHS) router.get(path, handlers[path]);
  router.get("/changes/:host/:owner/:repo/:number/live", liveRoute(parts));
  router.use((request, response, next) => {
    if (request.method !== "GET" || request.accepts(["json", "html"]) !== "html") next();
    else show(response, viewerOf(request), NO_PAGE);
  });
  return router;
}

const NO_PAGE = problemPage(404, "No such page", ["There is nothing at this address. Use the navigation above."]);
