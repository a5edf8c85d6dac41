import type { ApplicationName } from "../core/model/brand.js";

/** Order of records by application, the same on every machine. */
export function byApplication(
  left: { readonly application: ApplicationName },
  right: { readonly application: ApplicationName },
): number {
  if (left.application === right.application) return 0;
  return left.application < right.application ? -1 : 1;
}
