import { changePagePath } from "../core/model/change-request.js";
import { readChangeAddress } from "./change-address.js";

/** The pages, as routes. */
export const PAGE_PATHS = [
  "/",
  "/applications",
  "/activity",
  "/users",
  "/status",
  "/changes/:host/:owner/:repo/:number",
] as const;

/** Where a login leads by default. */
const HOME = "/";

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

/** What browsers or proxies may interpret: escapes, backslashes, control characters, lone surrogates, dot segments. */
const AMBIGUOUS = /[%\\\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?:^|\/)\.{1,2}(?:\/|$)/u;

/**
 * The canonical path of one of our pages; undefined if `path` names none. Each part is decoded once, so
 * an escaped letter names the same page as the letter, and a part that still holds an escape names none.
 */
function knownPage(path: string): string | undefined {
  const parts = path.split("/").map(decoded);
  for (const route of PAGE_PATHS) {
    const wanted = route.split("/");
    if (wanted.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = wanted.every((name, index) => {
      const part = parts[index];
      if (part === undefined || AMBIGUOUS.test(part)) return false;
      if (!name.startsWith(":")) return part === name;
      params[name.slice(1)] = part;
      return true;
    });
    if (!fits) continue;
    if (!route.includes(":")) return route;
    const change = readChangeAddress(params);
    return change && changePagePath(change);
  }
  return undefined;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
