import * as z from "zod";
import { type CallFailureOptions, DeployerFailure, type DeployerFailureReason } from "../../core/model/errors.js";
import { isJsonObject, isNestedDeeper, parseJson, withLongIntegers } from "../../core/model/json.js";
import { hideInMessage } from "../../core/secrets/hide-in-text.js";
import { parseRetryAfter, proxyHint } from "../../http/fetch-text.js";

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

interface FailureFacts extends CallFailureOptions {
  /** The gRPC code of Argo CD's own error; undefined when something else failed or answered. */
  readonly code?: number | undefined;
  /** The same read may succeed if it is sent again. */
  readonly transient?: boolean;
  readonly retryAfterMs?: number | undefined;
}

/** A failed call to Argo CD, with the facts that the adapter decides by. */
export class ArgoCdFailure extends DeployerFailure {
  readonly code: number | undefined;
  readonly transient: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(reason: DeployerFailureReason, message: string, facts: FailureFacts = {}) {
    super(reason, message, { cause: facts.cause, maybeDone: facts.maybeDone ?? false });
    this.code = facts.code;
    this.transient = facts.transient ?? false;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** Some calls succeed without a valid token, and tell less. */
export function notLoggedIn(): ArgoCdFailure {
  return new ArgoCdFailure("unauthenticated", "Argo CD does not accept argocd.token: it is wrong, expired or revoked");
}

/** Whether Argo CD reported the object as absent or forbidden: without the right project it does not distinguish the two. */
export function isAbsent(error: unknown): error is ArgoCdFailure {
  return error instanceof ArgoCdFailure && (error.code === GRPC.notFound || error.code === GRPC.permissionDenied);
}

const errorBody = z.object({
  code: z.number().nullish(),
  message: z.string().nullish(),
  error: z.string().nullish(),
});

interface ErrorAnswer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
  readonly now: Date;
  readonly method: string;
  readonly path: string;
  /** The permission that the call needs (`applications, get`); Argo CD often does not name it. */
  readonly permission: string;
}

/** Interprets an error by its gRPC code: an HTTP status covers several, and a proxy in front may answer anything (Argo CD v3.5.1). */
export function interpretError(answer: ErrorAnswer): ArgoCdFailure {
  const { code, text } = readErrorBody(answer.body);
  const gateway = answer.status === 502 || answer.status === 503 || answer.status === 504;
  const { reason, message } =
    code === undefined ? meaningOfStatus(answer, text, gateway) : meaningOfCode(code, answer, text);
  return new ArgoCdFailure(reason, message, {
    code,
    maybeDone: gateway || reason === "unreachable",
    transient: gateway,
    retryAfterMs: parseRetryAfter(answer.retryAfter, answer.now),
    cause: new Error(readableText(text)),
  });
}

interface Meaning {
  readonly reason: DeployerFailureReason;
  readonly message: string;
}

function meaningOfCode(code: number, answer: ErrorAnswer, text: string): Meaning {
  const shown = readableText(text);
  switch (code) {
    case GRPC.permissionDenied:
      return meaningOfDenial(answer, shown);
    case GRPC.unauthenticated:
      return { reason: "unauthenticated", message: `Argo CD does not accept argocd.token: ${shown}` };
    case GRPC.notFound:
      return { reason: "not-found", message: shown };
    case GRPC.unimplemented:
      return { reason: "unsupported", message: unsupported(answer) };
    case GRPC.deadlineExceeded:
      return { reason: "unreachable", message: `Argo CD did not finish in time: ${shown}` };
    case GRPC.unavailable:
      return { reason: "unreachable", message: `a part of Argo CD is unavailable: ${shown}` };
    case GRPC.failedPrecondition:
      // Auto-sync, a deletion and a bad revision have the same code; only the text shows that a retry can help.
      return { reason: shown === "another operation is already in progress" ? "busy" : "refused", message: shown };
    case GRPC.invalidArgument:
    case GRPC.alreadyExists:
    case GRPC.aborted:
      return { reason: "refused", message: shown };
    default:
      // The repo-server reports its own failures with these words; with another code they are not about the token.
      return {
        reason: "failed",
        message:
          shown === "permission denied"
            ? "Argo CD's repo-server failed and reports only: permission denied. The token's permissions are not the cause"
            : shown,
      };
  }
}

/** Code 7 also means a closed sync window or a Helm repository that the project does not permit. */
function meaningOfDenial(answer: ErrorAnswer, text: string): Meaning {
  if (text === "permission denied") return { reason: "forbidden", message: `permission denied: ${answer.permission}` };
  const named = /^permission denied: [^,]+, [^,]+/.exec(text);
  return named === null ? { reason: "refused", message: text } : { reason: "forbidden", message: named[0] };
}

function meaningOfStatus(answer: ErrorAnswer, text: string, gateway: boolean): Meaning {
  const shown = isHtml(text) ? "an HTML page" : readableText(text, 500);
  const said = shown === "" ? `HTTP ${answer.status}` : `HTTP ${answer.status}: ${shown}`;
  if (gateway) return { reason: "unreachable", message: `failed to connect to Argo CD: ${said}` };
  switch (answer.status) {
    case 401:
      return { reason: "unauthenticated", message: `Argo CD does not accept argocd.token: ${said}` };
    case 403:
      return {
        reason: "forbidden",
        message: `permission denied by something in front of Argo CD (${said}): check argocd.server_url and the proxy`,
      };
    case 404:
    case 405:
    case 501:
      return { reason: "unsupported", message: unsupported(answer) };
    default:
      return { reason: "failed", message: `Argo CD answered ${said}` };
  }
}

function unsupported(answer: ErrorAnswer): string {
  return `Argo CD does not know ${answer.method} ${answer.path}: check argocd.server_url, and that Argo CD is 2.13 or newer`;
}

function readErrorBody(body: string): { code: number | undefined; text: string } {
  const { data } = errorBody.safeParse(parseJson(body));
  if (data === undefined) return { code: undefined, text: body };
  // The grpc-gateway sends both members with the same text; a proxy's JSON may have either.
  return { code: data.code ?? undefined, text: data.message ?? data.error ?? "" };
}

/** Whether the answer is a login page or a proxy's error page instead of the API's. */
export function isHtml(body: string): boolean {
  return body.trimStart().startsWith("<");
}

const MAXIMUM_LENGTH = 4000;

const RPC_PREFIX = /rpc error: code = \w{1,40} desc = /g;

/** A text of Argo CD without gRPC prefixes, quoted data of objects and credentials, cut at `limit` characters. */
export function readableText(text: string, limit = MAXIMUM_LENGTH): string {
  const cleaned = hideInMessage(text.slice(0, limit * 4).replace(RPC_PREFIX, "")).trim();
  if (cleaned.length <= limit) return cleaned;
  return `${cleaned.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "")}…`;
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
  const { code, syscall } = systemError(error);
  // A connection that is kept open may lose its route after a request was sent.
  const early = syscall === "read" || syscall === "write" ? undefined : BEFORE_SENDING.get(code);
  if (early !== undefined) {
    const message = `failed to connect to Argo CD: ${early}${proxyHint()}`;
    return new ArgoCdFailure("unreachable", message, { transient: true, cause: error });
  }
  if (CERTIFICATE.test(code)) {
    return new ArgoCdFailure(
      "unreachable",
      `failed to connect to Argo CD: its certificate is not trusted (${code}): ` +
        "make its authority known to Node.js (NODE_EXTRA_CA_CERTS) or set argocd.insecure",
      { cause: error },
    );
  }
  const message = `failed to connect to Argo CD: the connection broke before the answer was complete${proxyHint()}`;
  return new ArgoCdFailure("unreachable", message, { transient: true, maybeDone: true, cause: error });
}

/** Code and call of the innermost error that has a code: `fetch` wraps the socket's error as its cause. */
function systemError(error: unknown): { readonly code: string; readonly syscall: string } {
  let found = { code: "", syscall: "" };
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth += 1) {
    if ("code" in current && typeof current.code === "string") {
      const syscall = "syscall" in current && typeof current.syscall === "string" ? current.syscall : "";
      found = { code: current.code, syscall };
    }
    current = "cause" in current ? current.cause : undefined;
  }
  return found;
}

export async function ifVisible<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Parses an answer. @throws {ArgoCdFailure} if it is not JSON. */
export function readAnswer(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    const message = "Argo CD's answer is incomplete or not JSON";
    throw new ArgoCdFailure("failed", message, { maybeDone: true, cause: error });
  }
}

/** `what` completes "Argo CD's answer about". @throws {ArgoCdFailure} that names the unexpected members, but not their values. */
export function parseAnswer<T>(schema: z.ZodType<T>, answer: unknown, what: string): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const members = parsed.error.issues.slice(0, 3).map((issue) => issue.path.join(".") || "the answer itself");
  const message = `Argo CD's answer about ${what} is not as expected (${members.join(", ")}): check argocd.server_url`;
  throw new ArgoCdFailure("failed", message, { maybeDone: true, cause: parsed.error });
}

/** Levels of lists and maps in one object. Kubernetes' own schemas have fewer than 50. */
export const MAX_DEPTH = 200;

/** Parses the text of an object; `what` completes "Argo CD". @throws {ArgoCdFailure} also for one that could not be compared. */
export function parseObjectText(text: string, what: string): unknown {
  const exact = withLongIntegers(text);
  let value: unknown;
  try {
    value = JSON.parse(exact);
  } catch (error) {
    throw new ArgoCdFailure("failed", `Argo CD ${what} that is not JSON`, { cause: error });
  }
  if (isNestedDeeper(MAX_DEPTH, value)) {
    throw new ArgoCdFailure("failed", `Argo CD ${what} that is nested deeper than ${MAX_DEPTH} levels`);
  }
  if (exact !== text && isDefinition(value)) {
    throw new ArgoCdFailure(
      "failed",
      `Argo CD ${what}, an Application or ApplicationSet, with an integer of more than 53 bits, which svc cannot compare: write it as text, in quotes`,
    );
  }
  return value;
}

function isDefinition(value: unknown): boolean {
  if (!isJsonObject(value) || typeof value.apiVersion !== "string") return false;
  const isKind = value.kind === "Application" || value.kind === "ApplicationSet";
  return isKind && value.apiVersion.startsWith("argoproj.io/");
}
