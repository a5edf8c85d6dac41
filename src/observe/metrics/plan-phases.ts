/** Where a plan's run touched the world, in milliseconds of one clock. What did not happen is undefined. */
export interface PlanMarks {
  readonly began: number;
  /** The repository's commits were there. */
  readonly fetched: number | undefined;
  readonly firstRenderBegan: number | undefined;
  readonly lastRenderEnded: number | undefined;
  /** The plan was made and about to be stored. */
  readonly diffed: number;
  readonly ended: number;
}

export const PLAN_PHASES = ["fetch", "detect", "render", "diff", "comment"] as const;
export type PlanPhase = (typeof PLAN_PHASES)[number];

/**
 * Lengths of the phases, in milliseconds; their sum is the length of the run. Facts and commits are "fetch"; what is
 * compared while other applications are still being rendered is part of "render".
 */
export function planPhases(marks: PlanMarks): Readonly<Record<PlanPhase, number>> {
  const { began, diffed, ended } = marks;
  const fetched = marks.fetched ?? began;
  const renderBegan = marks.firstRenderBegan ?? diffed;
  const renderEnded = marks.lastRenderEnded ?? renderBegan;
  return {
    fetch: fetched - began,
    detect: renderBegan - fetched,
    render: renderEnded - renderBegan,
    diff: diffed - renderEnded,
    comment: ended - diffed,
  };
}
