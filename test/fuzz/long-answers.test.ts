import { expect, test } from "@jest/globals";
import { renderResult } from "../../src/comments/render.js";
import { applicationName } from "../../src/core/model/brand.js";
import type { CommandResult } from "../../src/core/model/result.js";
import { LINKS, sampleChange, samplePlan, WORDS } from "../comments/samples.js";

const MANY = Array.from({ length: 100 }, (_, index) => applicationName(`team-${index}/application-${index}`));
const REASON = "the source https://git.example.com/acme/charts follows <another> branch & is 'not' ours. ".repeat(10);
const named = MANY.map((application) => ({ application, reason: REASON }));

test.each<[string, CommandResult]>([
  ["a plan that plans none of them", { kind: "planned", pruning: false, plan: samplePlan([], { notDeployed: named }) }],
  [
    "a refusal with the reason of each failed plan",
    {
      kind: "refused",
      refusal: {
        reason: "stale",
        applications: MANY.map((application) => ({ application, planFailure: REASON.repeat(4), moved: REASON })),
        others: [],
      },
    },
  ],
  [
    "a refusal with a reason for each",
    { kind: "refused", refusal: { reason: "not-deployable", applications: named, others: [] } },
  ],
])("%s, for a hundred applications, fits a comment on GitHub", (_, result) => {
  const parts = renderResult(result, {
    change: sampleChange("hosta"),
    words: WORDS.hosta,
    links: LINKS,
    comments: "all",
  });
  for (const part of parts) expect(part.length).toBeLessThanOrEqual(WORDS.hosta.maxComment);
});
