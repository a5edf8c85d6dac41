/**
 * Broken things of the outside world. The message of each is safe to show to people: it says what happened to what,
 * and holds no secret. Branch on the class and its fields, never on the text.
 */

/** The store (Redis) did not answer in time or refused; whether a write happened may be unknown. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** Another replica works on this change request now: whatever this one was about to do is its business no more. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  constructor() {
    super("another replica has taken over this change request");
  }
}

/** A stored value has a version or a shape that this version of the service does not know. */
export class StoredValueUnreadable extends Error {
  override readonly name = "StoredValueUnreadable";
}

/** Why Argo CD did not do what it was asked. */
export type DeployerFailureReason =
  | "unreachable" // no connection, or no answer in time
  | "unauthenticated" // the token is wrong or expired
  | "forbidden" // the token lacks a permission
  | "not-found"
  | "unsupported" // this version of Argo CD lacks the call
  | "busy" // another operation is in progress
  | "refused" // Argo CD says no: sync window, auto-sync, invalid spec
  | "failed"; // rendering failed or the answer is unreadable

export class DeployerFailure extends Error {
  override readonly name = "DeployerFailure";
  constructor(
    readonly reason: DeployerFailureReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whether an error of a call that deploys tells for sure that nothing was deployed; the store is asked before it is sent. */
export function neverStarted(error: unknown): boolean {
  if (error instanceof StoreUnavailable) return true;
  return error instanceof DeployerFailure && error.reason !== "unreachable";
}

/** Why a code host did not do what it was asked. */
export type HostFailureReason =
  | "unreachable"
  | "unauthenticated"
  | "forbidden"
  | "not-found"
  | "rate-limited"
  | "rejected" // the host understood and said no
  | "failed";

export interface HostFailureOptions extends ErrorOptions {
  readonly maybeDone?: boolean;
}

export class HostFailure extends Error {
  override readonly name = "HostFailure";
  /** Something was to be changed and may have been: look before trying again. False where it surely was not. */
  readonly maybeDone: boolean;
  constructor(
    readonly reason: HostFailureReason,
    message: string,
    options?: HostFailureOptions,
  ) {
    super(message, options);
    this.maybeDone = options?.maybeDone ?? false;
  }
}

/** The repository could not be read. */
export class RepositoryFailure extends Error {
  override readonly name = "RepositoryFailure";
}

/** The branch moved while it was being read: the commit that git fetched is not the one that the host named. */
export class HeadMoved extends Error {
  override readonly name = "HeadMoved";
}

/** What may be shown to people of an error: our own classes carry safe sentences, everything else does not. */
export function safeMessage(error: unknown): string {
  if (
    error instanceof StoreUnavailable ||
    error instanceof LeaseLost ||
    error instanceof StoredValueUnreadable ||
    error instanceof DeployerFailure ||
    error instanceof HostFailure ||
    error instanceof RepositoryFailure ||
    error instanceof HeadMoved
  ) {
    return error.message;
  }
  return "an unexpected error inside the service; its log has the details";
}
