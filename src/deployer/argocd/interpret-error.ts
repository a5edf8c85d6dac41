import * as z from "zod";
import type { DeployerFailureReason } from "../../core/model/errors.js";
import { parseJson } from "../../core/model/json.js";
import { hideInMessage } from "../../core/secrets/hide-in-text.js";
import { parseRetryAfter } from "../../http/fetch-text.js";
import { ArgoCdFailure, GRPC } from "./argocd-failure.js";

const errorBody = z.object({
  code: z.number().nullish(),
  message: z.string().nullish(),
  error: z.string().nullish(),
});

/** An error answer and the request. */
export interface ErrorAnswer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | null;
  readonly now: Date;
  readonly method: string;
  readonly path: string;
  /** The permission that the call needs (`applications, get`); Argo CD often does not name it. */
  readonly permission: string;
}

/**
 * Interprets an error answer by its gRPC code, because HTTP 400, 403 and 500 each cover several. Routing errors (404, 405) and
 * 415 are plain text, and a proxy in front may answer anything (seen with Argo CD v3.5.1).
 */
export function interpretError(answer: ErrorAnswer): ArgoCdFailure {
  const { code, text } = readErrorBody(answer.body);
  const gateway = answer.status === 502 || answer.status === 503 || answer.status === 504;
  const { reason, message } =
    code === undefined ? meaningOfStatus(answer, text, gateway) : meaningOfCode(code, answer, text);
  return new ArgoCdFailure(reason, message, {
    code,
    maybeDone: gateway,
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
      return { reason: "unauthenticated", message: `Argo CD does not accept deployer.token: ${shown}` };
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
      return { reason: "unauthenticated", message: `Argo CD does not accept deployer.token: ${said}` };
    case 403:
      return {
        reason: "forbidden",
        message: `permission denied by something in front of Argo CD (${said}): check deployer.server_url and the proxy`,
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
  return `Argo CD does not know ${answer.method} ${answer.path}: check deployer.server_url, and that Argo CD is 2.13 or newer`;
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

/** Argo CD puts this in front of errors of its own parts. */
const RPC_PREFIX = /rpc error: code = \w{1,40} desc = /g;

/**
 * Makes a text of Argo CD fit to show: without gRPC prefixes, quoted data of objects and credentials, and cut at `limit`
 * characters.
 */
export function readableText(text: string, limit = MAXIMUM_LENGTH): string {
  const cleaned = hideInMessage(text.slice(0, limit * 4).replace(RPC_PREFIX, "")).trim();
  if (cleaned.length <= limit) return cleaned;
  return `${cleaned.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
