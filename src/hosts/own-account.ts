import type { User } from "../core/model/change-request.js";

/** Calls `find` once for all callers; after a failure, the next caller tries again. */
export function keepAccount(find: () => Promise<User>): () => Promise<User> {
  let kept: Promise<User> | undefined;
  return async () => {
    kept ??= find();
    try {
      return await kept;
    } catch (error) {
      kept = undefined;
      throw error;
    }
  };
}
