import { StoreUnavailable } from "../core/model/errors.js";
import type { Lock, LockAttempt } from "../core/model/lock.js";
import type { LockStore } from "../core/ports/lock-store.js";
import { STORE_TITLE } from "../names.js";

/** The locks as they were when an event came: out of reach, even if the store is back by now. */
export class AwayLocks implements LockStore {
  acquire(): Promise<LockAttempt> {
    return Promise.reject(away());
  }

  release(): Promise<boolean> {
    return Promise.reject(away());
  }

  find(): Promise<Lock | undefined> {
    return Promise.reject(away());
  }

  list(): Promise<readonly Lock[]> {
    return Promise.reject(away());
  }

  ping(): Promise<void> {
    return Promise.reject(away());
  }
}

function away(): StoreUnavailable {
  return new StoreUnavailable(`${STORE_TITLE} was away when the event came`);
}
