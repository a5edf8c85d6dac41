import { Router } from "express";
import { liveRoute } from "../live-streams.js";
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
  const handlers = {
    "/": page((reader, { query }) => locksPage(query, reader, parts)),
    "/applications": page((_reader, { query }) => applicationsPage(query, parts)),
    "/activity": page((_reader, { query }) => activityPage(query, parts)),
    "/users": page((reader) => usersPage(reader, parts)),
    "/status": page((reader) => statusPage(reader, parts)),
    "/changes/:host/:owner/:repo/:number": page((reader, { params }) => changePage(params, reader, parts)),
    "/changes/:host/:owner/:repo/:number/live": liveRoute(parts.streams),
  };
  for (const [path, handler] of Object.entries(handlers)) router.get(path, handler);
  router.use((request, response, next) => {
    if (request.method !== "GET" || request.accepts(["json", "html"]) !== "html") next();
    else show(response, viewerOf(request), NO_PAGE);
  });
  return router;
}

const NO_PAGE = problemPage(404, "No such page", ["There is nothing at this address. Use the navigation above."]);
