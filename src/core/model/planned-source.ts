import { sourcesOf, type Source } from "./application-spec.js";
import type { Revision } from "./brand.js";
import type { LiveSubject } from "./subject.js";

/** What one source of the head's definition was read at. */
export interface PlannedSource {
  /** 1-based. */
  readonly position: number;
  /** `head` gets the head commit; `fixed` is another revision of this repository; `foreign` is another repository or chart. */
  readonly kind: "head" | "fixed" | "foreign";
  /** Its target revision. */
  readonly follows: string;
  /** The commit, or a chart's version. Undefined for a foreign source that Argo CD had not read yet. */
  readonly revision: string | undefined;
  /** The head was approved before any plan showed this commit. */
  readonly unseen: boolean;
}

/**
 * What the plan of a subject is made from. Argo CD does not say what it renders of other repositories: it is what it
 * compared last.
 */
export function plannedSources({ head, live }: LiveSubject, headRevision: Revision): readonly PlannedSource[] {
  const before = sourcesOf(live.spec);
  return sourcesOf(head.spec).map((source): PlannedSource => {
    const { position, targetRevision: follows } = source;
    const common = { position, follows, unseen: false };
    if (head.positions.includes(position)) return { ...common, kind: "head", revision: headRevision };
    const fixed = head.fixed.find((one) => one.position === position);
    if (fixed !== undefined) return { ...common, kind: "fixed", revision: fixed.revision };
    const same = before[position - 1];
    const known = same !== undefined && isSameOrigin(same, source);
    return { ...common, kind: "foreign", revision: known ? live.comparedRevisions[position - 1] : undefined };
  });
}

function isSameOrigin(left: Origin, right: Origin): boolean {
  return left.repoURL === right.repoURL && left.chart === right.chart && left.targetRevision === right.targetRevision;
}

type Origin = Pick<Source, "repoURL" | "chart" | "targetRevision">;
