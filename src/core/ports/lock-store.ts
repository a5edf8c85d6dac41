import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequestRef } from "../model/change-request.js";
import type { Lock, LockAttempt, LockRequest } from "../model/lock.js";

/** One lock per application. Methods throw `StoreUnavailable`. */
export interface LockStore {
  /** Atomic: takes a free lock, refreshes our own, or returns the holder's. */
  acquire(request: LockRequest, now: Date): Promise<LockAttempt>;
  /** Atomic: removes the lock if `by` holds it. True if it removed one. */
  release(application: ApplicationName, by: ChangeRequestRef | "anyone"): Promise<boolean>;
  find(application: ApplicationName): Promise<Lock | undefined>;
  /** The locks of `holder`, or all of them, sorted by application. */
  list(holder?: ChangeRequestRef): Promise<readonly Lock[]>;
  ping(): Promise<void>;
}
