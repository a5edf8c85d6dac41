import type { Request } from "express";
import type { Account } from "../core/model/account.js";

/** Who looks at a page or calls the API. */
export type Viewer =
  /** Authentication is off: anyone who reaches the server, so no diff is shown and nothing can be changed. */
  | { readonly kind: "unguarded" }
  /** `expired`: the request carried a session that is no longer there. */
  | { readonly kind: "anonymous"; readonly expired: boolean }
  /** With the role that the user record has now, not the one of the login. */
  | { readonly kind: "account"; readonly account: Account };

const viewers = new WeakMap<Request, Viewer>();

/** Notes who makes this request; called once per request, before every route that asks. */
export function setViewer(request: Request, viewer: Viewer): void {
  viewers.set(request, viewer);
}

/** Who makes this request. Nobody in particular where nothing was noted. */
export function viewerOf(request: Request): Viewer {
  return viewers.get(request) ?? { kind: "anonymous", expired: false };
}
