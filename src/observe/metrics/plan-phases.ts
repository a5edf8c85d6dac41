/** When a plan's run reached each point, in milliseconds of one clock; undefined if it did not. */
export interface PlanMarks {
  readonly started: number;
  /** The commits were fetched. */
  readonly fetched: number | undefined;
  readonly firstRenderStarted: number | undefined;
  readonly lastRenderEnded: number | undefined;
  /** The plan was complete and about to be stored. */
  readonly diffed: number;
  readonly ended: number;
}

export const PLAN_PHASES = ["fetch", "detect", "render", "diff", "comment"] as const;
export type PlanPhase = (typeof PLAN_PHASES)[number];

/**
 * How long each phase took, in milliseconds; together they are the run. "fetch" includes reading the facts of the change
 * request, "render" includes diffs made while other applications still render.
 */
export function planPhases(marks: PlanMarks): Readonly<Record<PlanPhase, number>> {
  const { started, diffed, ended } = marks;
  const fetched = marks.fetched ?? started;
  const renderStarted = marks.firstRenderStarted ?? diffed;
  const renderEnded = marks.lastRenderEnded ?? renderStarted;
  return {
    fetch: fetched - started,
    detect: renderStarted - fetched,
    render: renderEnded - renderStarted,
    diff: diffed - renderEnded,
    comment: ended - diffed,
  };
}
