import type * as z from "zod";
import { DeployerFailure, type DeployerFailureReason } from "../../core/model/errors.js";

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
