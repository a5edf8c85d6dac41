import type * as z from "zod";
import { DeployerFailure, type DeployerFailureReason } from "../../core/model/errors.js";
import { proxyHint } from "../../http/proxy.js";

/** gRPC status codes that Argo CD's gateway puts into the member `code` of an error (https://grpc.io/docs/guides/status-codes/). */
export const GRPC = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

interface FailureFacts {
  /** The gRPC code of Argo CD's own error; undefined when something else failed or answered. */
  readonly code?: number | undefined;
  /** No readable answer came, but Argo CD may have carried out the request. */
  readonly maybeDone?: boolean;
  /** A read may be retried. */
  readonly transient?: boolean;
  /** The server's `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A failed call to Argo CD, with the facts that the adapter decides by. */
export class ArgoCdFailure extends DeployerFailure {
  readonly code: number | undefined;
  readonly maybeDone: boolean;
  readonly transient: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(reason: DeployerFailureReason, message: string, facts: FailureFacts = {}) {
    super(reason, message, { cause: facts.cause });
    this.code = facts.code;
    this.maybeDone = facts.maybeDone ?? false;
    this.transient = facts.transient ?? false;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** Whether Argo CD reported the object as absent or forbidden: without the right project it does not distinguish the two. */
export function isAbsent(error: unknown): boolean {
  return error instanceof ArgoCdFailure && (error.code === GRPC.notFound || error.code === GRPC.permissionDenied);
}

/** @throws {ArgoCdFailure} if it is not JSON. */
export function readAnswer(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    const message = "Argo CD's answer is incomplete or not JSON";
    throw new ArgoCdFailure("failed", message, { maybeDone: true, cause: error });
  }
}

/**
 * Reads an answer with a schema; `what` completes "Argo CD's answer about".
 * @throws {ArgoCdFailure} that names the unexpected members, but not their values.
 */
export function parseAnswer<T>(schema: z.ZodType<T>, answer: unknown, what: string): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const members = parsed.error.issues.slice(0, 3).map((issue) => issue.path.join(".") || "the answer itself");
  const message = `Argo CD's answer about ${what} is not as expected (${members.join(", ")}): check deployer.server_url`;
  throw new ArgoCdFailure("failed", message, { maybeDone: true, cause: parsed.error });
}

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
