import type { Request } from "express";
import type { AuthSection, ServerSection } from "../../config/server-config.js";
import type { Log } from "../../core/ports/log.js";

/** Why a browser would not get the session's cookie; undefined when it would. */
export type PlainHttpCheck = (request: Request) => string | undefined;

/**
 * With `cookie_secure` on, a request that did not come by HTTPS gets no cookie, and a login would end where it began,
 * without a word. Tells the cure for each cause, in the log once per process.
 */
export function checkPlainHttp(
  { cookieSecure }: Pick<AuthSection, "cookieSecure">,
  { trustProxy }: Pick<ServerSection, "trustProxy">,
  log: Log,
): PlainHttpCheck {
  const told = new Set<string>();
  return (request) => {
    if (!cookieSecure || request.secure) return undefined;
    const forwarded = request.get("x-forwarded-proto");
    const cure = cureFor(trustProxy, forwarded);
    if (!told.has(cure)) {
      told.add(cure);
      log.warn({ trustProxy, forwarded: forwarded?.slice(0, 40), cure }, "a login came over plain http");
    }
    return cure;
  };
}

function cureFor(trustProxy: boolean, forwarded: string | undefined): string {
  if (!trustProxy && forwarded !== undefined) {
    return "A proxy stands before this service: set server.trust_proxy to true, so that it is believed when it says that the browser uses HTTPS.";
  }
  if (trustProxy && forwarded === undefined) {
    return "The proxy does not say how the browser came: let it send the header X-Forwarded-Proto.";
  }
  return "Open this service by its https address. For development on plain http, set auth.cookie_secure to false.";
}
