import type { Request, RequestHandler } from "express";
import type { Account } from "../../core/model/account.js";
import { viewerOf } from "../viewer.js";
import { answering, send, type ApiAnswer } from "./respond.js";

const AUTH_OFF: ApiAnswer = {
  status: 403,
  error: "authentication is off, so this API cannot know who calls it: set auth.enabled in svc.yaml to use it",
};
const NOT_LOGGED_IN: ApiAnswer = { status: 401, error: "not logged in" };
const EXPIRED: ApiAnswer = { status: 401, error: "Session expired" };
const ADMIN_ONLY: ApiAnswer = { status: 403, error: "this needs the role admin, which an admin can give you" };

/** Admits everyone who is logged in. */
export const loggedIn: RequestHandler = (request, response, next) => {
  const refusal = refusalFor(request);
  if (refusal === undefined) next();
  else send(response, refusal);
};

function refusalFor(request: Request): ApiAnswer | undefined {
  const viewer = viewerOf(request);
  switch (viewer.kind) {
    case "unguarded":
      return AUTH_OFF;
    case "anonymous":
      return viewer.expired ? EXPIRED : NOT_LOGGED_IN;
    case "account":
      return undefined;
  }
}

/** A route for admins. Everyone else is refused before `before` and `work` read the request. */
export function answeringAdmin(
  work: (request: Request, admin: Account) => Promise<ApiAnswer>,
  ...before: readonly RequestHandler[]
): RequestHandler[] {
  const admit: RequestHandler = (request, response, next) => {
    if (adminOf(request) === undefined) send(response, ADMIN_ONLY);
    else next();
  };
  return [
    admit,
    ...before,
    answering((request) => {
      const admin = adminOf(request);
      return admin === undefined ? ADMIN_ONLY : work(request, admin);
    }),
  ];
}

function adminOf(request: Request): Account | undefined {
  const viewer = viewerOf(request);
  return viewer.kind === "account" && viewer.account.role === "admin" ? viewer.account : undefined;
}
