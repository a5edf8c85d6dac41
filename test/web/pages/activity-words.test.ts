import { expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import type { AuditEntry } from "../../../src/core/ports/audit.js";
import { activityWords, outcomeWords, severalWords } from "../../../src/web/pages/activity-words.js";
import { HEAD, PULL } from "../sample-stores.js";

function entry(given: Partial<AuditEntry>, ...outcomes: readonly string[]) {
  return {
    id: "1-0",
    at: "2026-11-22T12:00:00.000Z",
    runId: "run-1",
    delivery: "d-1",
    who: "svc",
    change: PULL,
    head: HEAD,
    action: "synced",
    command: "sync",
    reason: undefined,
    applications: outcomes.map((outcome) => ({ application: applicationName("web"), outcome, detail: undefined })),
    ...given,
  } as const;
}

test.each<[Partial<AuditEntry>, readonly string[], string, string]>([
  [{ action: "planned", command: "plan" }, ["changed", "unchanged"], "", "planned"],
  [{ action: "planned", command: "plan" }, ["changed", "unevaluated"], "attention", "planned in part"],
  [{}, ["succeeded", "new", "skipped"], "good", "synced"],
  [{}, ["succeeded", "failed"], "bad", "sync failed"],
  [{}, ["rejected"], "bad", "sync failed"],
  [{}, ["succeeded", "running"], "attention", "sync, end not known"],
  [{}, ["unknown"], "attention", "sync, end not known"],
  [{ reason: "dry run" }, ["succeeded"], "", "dry run of a sync"],
  [{ reason: "dry run" }, ["failed"], "bad", "dry run of a sync failed"],
  [{ action: "rolled-back", command: "rollback" }, ["succeeded"], "good", "rolled back"],
  [{ action: "rolled-back", command: "rollback" }, ["failed"], "bad", "rollback failed"],
  [{ action: "unlocked", command: "unlock" }, ["released"], "", "unlocked"],
  [{ action: "force-unlocked", command: undefined }, ["released"], "attention", "unlocked by an admin"],
  [{ action: "merged", reason: "squash" }, [], "good", "merged: with the method squash"],
  [{ action: "closed", command: undefined }, ["released"], "", "closed"],
  [{ action: "refused", reason: "stale" }, ["refused"], "attention", "sync refused: the plan was out of date"],
  [
    { action: "refused", command: "unlock", reason: "store-unavailable" },
    [],
    "attention",
    "unlock refused: the lock store did not answer",
  ],
  [{ action: "refused", reason: "merge" }, ["refused"], "attention", "merge refused"],
  [{ action: "refused", reason: "merge: <b>not now" }, [], "attention", "merge refused: <b>not now"],
  [{ action: "failed", reason: "constructor" }, [], "bad", "sync failed: constructor"],
  [{ action: "failed", command: undefined, reason: "GitHub is down" }, [], "bad", "plan failed: GitHub is down"],
])("%j with %j has the tone “%s” and says %s", (given, outcomes, expected, told) => {
  const { tone, badge, sentence } = activityWords(entry(given, ...outcomes));
  expect([tone, sentence === undefined ? badge : `${badge}: ${sentence}`]).toEqual([expected, told]);
});

test.each([
  ["planned", "unknown", "may change"],
  ["synced", "unknown", "has an unknown end"],
  ["synced", "succeeded", "succeeded"],
  ["force-unlocked", "released", "is unlocked"],
  ["held", "held", "is held"],
  ["released", "released", "is no longer held"],
  ["refused", "toString", "toString"],
] as const)("in what was %s, %s is told as: %s", (action, outcome, told) => {
  expect(outcomeWords({ application: applicationName("web"), outcome, detail: undefined }, { action })).toBe(told);
});

test.each([
  ["was refused", "were refused"],
  ["changes", "change"],
  ["does not change", "do not change"],
  ["has an unknown end", "have an unknown end"],
  ["is still running", "are still running"],
  ["still runs its commit", "still run its commit"],
  ["succeeded", "succeeded"],
  ["may change", "may change"],
  ["isolated: was it?", "isolated: was it?"],
])("of several applications, “%s” is told as “%s”", (told, ofSeveral) => {
  expect(severalWords(told)).toBe(ofSeveral);
});
