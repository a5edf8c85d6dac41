import { proxyHint } from "../../http/proxy.js";
import { ArgoCdFailure } from "./argocd-failure.js";

/** Failures before anything was sent. */
const BEFORE_SENDING = new Map([
  ["ECONNREFUSED", "connection refused"],
  ["ENOTFOUND", "host name not found"],
  ["EAI_AGAIN", "host name not found"],
  ["EHOSTUNREACH", "host unreachable"],
  ["ENETUNREACH", "network unreachable"],
  ["UND_ERR_CONNECT_TIMEOUT", "no connection in time"],
]);

/** OpenSSL's codes for an untrusted certificate (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const CERTIFICATE = /CERT|^UNABLE_TO_|SELF_SIGNED|^ERR_TLS_/;

/** Explains why `fetch` or reading a body failed, other than by a deadline or an abort. */
export function connectionProblem(error: unknown): ArgoCdFailure {
  const code = systemCode(error);
  const early = BEFORE_SENDING.get(code);
  if (early !== undefined) {
    const message = `failed to connect to Argo CD: ${early}${proxyHint()}`;
    return new ArgoCdFailure("unreachable", message, { transient: true, cause: error });
  }
  if (CERTIFICATE.test(code)) {
    return new ArgoCdFailure(
      "unreachable",
      `failed to connect to Argo CD: its certificate is not trusted (${code}): ` +
        "make its authority known to Node.js (NODE_EXTRA_CA_CERTS) or set deployer.insecure",
      { cause: error },
    );
  }
  const message = `failed to connect to Argo CD: the connection broke before the answer was complete${proxyHint()}`;
  return new ArgoCdFailure("unreachable", message, { transient: true, maybeDone: true, cause: error });
}

/** The code of the innermost error that has one: `fetch` wraps the socket's error as its cause. */
function systemCode(error: unknown): string {
  let code = "";
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth += 1) {
    if ("code" in current && typeof current.code === "string") code = current.code;
    current = "cause" in current ? current.cause : undefined;
  }
  return code;
}

/**
 * Explains a redirect. svc follows none, because that would send the token along. Argo CD with TLS redirects plain HTTP to
 * https; other redirects come from a proxy or a missing path prefix.
 * @param apiPath The path below the configured URL, from which the right base URL follows.
 */
export function redirectProblem(from: URL, location: string | null, apiPath: string): ArgoCdFailure {
  const target = location !== null && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target === undefined) {
    return new ArgoCdFailure(
      "failed",
      `Argo CD at ${from.origin} redirects without saying where: check deployer.server_url`,
    );
  }
  const path = target.pathname.slice(0, 200);
  const cure = path.endsWith(apiPath)
    ? `set deployer.server_url to ${target.origin}${path.slice(0, path.length - apiPath.length)}`
    : "set deployer.server_url to the address that answers the API itself";
  return new ArgoCdFailure(
    "failed",
    `Argo CD at ${from.origin} redirects to ${target.origin}${path}, which is not followed because of the token: ${cure}`,
  );
}
