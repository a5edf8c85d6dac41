import type { Request, RequestHandler } from "express";
import helmet from "helmet";

const READS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses what a page of another site makes a browser change here (403). Browsers send `Sec-Fetch-Site` and `Origin` with
 * such requests and no page can forge them (https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site);
 * a program that sends neither passes.
 * @param baseUrl Where people reach the service; another name that the request itself was sent to counts as well.
 */
export function refuseOtherSites(baseUrl: string | undefined): RequestHandler {
  const own = baseUrl === undefined ? undefined : new URL(baseUrl).origin;
  return (request, response, next) => {
    if (READS.has(request.method) || !comesFromElsewhere(request, own)) {
      next();
      return;
    }
    response.status(403).json({ error: REFUSED });
  };
}

const REFUSED =
  "this change was asked for by a page of another site and was not made; repeat it on a page of this service. " +
  "If this is one, server.base_url is not the address that your browser shows";

function comesFromElsewhere(request: Request, own: string | undefined): boolean {
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
 * Headers that keep pages from being framed, sniffed and scripted: everything comes from here, and nothing stands inline.
 * Plain http is common behind an ingress: the ingress sends HSTS where it ends TLS.
 */
export function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
      },
    },
    strictTransportSecurity: false,
    // With `no-referrer`, browsers send `Origin: null` with our own forms, which says nothing of where they stand.
    referrerPolicy: { policy: "same-origin" },
  });
}
