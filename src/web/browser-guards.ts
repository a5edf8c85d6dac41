import type { Request, RequestHandler } from "express";
import helmet from "helmet";

/** Whether a page of another site sent the request. @param own An origin of ours, besides the host that it was sent to. */
export function comesFromElsewhere(request: Request, own: string | undefined): boolean {
  const site = request.get("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  const origin = request.get("origin");
  return origin !== undefined && origin !== own && hostOf(origin) !== request.get("host")?.toLowerCase();
}

/** Host and port; undefined for `null`, which sandboxed pages send. */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** Headers against framing, sniffing and injected scripts. @param formTargets Other origins that forms may be sent to. */
export function securityHeaders(formTargets: readonly string[] = []): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'", ...formTargets],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
      },
    },
    strictTransportSecurity: false,
    // With `no-referrer`, browsers send `Origin: null` with our own forms, and `refuseOtherSites` would refuse them.
    referrerPolicy: { policy: "same-origin" },
  });
}

/** Addresses that no browser shows as a page. */
const FOR_PROGRAMS = /^\/(?:api\/|auth\/(?:me|providers)$|changes\/.*\/live$)/;

/** Whether to answer with JSON (to a program) rather than with a page (to a browser). */
export function prefersJson(request: Request): boolean {
  if (FOR_PROGRAMS.test(request.path) || isJsonBody(request)) return true;
  return request.accepts(["html", "json"]) === "json";
}

function isJsonBody(request: Request): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(request.headers["content-type"] ?? "");
}
