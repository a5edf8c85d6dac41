import { SERVICE } from "../../../names.js";

/** What Kubernetes said when the changed objects of an application were tried in its cluster and not stored. */
export interface ClusterCheck {
  /** How many objects it accepted. That says nothing about what a sync changes. */
  readonly accepted: number;
  readonly refused: readonly RefusedObject[];
  readonly untried: readonly UntriedObjects[];
  /** The objects that it is being asked about, while the plan is shown already; undefined once that is over. */
  readonly asking?: readonly string[] | undefined;
}

/** An object that Kubernetes refuses. */
export interface RefusedObject {
  /** As `ResourceChange.title`. */
  readonly title: string;
  /** `spec.selector: field is immutable`; untrusted, without the values that Kubernetes quotes. */
  readonly message: string;
  /** False where a sync does more than can be tried, so that it may still work. */
  readonly sure: boolean;
}

/** Objects that were not tried. */
export interface UntriedObjects {
  readonly titles: readonly string[];
  /** Completes "not tried: …"; untrusted. */
  readonly reason: string;
  /** It could have been asked about them, but the answer did not come in time. */
  readonly missed?: true | undefined;
}

/** The reason why an answer is missing that nobody waits for any more. */
export const INTERRUPTED = `${SERVICE} was interrupted while it asked: plan again`;

/** Counts what was still to be answered as not tried. */
export function endAsking(check: ClusterCheck, reason: string): ClusterCheck {
  const { asking, untried, ...rest } = check;
  if (asking === undefined) return check;
  return { ...rest, untried: [...untried, { titles: asking, reason, missed: true }] };
}
