import { StoreUnavailable } from "../core/model/errors.js";
import type { LockStore } from "../core/ports/stores.js";
import { STORE_TITLE } from "../names.js";

const reject = (): Promise<never> =>
  Promise.reject(new StoreUnavailable(`${STORE_TITLE} was unavailable when the event came`));

/** The locks for a refused event: unavailable, even if the store has come back since. */
export const UNAVAILABLE_LOCKS: LockStore = {
  acquire: reject,
  release: reject,
  find: reject,
  list: reject,
  ping: reject,
};
