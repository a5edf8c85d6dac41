/** What Kubernetes said when the changed objects of an application were tried in its cluster and not stored. */
export interface ClusterCheck {
  /** How many objects it accepts. That says nothing about what a sync changes. */
  readonly accepted: number;
  readonly refused: readonly RefusedObject[];
  readonly untried: readonly UntriedObjects[];
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
}

/** Sentences for the answer to a sync: it is allowed, although it is known to fail. */
export function expectedRefusals(check: ClusterCheck | undefined): readonly string[] {
  const sure = check?.refused.filter((one) => one.sure) ?? [];
  const told = sure
    .slice(0, MOST_TOLD)
    .map(({ title, message }) => `the plan said that Kubernetes will refuse ${title}: ${message}`);
  const more = sure.length - told.length;
  return more > 0 ? [...told, `the plan said so of ${more} more objects`] : told;
}

const MOST_TOLD = 5;
