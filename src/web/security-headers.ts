import type { RequestHandler } from "express";
import helmet from "helmet";

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
