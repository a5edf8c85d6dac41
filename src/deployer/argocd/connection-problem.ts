import { ArgoCdFailure } from "./argocd-failure.js";

/** Nothing was sent yet when the connection failed in one of these ways. */
const BEFORE_SENDING = new Map([
  ["ECONNREFUSED", "connection refused"],
  ["ENOTFOUND", "host name not found"],
  ["EAI_AGAIN", "host name not found"],
  ["EHOSTUNREACH", "host unreachable"],
  ["ENETUNREACH", "network unreachable"],
  ["UND_ERR_CONNECT_TIMEOUT", "no connection in time"],
]);

/** OpenSSL's words for a certificate that is not trusted (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const CERTIFICATE = /CERT|^UNABLE_TO_|SELF_SIGNED|^ERR_TLS_/;

/** What it means that `fetch` or the reading of a body failed, other than by a deadline or an abort. */
export function connectionProblem(error: unknown): ArgoCdFailure {
  const code = systemCode(error);
  const early = BEFORE_SENDING.get(code);
  if (early !== undefined) {
    return new ArgoCdFailure("unreachable", `failed to connect to Argo CD: ${early}`, {
      transient: true,
      cause: error,
    });
  }
  if (CERTIFICATE.test(code)) {
    return new ArgoCdFailure(
      "unreachable",
      `failed to connect to Argo CD: its certificate is not trusted (${code}): ` +
        "make its authority known to Node.js (NODE_EXTRA_CA_CERTS) or set deployer.insecure",
      { cause: error },
    );
  }
  return new ArgoCdFailure(
    "unreachable",
    "failed to connect to Argo CD: the connection broke before the answer was complete",
    {
      transient: true,
      maybeDone: true,
      cause: error,
    },
  );
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
