import type { Account } from "../core/model/account.js";

/** Order of people in a list; those of one name by their id. */
export function byUsername(left: Account, right: Account): number {
  return left.username.localeCompare(right.username, "en") || (left.id < right.id ? -1 : 1);
}
