import { expect, test } from "@jest/globals";
import { renderBarredMerge } from "../../src/comments/merge.js";
import { nextStepText } from "../../src/comments/next-step-words.js";
import { settledText } from "../../src/comments/progress-comment.js";
import { renderResult } from "../../src/comments/render.js";
import { parseComment } from "../../src/core/commands/parse-command.js";
import { applicationName } from "../../src/core/model/brand.js";
import type { CommandResult } from "../../src/core/model/result.js";
import { LINKS, sampleApplication, sampleChange, sampleLock, samplePlan, WORDS } from "../comments/samples.js";

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
  for (const part of rendered(result)) expect(part.length).toBeLessThanOrEqual(WORDS.hosta.maxComment);
});

const THOUSANDS = Array.from({ length: 5000 }, (_, index) => applicationName(`application-${index}`));
const { holder } = sampleLock("application-1", 7, "bo");
const synced = {
  kind: "synced",
  dryRun: false,
  applications: [],
  announced: [],
  replaced: [],
  merge: undefined,
} as const;

test.each<[string, CommandResult]>([
  [
    "an unlock",
    {
      kind: "unlocked",
      released: THOUSANDS,
      notHeld: [],
      left: THOUSANDS,
      next: THOUSANDS.map((application) => ({ application, change: holder })),
    },
  ],
  ["a close that leaves them deployed", { kind: "closed", released: [], stillDeployed: THOUSANDS }],
  ["a sync that skips them", { ...synced, skipped: THOUSANDS, notMerged: [] }],
  [
    "a sync that does not deploy them",
    {
      ...synced,
      announced: THOUSANDS.map((application) => sampleApplication(application, { kind: "new" })),
      skipped: [],
      notMerged: THOUSANDS.map((application) => ({ application, reason: "it was not synced at the head commit" })),
    },
  ],
  [
    "a rollback that keeps them",
    { kind: "rolled-back", dryRun: false, applications: [], takenOver: [], kept: THOUSANDS },
  ],
])("%s, for five thousand applications, fits a comment on GitHub and counts what it leaves out", (_, result) => {
  const parts = rendered(result);
  for (const part of parts) expect(part.length).toBeLessThanOrEqual(WORDS.hosta.maxComment);
  expect(parts.join()).toMatch(/ \d+ more/);
});

test("the outcomes of many earlier syncs fit below an answer, those that failed first", () => {
  const text = settledText(
    THOUSANDS.map((application, index) => ({
      application,
      runId: "1",
      outcome: index === THOUSANDS.length - 1 ? "failed" : "succeeded",
    })),
    WORDS.hosta,
  );
  expect(text.length).toBeLessThan(5000);
  expect(text.split("\n")[1]).toContain("❌ it failed");
  expect(text).toContain("- and 4970 more");
});

test("what bars the merge of a thousand applications fits a comment on GitHub, with the next step", () => {
  const notMerged = THOUSANDS.slice(0, 1000).map((application) => ({
    application,
    reason: "main changed it after it was deployed from here",
  }));
  const next = { kind: "command", command: "plan", applications: [], by: [] } as const;
  const text = renderBarredMerge({ notMerged, next }, sampleChange("hosta"), WORDS.hosta, LINKS);
  expect(text.length).toBeLessThanOrEqual(WORDS.hosta.maxComment);
  expect(text).toMatch(/\n- and \d+ more lines\n\n[^]*svc plan/);
});

test("the outcomes of earlier syncs fit below a full comment on GitHub, also with long names", () => {
  const outcomes = Array.from({ length: 30 }, (_, index) => {
    const application = applicationName(`${"n".repeat(60)}/${"a".repeat(200)}-${index}`);
    return { application, runId: "1", outcome: index === 29 ? ("failed" as const) : ("succeeded" as const) };
  });
  const note = settledText(outcomes, WORDS.hosta);
  expect(WORDS.hosta.maxComment + note.length).toBeLessThan(65_536);
  expect(note).toMatch(/❌ it failed[^]*\n- and \d+ more$/);
});

const LONG = Array.from({ length: 60 }, (_, index) => applicationName(`${"n".repeat(200)}/${"a".repeat(200)}${index}`));

test.each([
  ["150 short names", THOUSANDS.slice(0, 150), 50],
  ["60 long names", LONG, 41],
])("a command for %s that svc advises is one that it takes, and the rest is counted", (_, applications, left) => {
  const change = sampleChange("hosta");
  const step = { kind: "command", command: "sync", applications, by: [] } as const;
  const refusal = { reason: "not-approved", applications: MANY, missing: "", needs: [], others: applications } as const;
  const texts = [nextStepText(step, change, WORDS.hosta), ...rendered({ kind: "refused", refusal })];
  for (const text of texts) {
    const command = /^svc sync .+$/m.exec(text)?.[0] ?? "";
    expect(parseComment(command, "svc")).toMatchObject({
      kind: "command",
      command: { name: "sync", applications: applications.slice(0, -left) },
    });
    expect(text).toContain(`hen the same for ${left} more applications.`);
  }
});

function rendered(result: CommandResult): readonly string[] {
  const command = { name: "sync", applications: [], dryRun: false, prune: false } as const;
  return renderResult(result, {
    change: sampleChange("hosta"),
    words: WORDS.hosta,
    links: LINKS,
    comments: "all",
    command,
  });
}
