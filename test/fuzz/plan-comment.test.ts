import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { MAX_PARTS } from "../../src/comments/plan-layout.js";
import { renderPlan } from "../../src/comments/plan.js";
import { markStale } from "../../src/comments/publish.js";
import { HOST_IDS } from "../../src/names.js";
import { LINKS, WORDS } from "../comments/samples.js";
import { fuzz } from "./fuzz.js";
import { hostilePlan } from "./hostile-plan.js";
import { expectHarmless } from "./read-comment.js";

const input = fc.tuple(
  hostilePlan,
  fc.constantFrom(...HOST_IDS),
  fc.boolean(),
  fc.constantFrom("one" as const, "all" as const),
);

test("no text from outside breaks out of a plan, and every part of it is whole and fits", () => {
  fuzz("plan-comment", input, ([plan, host, pruning, comments]) => {
    const parts = renderPlan(plan, { words: WORDS[host], pruning, links: LINKS, comments });
    const shown = plan.applications.some(({ kind }) => kind !== "unplanned");
    expect(parts.length).toBeGreaterThan(0);
    expect(parts.length).toBeLessThanOrEqual(MAX_PARTS + 1);
    for (const part of parts) {
      expectHarmless(part, host, shown ? "plan" : "no-applications");
      const stale = markStale(part) ?? "";
      expectHarmless(stale, host, shown ? "plan" : "no-applications");
      expect(markStale(stale)).toBeUndefined();
    }
  });
});
