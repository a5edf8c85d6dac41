import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequestRef } from "../model/change-request.js";
import type { Lock, LockAttempt, LockRequest } from "../model/lock.js";

/** One lock per application. Methods throw `StoreUnavailable`. */
export interface LockStore {
  /** Atomic: takes a free lock, refreshes our own, or tells who holds it. */
  acquire(request: LockRequest, now: Date): Promise<LockAttempt>;
  /** Atomic: removes the lock if `by` holds it; true when a lock was removed. */
  release(application: ApplicationName, by: ChangeRequestRef | "anyone"): Promise<boolean>;
  find(application: ApplicationName): Promise<Lock | undefined>;
  /** Locks of this holder, or all, sorted by application. */
  list(holder?: ChangeRequestRef): Promise<readonly Lock[]>;
  ping(): Promise<void>;
}
