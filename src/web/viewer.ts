import type { Request } from "express";
import type { Account } from "../core/model/account.js";

/** Who requests a page or calls the API. */
export type Viewer =
  /** Authentication is off, so this may be anyone: no diff is shown and nothing can be changed. */
  | { readonly kind: "unguarded" }
  /** `expired`: the request carried a session that no longer exists. */
  | { readonly kind: "anonymous"; readonly expired: boolean }
  /** A person with the current role of the user record, not the role at the login; or a program with an API token. */
  | { readonly kind: "account"; readonly account: Account };

const viewers = new WeakMap<Request, Viewer>();

/** Records who makes this request. Call it once per request, before any route reads it. */
export function setViewer(request: Request, viewer: Viewer): void {
  viewers.set(request, viewer);
}

/** Whether something already said who makes this request. */
export function isIdentified(request: Request): boolean {
  return viewers.has(request);
}

/** Who makes this request; anonymous if nothing was recorded. */
export function viewerOf(request: Request): Viewer {
  return viewers.get(request) ?? { kind: "anonymous", expired: false };
}
