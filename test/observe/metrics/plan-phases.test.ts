import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { planPhases } from "../../../src/observe/metrics/metrics.js";

test.each([
  [
    "renders",
    { started: 0, fetched: 10, firstRenderStarted: 15, lastRenderEnded: 115, diffed: 118, ended: 130 },
    { fetch: 10, detect: 5, render: 100, diff: 3, comment: 12 },
  ],
  [
    "renders nothing",
    { started: 5, fetched: 10, firstRenderStarted: undefined, lastRenderEnded: undefined, diffed: 18, ended: 20 },
    { fetch: 5, detect: 8, render: 0, diff: 0, comment: 2 },
  ],
  [
    "renders while git still fetches",
    { started: 0, fetched: 10, firstRenderStarted: 4, lastRenderEnded: 30, diffed: 33, ended: 40 },
    { fetch: 10, detect: 0, render: 20, diff: 3, comment: 7 },
  ],
  [
    "ends before a render that it does not need",
    { started: 0, fetched: 10, firstRenderStarted: 4, lastRenderEnded: 35, diffed: 33, ended: 40 },
    { fetch: 10, detect: 0, render: 23, diff: 0, comment: 7 },
  ],
])("a plan that %s has these phases", (_name, marks, phases) => {
  expect(planPhases(marks, marks.diffed, marks.ended)).toEqual(phases);
});

test("the phases of any run are not negative, and together as long as the run", () => {
  const times = fc.array(fc.integer({ min: 0, max: 1e6 }), { minLength: 6, maxLength: 6 });
  fc.assert(
    fc.property(times, fc.boolean(), ([first, last, ...unsorted], renders) => {
      const [started = 0, fetched = 0, diffed = 0, ended = 0] = unsorted.sort((a, b) => a - b);
      const marks = {
        ...{ started, fetched },
        firstRenderStarted: renders ? first : undefined,
        lastRenderEnded: renders ? last : undefined,
      };
      const phases = Object.values(planPhases(marks, diffed, ended));
      expect(Math.min(...phases)).toBeGreaterThanOrEqual(0);
      expect(phases.reduce((sum, one) => sum + one, 0)).toBe(ended - started);
    }),
  );
});
