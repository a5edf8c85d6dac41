import type { ApplicationName } from "../model/brand.js";
import type { Refusal } from "../model/result.js";

/** The applications that a command acts on, or why there are none. */
export type Selection<T> =
  { readonly kind: "selected"; readonly items: readonly T[] } | { readonly kind: "refused"; readonly refusal: Refusal };

/** Selects from what a change request holds by `-a`, or everything without it. */
export function select<T extends { readonly application: ApplicationName }>(
  held: readonly T[],
  wanted: readonly string[],
): Selection<T> {
  if (held.length === 0) return { kind: "refused", refusal: { reason: "nothing-locked" } };
  const missing = wanted.filter((name) => !held.some(({ application }) => application === name));
  if (missing.length > 0) {
    return { kind: "refused", refusal: { reason: "not-locked", applications: missing } };
  }
  return {
    kind: "selected",
    items: wanted.length === 0 ? held : held.filter(({ application }) => wanted.includes(application)),
  };
}
