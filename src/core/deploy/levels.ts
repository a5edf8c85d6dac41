import type { ApplicationName } from "../model/brand.js";

/** An application of a run, and those of the same run that apply its definition. */
export interface Ordered {
  readonly application: ApplicationName;
  readonly after: readonly ApplicationName[];
}

/**
 * Splits a run into levels: each application comes in the first level after all those that it waits for. What waits for
 * itself in a circle comes last. Names outside of the run count as done.
 */
export function levelsOf<T extends Ordered>(run: readonly T[]): readonly (readonly T[])[] {
  const levels: (readonly T[])[] = [];
  let left = run;
  while (left.length > 0) {
    const waiting = new Set(left.map(({ application }) => application));
    const ready = left.filter(({ after }) => !after.some((one) => waiting.has(one)));
    const level = ready.length > 0 ? ready : left;
    levels.push(level);
    left = left.filter((one) => !level.includes(one));
  }
  return levels;
}
