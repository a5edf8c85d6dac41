import { StoreUnavailable } from "../core/model/errors.js";
import type { Lock, LockAttempt } from "../core/model/lock.js";
import type { LockStore } from "../core/ports/lock-store.js";
import { STORE_TITLE } from "../names.js";

/** The locks for a refused event: unavailable, even if the store has come back since. */
export class UnavailableLockStore implements LockStore {
  acquire(): Promise<LockAttempt> {
    return Promise.reject(unavailable());
  }

  release(): Promise<boolean> {
    return Promise.reject(unavailable());
  }

  find(): Promise<Lock | undefined> {
    return Promise.reject(unavailable());
  }

  list(): Promise<readonly Lock[]> {
    return Promise.reject(unavailable());
  }

  ping(): Promise<void> {
    return Promise.reject(unavailable());
  }
}

function unavailable(): StoreUnavailable {
  return new StoreUnavailable(`${STORE_TITLE} was unavailable when the event came`);
}
