import { DeployerFailure } from "../../core/model/errors.js";
import type { DeployerFailureReason } from "../../core/model/errors.js";

/** gRPC status codes that Argo CD's gateway puts into the member `code` of an error (https://grpc.io/docs/guides/status-codes/). */
export const GRPC = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  failedPrecondition: 9,
  aborted: 10,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

interface FailureFacts {
  /** The gRPC code of Argo CD's own error; undefined when something else failed or answered. */
  readonly code?: number | undefined;
  /** The request may have been carried out although no readable answer came. */
  readonly maybeDone?: boolean;
  /** A read may be tried again. */
  readonly transient?: boolean;
  /** What the server's `Retry-After` asks for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A call that Argo CD did not answer with success, with what the adapter decides by. */
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

/** Whether Argo CD said that the application is not there, or not for this token: without the right project it does not tell which. */
export function isAbsent(error: unknown): boolean {
  return error instanceof ArgoCdFailure && (error.code === GRPC.notFound || error.code === GRPC.permissionDenied);
}
