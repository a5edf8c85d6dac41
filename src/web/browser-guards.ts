import type { Request, RequestHandler } from "express";
import helmet from "helmet";
import { apiTokenIn } from "./auth/api-tokens.js";

const READS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses (403) state changes that a page of another site triggers. Browsers send `Sec-Fetch-Site` and `Origin` with such
 * requests, and no page can forge them (https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site).
 * Programs that send neither header pass, and so does whoever sends an API token: it counts alone, without the cookie.
 * @param baseUrl Where people reach the service. The host that the request was sent to is accepted as well.
 */
export function refuseOtherSites(baseUrl: string | undefined): RequestHandler {
  const own = baseUrl === undefined ? undefined : new URL(baseUrl).origin;
  return (request, response, next) => {
    if (READS.has(request.method) || apiTokenIn(request) !== undefined || !comesFromElsewhere(request, own)) {
      next();
      return;
    }
    response.status(403).json({ error: REFUSED });
  };
}

const REFUSED =
  "a page of another site sent this request, so nothing was changed; repeat it on a page of this service. " +
  "If you did, server.base_url differs from the address that your browser shows";

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

/**
 * Headers against framing, sniffing and injected scripts. The ingress that ends TLS sets HSTS.
 * @param formTargets Other origins that forms may be sent to.
 */
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
