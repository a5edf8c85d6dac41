import { expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import type { AuditEntry, AuditRecord } from "../../../src/core/ports/audit.js";
import { lastFailure } from "../../../src/web/pages/change-page.js";
import { HEAD, PULL } from "../sample-stores.js";

const NOW = new Date("2026-11-22T12:30:00.000Z");

type Given = readonly [AuditEntry["action"], Readonly<Record<string, string>>?, string?];

const COMMANDS = { synced: "sync", "rolled-back": "rollback", planned: "plan", failed: "sync" } as const;

/** The newest first. */
function entries(...given: readonly Given[]): readonly AuditRecord[] {
  return given.map(([action, outcomes = {}, reason], index) => ({
    id: `${100 - index}-0`,
    at: "2026-11-22T12:00:00.000Z",
    runId: `run-${index}`,
    delivery: "d-1",
    who: { host: "hosta", id: "11", login: "ana" },
    change: PULL,
    head: HEAD,
    action,
    command: action in COMMANDS ? COMMANDS[action as keyof typeof COMMANDS] : undefined,
    reason,
    applications: Object.entries(outcomes).map(([name, outcome]) => ({
      application: applicationName(name),
      outcome,
      detail: reason === "merge" ? `${name} needs an approval` : undefined,
      message: outcome === "succeeded" ? undefined : `${name} said no`,
    })),
  }));
}

function told(given: readonly Given[], withDiff = true): string | undefined {
  const failure = lastFailure(entries(...given), { withDiff, now: NOW });
  if (failure === undefined) return undefined;
  const { at, who, what, why, applications } = failure;
  const each = applications.map(({ application, outcome, message }) => `${application} ${outcome}: ${message}`);
  return [`${who}, ${at.age}: ${what}`, ...(why === undefined ? [] : [why]), ...each].join("; ");
}

test.each<[string, readonly Given[], string | undefined]>([
  ["nothing happened", [], undefined],
  ["a sync failed", [["synced", { web: "failed", api: "succeeded" }]], "sync failed; web failed: web said no"],
  [
    "it was planned since",
    [
      ["planned", { web: "changed" }],
      ["synced", { web: "rejected" }],
    ],
    "sync failed; web was not started: web said no",
  ],
  [
    "it was synced since",
    [
      ["synced", { web: "succeeded" }],
      ["synced", { web: "failed" }],
    ],
    undefined,
  ],
  [
    "something else was synced since",
    [
      ["synced", { api: "succeeded" }],
      ["synced", { web: "failed" }],
    ],
    "sync failed; web failed: web said no",
  ],
  [
    "it was rolled back since",
    [
      ["rolled-back", { web: "succeeded" }],
      ["synced", { web: "failed" }],
    ],
    undefined,
  ],
  [
    "the rollback failed as well",
    [
      ["rolled-back", { web: "unknown" }],
      ["synced", { web: "failed" }],
    ],
    "rollback, end not known; web has an unknown end: web said no",
  ],
  [
    "it was tried since",
    [
      ["synced", { web: "succeeded" }, "dry run"],
      ["synced", { web: "failed" }],
    ],
    "sync failed; web failed: web said no",
  ],
  ["a dry run failed", [["synced", { web: "failed" }, "dry run"]], undefined],
  ["a sync was refused", [["refused", { web: "refused" }, "stale"]], undefined],
  ["the host refused the merge", [["refused", {}, "merge: checks are missing"]], "merge refused; checks are missing"],
  [
    "svc did not merge",
    [
      ["refused", { web: "refused" }, "merge"],
      ["synced", { web: "succeeded" }],
    ],
    "merge refused; web was refused: web needs an approval: web said no",
  ],
  ["it was merged since", [["merged"], ["synced", { web: "failed" }]], undefined],
  ["it was closed since", [["closed"], ["failed", {}, "GitHub is down"]], undefined],
  ["a command broke off", [["failed", {}, "GitHub is down"]], "sync failed; GitHub is down"],
  [
    "a command broke off and worked later",
    [
      ["synced", { web: "succeeded" }],
      ["failed", {}, "GitHub is down"],
    ],
    undefined,
  ],
  [
    "an admin unlocked it since",
    [
      ["force-unlocked", { web: "released" }],
      ["failed", {}, "store-unavailable"],
    ],
    "sync failed; the lock store did not answer",
  ],
])("when %s", (_when, given, expected) => {
  expect(told(given)?.replace("ana, 30 min ago: ", "")).toBe(expected);
});

test("what Argo CD said is only for those who see the diffs", () => {
  expect(told([["synced", { web: "failed" }]], false)).toBe("ana, 30 min ago: sync failed; web failed: undefined");
});
