/** Where a login leads by default. */
export const HOME = "/";

/**
 * The page to open after the login: a path of this service, or the first page for anything else. Browsers read `//host`,
 * `/\host` and paths with control characters as addresses of other sites, so none of them passes, encoded or not. The
 * login itself does not pass either: it would loop.
 */
export function safeReturnTo(wish: unknown): string {
  if (typeof wish !== "string" || wish.length > 2000 || !wish.startsWith("/")) return HOME;
  const forms = [wish, decoded(wish), decoded(decoded(wish))];
  if (forms.some((form) => form === undefined || !isPlainPath(form))) return HOME;
  const url = new URL(wish, ORIGIN);
  if (url.origin !== ORIGIN || /^\/(?:login|auth)(?:\/|$)/i.test(url.pathname)) return HOME;
  return url.pathname + url.search + url.hash;
}

const ORIGIN = "http://svc.invalid";

function isPlainPath(text: string): boolean {
  const [path = ""] = text.split(/[?#]/);
  return text.startsWith("/") && !path.includes("//") && !text.includes("\\") && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined; // A malformed escape.
  }
}
