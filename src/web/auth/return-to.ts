/** Where a login without a wish leads. */
export const HOME = "/";

/**
 * The page to go to after the login: a path of ours, or the first page when the wish is anything else. A browser reads
 * `//host`, `/\host` and paths with control characters in them as addresses of other sites, so none of them passes,
 * encoded or not; nor does the login itself, which would go round in a circle.
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
    return undefined; // a broken escape; there is no way to ask first
  }
}
