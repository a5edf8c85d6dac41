import type { RequestHandler } from "express";
import { SERVICE } from "../../names.js";
import { viewerOf } from "../viewer.js";
import type { RedirectProvider } from "./login-provider.js";
import { safeReturnTo } from "./return-to.js";
import type { WebSessions } from "./session.js";

/** What is said to whoever comes with a session that is over. */
export const SESSION_EXPIRED = "Session expired";

export interface SignInOptions {
  readonly providers: readonly RedirectProvider[];
  readonly basic: boolean;
  readonly sessions: WebSessions;
}

/** `GET /login`: a link per provider. Links, since a form's answer may not lead to another site under our policy. */
export function signInPage({ providers, basic, sessions }: SignInOptions): RequestHandler {
  return (request, response) => {
    const returnTo = safeReturnTo(request.query.return_to);
    const viewer = viewerOf(request);
    if (viewer.kind === "account") {
      response.redirect(303, returnTo);
      return;
    }
    const expired = viewer.kind === "anonymous" && viewer.expired;
    // Said once: the next look at this page begins anew.
    if (expired) sessions.forget(response);
    response.set("cache-control", "no-store").render("login", {
      service: SERVICE,
      providers: providers.map(({ id, name }) => ({ name, href: loginAddress(id, returnTo) })),
      basic,
      returnTo,
      notice: expired ? `${SESSION_EXPIRED}. Sign in again to go on.` : undefined,
    });
  };
}

/** Where the login at a provider begins. */
export function loginAddress(id: RedirectProvider["id"], returnTo = "/"): string {
  const path = `/auth/${id}/login`;
  return returnTo === "/" ? path : `${path}?return_to=${encodeURIComponent(returnTo)}`;
}
