import type { Account } from "../core/model/account.js";
import type { ApplicationName } from "../core/model/brand.js";

/** Sorts records by application, in the same order on every machine. */
export function byApplication(
  left: { readonly application: ApplicationName },
  right: { readonly application: ApplicationName },
): number {
  if (left.application === right.application) return 0;
  return left.application < right.application ? -1 : 1;
}

/** Sorts accounts by username, and those with the same name by id. */
export function byUsername(left: Account, right: Account): number {
  return left.username.localeCompare(right.username, "en") || (left.id < right.id ? -1 : 1);
}
