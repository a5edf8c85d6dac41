import { knownPage } from "../page-paths.js";

/** Where a login leads by default. */
export const HOME = "/";

/**
 * The page to open after the login: one of our pages with its query, or the first page for anything else. The path is
 * compared as it was sent: nothing is resolved first, so `/../`, `//host` and `/\host` name no page.
 */
export function safeReturnTo(wish: unknown): string {
  if (typeof wish !== "string" || wish.length > 2000 || /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\\]/u.test(wish)) return HOME;
  const path = /^[^?#]*/.exec(wish)?.[0] ?? "";
  const page = knownPage(path);
  if (page === undefined) return HOME;
  const { search, hash } = new URL(HOME + wish.slice(path.length), "http://svc.invalid");
  return page + search + hash;
}
