import type { RequestHandler, Response } from "express";
import { SERVICE } from "../../names.js";
import { viewerOf } from "../viewer.js";
import type { RedirectProvider } from "./login-provider.js";
import { safeReturnTo } from "./return-to.js";
import type { WebSessions } from "./session.js";

/** Shown to people whose session has expired. */
export const SESSION_EXPIRED = "Session expired";

/** The ways to sign in. */
export interface SignInWays {
  readonly providers: readonly RedirectProvider[];
  /** Whether there are users with passwords. */
  readonly basic: boolean;
}

/** `GET /login`. */
export function signInPage(ways: SignInWays, sessions: WebSessions): RequestHandler {
  return (request, response) => {
    const returnTo = safeReturnTo(request.query.return_to);
    const viewer = viewerOf(request);
    if (viewer.kind === "account") {
      response.redirect(303, returnTo);
      return;
    }
    const expired = viewer.kind === "anonymous" && viewer.expired;
    // Shown once: without the cookie, the next request is an ordinary anonymous one.
    if (expired) sessions.forget(response);
    const notice = expired ? `${SESSION_EXPIRED}. Sign in again to continue.` : undefined;
    showSignIn(response, ways, { returnTo, notice });
  };
}

export interface SignInShown {
  readonly returnTo: string;
  /** What happened before. */
  readonly notice: string | undefined;
  /** Given with a wrong password; filled in again. */
  readonly username?: string;
}

/** Shows a link per provider. Not forms: our content security policy forbids redirects of forms to other sites. */
export function showSignIn(
  response: Response,
  { providers, basic }: SignInWays,
  { returnTo, notice, username = "" }: SignInShown,
): void {
  response.set("cache-control", "no-store").render("login", {
    service: SERVICE,
    providers: providers.map(({ id, name }) => ({ name, href: loginAddress(id, returnTo) })),
    basic,
    returnTo,
    notice,
    username,
  });
}

/** Where the login at a provider starts. */
export function loginAddress(id: RedirectProvider["id"], returnTo = "/"): string {
  const path = `/auth/${id}/login`;
  return returnTo === "/" ? path : `${path}?return_to=${encodeURIComponent(returnTo)}`;
}
