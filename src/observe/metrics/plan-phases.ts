/** When a plan's run reached each point, in milliseconds of one clock; undefined if it did not. */
export interface PlanMarks {
  readonly started: number;
  fetched?: number | undefined;
  firstRenderStarted?: number | undefined;
  lastRenderEnded?: number | undefined;
  /** The plan is complete and not stored yet. */
  diffed: number;
  readonly ended: number;
}

export const PLAN_PHASES = ["fetch", "detect", "render", "diff", "comment"] as const;

/**
 * How long each phase took, in milliseconds; together they are the run. "fetch" includes reading the facts of the change
 * request, "render" includes diffs made while other applications still render.
 */
export function planPhases(marks: Readonly<PlanMarks>): Readonly<Record<(typeof PLAN_PHASES)[number], number>> {
  const { started, diffed, ended, fetched = started, firstRenderStarted = diffed } = marks;
  // Some renders are requested while git still fetches, and one that the plan does not need may outlast it.
  const first = Math.min(Math.max(firstRenderStarted, fetched), diffed);
  const last = Math.min(Math.max(marks.lastRenderEnded ?? first, first), diffed);
  return {
    fetch: fetched - started,
    detect: first - fetched,
    render: last - first,
    diff: diffed - last,
    comment: ended - diffed,
  };
}
