import { expect, test } from "@jest/globals";
import { renderReminder, type ReminderFacts } from "../../src/comments/reminder.js";
import { revision } from "../../src/core/model/brand.js";
import { nextStep, undoOf } from "../../src/core/policy/next-step.js";
import type { HostId } from "../../src/names.js";
import { expectGolden } from "./golden.js";
import {
  evaluated,
  LINKS,
  resource,
  sampleApplication,
  sampleChange,
  sampleDeployment,
  samplePlan,
  sampleFacts,
  WORDS,
} from "./samples.js";

const now = new Date("2026-03-03T10:20:00.000Z");
const commit = { id: revision("d".repeat(40)), parents: [], subject: "Raise the limits of mail", paths: [] };
const gained = { commits: [commit], complete: true };
const plan = samplePlan([sampleApplication("web", evaluated([resource("ConfigMap web", "update", "-a\n+b")]))]);

function reminder(records: ReminderFacts["records"], read = true, host: HostId = "hosta"): string {
  const facts = sampleFacts(plan, { records });
  const undo = undoOf(
    records.map(({ application }) => application),
    facts,
  );
  const around = read ? { gained, next: nextStep(facts), undo } : undefined;
  return renderReminder({ records, around, now }, { change: sampleChange(host), words: WORDS[host], links: LINKS });
}

test("names what is deployed, the next step, what the target branch got since, and the way back", () => {
  const text = reminder([sampleDeployment("web")]);
  expectGolden("reminder", (host) => [reminder([sampleDeployment("web")], true, host)]);
  expect(text).toContain("**Deployed and not merged for 25 hours** · merge this PR");
  expect(text).toContain("To deploy `main` again, comment `svc rollback`.");
});

test("counts minutes until an hour is over", () => {
  const text = reminder([sampleDeployment("web", { timestamp: "2026-03-03T09:50:00.000Z" })]);
  expect(text).toContain("**Deployed and not merged for 30 minutes** ·");
});

test("advises no merge of what failed or is no longer the head", () => {
  const failed = reminder([sampleDeployment("web", { outcome: "failed" })]);
  expect(failed).toContain("that sync failed");
  expect(failed).not.toContain("merge this PR");
  const older = reminder([sampleDeployment("web", { revision: revision("e".repeat(40)) })]);
  expect(older).toContain("· comment `svc sync`");
  expect(older).toContain("⚠️ The head is now `c0ffee00`, and not all of these run it.");
});

test("advises nothing where the repository could not be read", () => {
  const text = reminder([sampleDeployment("web")], false);
  expect(text).toContain("**Deployed and not merged for 25 hours**\n");
  expect(text).not.toMatch(/svc (?:sync|rollback)/);
});
