import type { RepositoryName } from "./brand.js";
import type { ChangeRequest } from "./change-request.js";

/**
 * Failures of the outside world. Each message is safe to show to people: it says what happened to what, and holds no
 * secret. Branch on the class and its fields, never on the text.
 */

/** The store (Redis) did not answer in time or refused; whether a write happened may be unknown. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** Another replica handles this change request now; this one must not write any more. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  constructor() {
    super("another replica has taken over this change request");
  }
}

/** An earlier attempt of the run may have deployed, so reporting a failure could be wrong. */
export class NotRecovered extends Error {
  override readonly name = "NotRecovered";
}

/** A stored value has a version or a shape that this version of the service cannot read. */
export class StoredValueUnreadable extends Error {
  override readonly name = "StoredValueUnreadable";
}

/** Called for each entry that a list leaves out because it cannot be read. Without this callback, the list throws. */
export type OnUnreadable = (error: StoredValueUnreadable) => void;

/** For `catch`: answers failures of one class and rethrows everything else. */
export function only<E extends Error, T>(
  failure: abstract new (...args: never[]) => E,
  answer: (error: E) => T,
): (error: unknown) => T {
  return (error) => {
    if (error instanceof failure) return answer(error);
    throw error;
  };
}

/** Waits for a stored value. @returns `otherwise` if this version of the service cannot read it. */
export function ifReadable<T, O>(reading: Promise<T>, otherwise: O): Promise<T | O> {
  return reading.catch(only(StoredValueUnreadable, () => otherwise));
}

/** Why a call to Argo CD failed. */
export type DeployerFailureReason =
  | "unreachable" // no connection, or no answer in time
  | "unauthenticated" // the token is wrong or expired
  | "forbidden" // the token lacks a permission
  | "not-found"
  | "unsupported" // this version of Argo CD lacks the call
  | "busy" // another operation is in progress
  | "refused" // Argo CD says no: sync window, auto-sync, invalid spec
  | "ungenerated" // a generator or the template of an ApplicationSet fails, and so the whole set
  | "failed"; // rendering failed or the answer is unreadable

/** What is known of a failed call besides its reason. */
export interface CallFailureOptions extends ErrorOptions {
  readonly maybeDone?: boolean | undefined;
}

export class DeployerFailure extends Error {
  override readonly name = "DeployerFailure";
  /** No readable answer came, but Argo CD may have carried out the request. */
  readonly maybeDone: boolean;
  constructor(
    readonly reason: DeployerFailureReason,
    message: string,
    options?: CallFailureOptions,
  ) {
    super(message, options);
    this.maybeDone = options?.maybeDone ?? reason === "unreachable";
  }
}

/** Whether this error proves that nothing was deployed. The store is asked before a request is sent. */
export function neverStarted(error: unknown): boolean {
  if (error instanceof StoreUnavailable) return true;
  return error instanceof DeployerFailure && (error.reason !== "unreachable" || !error.maybeDone);
}

/** Why a call to a code host failed. */
export type HostFailureReason =
  | "unreachable"
  | "unauthenticated"
  | "forbidden"
  | "not-found"
  | "rate-limited"
  | "rejected" // the host understood and said no
  | "failed";

export class HostFailure extends Error {
  override readonly name = "HostFailure";
  /** The call may have changed something: check before trying again. */
  readonly maybeDone: boolean;
  constructor(
    readonly reason: HostFailureReason,
    message: string,
    options?: CallFailureOptions,
  ) {
    super(message, options);
    this.maybeDone = options?.maybeDone ?? false;
  }
}

const FINAL: ReadonlySet<HostFailureReason> = new Set(["forbidden", "not-found", "rejected"]);

/** Whether a host has decided, so that it would answer the same again. */
export function isFinal(error: unknown): boolean {
  return error instanceof HostFailure && !error.maybeDone && FINAL.has(error.reason);
}

/** The repository of a change request has a name by now that svc does not serve. */
export class NotServed extends HostFailure {
  constructor(repository: RepositoryName) {
    super("not-found", `the repository is called ${repository} now, which defaults.allowed_repos does not name`);
  }
}

/** The base branch of an open change request does not exist, so that nobody can tell what holds for it. */
export class BaseBranchGone extends HostFailure {
  /** @param change with the last known commit of that branch, to answer there and for nothing else. */
  constructor(
    readonly change: ChangeRequest,
    options?: CallFailureOptions,
  ) {
    const { repository, baseBranch } = change;
    const message = `the base branch ${baseBranch} no longer exists in ${repository}, so svc cannot tell what would be deployed and which rules hold: create it again, or choose another base branch`;
    super("not-found", message, options);
  }
}

/** The repository could not be read. */
export class RepositoryFailure extends Error {
  override readonly name = "RepositoryFailure";
}

/** A receiver of notifications does not take them. */
export class ReceiverBroken extends Error {
  override readonly name = "ReceiverBroken";
}

/** The branch moved meanwhile: git fetched another commit than the host named. */
export class HeadMoved extends Error {
  override readonly name = "HeadMoved";
}

/** Handles a rejection with `instead`, unless the signal was aborted: its reason is thrown then. */
export function unlessAborted<R>(signal: AbortSignal, instead: (error: unknown) => R): (error: unknown) => R {
  return (error) => {
    signal.throwIfAborted();
    return instead(error);
  };
}

/** Rejects with the signal's reason as soon as it is aborted; the work behind the promise continues. */
export function orAborted<T>(result: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return result;
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason as Error);
    if (signal.aborted) aborted();
    signal.addEventListener("abort", aborted, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}

/** A message that is safe to show to people: that of our own classes, otherwise a general one. */
export function safeMessage(error: unknown): string {
  if (
    error instanceof StoreUnavailable ||
    error instanceof LeaseLost ||
    error instanceof StoredValueUnreadable ||
    error instanceof DeployerFailure ||
    error instanceof HostFailure ||
    error instanceof RepositoryFailure ||
    error instanceof ReceiverBroken ||
    error instanceof HeadMoved
  ) {
    return error.message;
  }
  return "an unexpected error inside the service; its log has the details";
}
