import type { RequestHandler } from "express";
import type { UserStore } from "../../core/ports/user-store.js";
import { setViewer, type Viewer } from "../viewer.js";
import type { WebSessions } from "./session.js";

/** Notes for each request who makes it; with authentication off that is anybody. */
export function identifyNobody(): RequestHandler {
  return (request, _response, next) => {
    setViewer(request, { kind: "unguarded" });
    next();
  };
}

/** Notes for each request who makes it, with the role of this moment. Goes behind the sessions. */
export function identify(sessions: WebSessions, users: UserStore): RequestHandler {
  return async (request, _response, next) => {
    const found = sessions.accountOf(request);
    const account = typeof found === "object" ? await users.find(found.id) : undefined;
    const viewer: Viewer =
      account === undefined ? { kind: "anonymous", expired: found !== "none" } : { kind: "account", account };
    setViewer(request, viewer);
    next();
  };
}
