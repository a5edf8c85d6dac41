import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { StoreUnavailable } from "../../src/core/model/errors.js";
import type { CommandResult, Refusal } from "../../src/core/model/result.js";
import type { AuditEntry } from "../../src/core/ports/audit.js";
import { auditFactsOf, auditFactsOfMerge, recordAudit } from "../../src/run/answer/audit.js";
import { evaluated, HEAD, sampleApplication, sampleChange, sampleLock, samplePlan } from "../comments/samples.js";
import { recordingLog } from "../recording-log.js";

const web = applicationName("web");
const api = applicationName("api");
const intent = { method: "squash", deleteSourceBranch: false, protectedBranches: [] } as const;

function refusedFacts(refusal: Refusal) {
  return auditFactsOf({ kind: "refused", refusal });
}

describe("what the trail says of a result", () => {
  test("a plan: the verdict of each application, who holds what is locked, and what is not deployed", () => {
    const plan = samplePlan(
      [
        sampleApplication("web", { ...evaluated([]), lock: { kind: "held", by: sampleLock("web", 3) } }),
        sampleApplication("api", { kind: "unevaluated", reason: "helm said something long" }),
        sampleApplication("new", { kind: "new" }),
      ],
      { notDeployed: [{ application: applicationName("wiki"), reason: "no right" }] },
    );
    expect(auditFactsOf({ kind: "planned", plan, pruning: false })).toEqual({
      action: "planned",
      reason: undefined,
      applications: [
        { application: "web", outcome: "unchanged", detail: "locked by acme/deploy#3" },
        { application: "api", outcome: "unevaluated", detail: undefined },
        { application: "new", outcome: "new", detail: undefined },
        { application: "wiki", outcome: "not deployed", detail: "no right" },
      ],
    });
  });

  test("a sync: what became of each application; a dry run is called one", () => {
    const failed = { application: web, warnings: [], kind: "failed", message: "m", resources: [] } as const;
    const result: CommandResult = {
      kind: "synced",
      dryRun: true,
      applications: [failed],
      announced: [sampleApplication("new", { kind: "new" })],
      skipped: [api],
      merge: undefined,
      notMerged: [],
      replaced: [],
    };
    const applications = [
      { application: "web", outcome: "failed", detail: undefined, message: "m" },
      { application: "new", outcome: "new", detail: undefined },
      { application: "api", outcome: "skipped", detail: undefined },
    ];
    expect(auditFactsOf(result)).toEqual({ action: "synced", applications, reason: "dry run" });
    expect(auditFactsOf({ ...result, dryRun: false })?.reason).toBeUndefined();
    expect(auditFactsOf({ kind: "rolled-back", dryRun: false, applications: [failed], takenOver: [] })).toEqual({
      action: "rolled-back",
      applications: applications.slice(0, 1),
      reason: undefined,
    });
  });

  test("an unlock and a close: what was released, and what still runs", () => {
    const named = [{ application: "words of the comment", lock: undefined }];
    expect(auditFactsOf({ kind: "unlocked", released: [web], notHeld: named, left: [], next: [] })).toEqual({
      action: "unlocked",
      applications: [{ application: "web", outcome: "released", detail: undefined }],
      reason: undefined,
    });
    expect(auditFactsOf({ kind: "closed", released: [web], stillDeployed: [api] })?.applications).toEqual([
      { application: "web", outcome: "released", detail: undefined },
      { application: "api", outcome: "still deployed", detail: undefined },
    ]);
  });

  test.each<[string, CommandResult]>([
    ["help", { kind: "help" }],
    ["what is no command", { kind: "refused", refusal: { reason: "not-a-command" } }],
    ["a close that held nothing", { kind: "closed", released: [], stillDeployed: [] }],
  ])("%s: nothing", (_what, result) => {
    expect(auditFactsOf(result)).toBeUndefined();
  });

  test.each<[Refusal, readonly object[]]>([
    [
      { reason: "not-approved", applications: [web], missing: "nobody has approved it yet", others: [] },
      [{ application: "web", outcome: "refused", detail: "nobody has approved it yet" }],
    ],
    [
      { reason: "not-deployable", applications: [{ application: web, reason: "no right" }], others: [] },
      [{ application: "web", outcome: "refused", detail: "no right" }],
    ],
    [
      { reason: "locked-by-other", locks: [sampleLock("web", 3)] },
      [{ application: "web", outcome: "refused", detail: "locked by acme/deploy#3" }],
    ],
    [
      {
        reason: "not-allowed",
        command: "sync",
        login: "ana",
        applications: [{ application: web, allowed: [{ users: ["bo"], teams: [] }], problem: undefined }],
        others: [api],
      },
      [{ application: "web", outcome: "refused", detail: undefined }],
    ],
    [{ reason: "no-write-access", login: "ana" }, []],
    [{ reason: "head-moved" }, []],
  ])("refused: %j", (refusal, applications) => {
    expect(refusedFacts(refusal)).toEqual({ action: "refused", applications, reason: refusal.reason });
  });

  test.each<Refusal>([
    { reason: "unknown-applications", applications: ["words of the comment"] },
    { reason: "not-locked", applications: ["words of the comment"], held: [] },
  ])("what was typed as a name is a comment's text and stays out: $reason", (refusal) => {
    expect(JSON.stringify(refusedFacts(refusal))).not.toContain("words");
  });

  test.each<[Refusal, string]>([
    [{ reason: "failure", message: "x".repeat(2000) }, `${"x".repeat(500)}…`],
    [{ reason: "store-unavailable" }, "store-unavailable"],
  ])("failed, with a reason of bounded length", (refusal, reason) => {
    expect(refusedFacts(refusal)).toEqual({ action: "failed", applications: [], reason });
  });

  test("a merge, and one that the host refused", () => {
    expect(auditFactsOfMerge({ kind: "merged", note: undefined }, { kind: "merge", intent }).action).toBe("merged");
    expect(auditFactsOfMerge({ kind: "refused", reason: "head moved" }, { kind: "merge", intent })).toMatchObject({
      action: "refused",
      reason: "merge: head moved",
    });
    const notMerged = [{ application: applicationName("web"), reason: "it requires an approval" }];
    const barred = { kind: "barred", notMerged, next: { kind: "later", because: "" } } as const;
    expect(auditFactsOfMerge({ kind: "barred" }, barred)).toEqual({
      action: "refused",
      applications: [{ application: "web", outcome: "refused", detail: "it requires an approval" }],
      reason: "merge",
    });
  });
});

test("a trail that cannot be written fails nothing, and the log has the entry", async () => {
  const log = recordingLog();
  const { host, repository, number } = sampleChange();
  const entry: AuditEntry = {
    at: "2026-03-02T10:00:00.000Z",
    runId: "run",
    delivery: "1",
    who: "svc",
    change: { host, repository, number },
    head: HEAD,
    action: "planned",
    command: "plan",
    applications: [],
    reason: undefined,
  };
  const away = () => Promise.reject(new StoreUnavailable("away"));
  await recordAudit(entry, { audit: { record: away, list: away }, log });
  expect(log.lines).toEqual([
    expect.objectContaining({ level: "info", text: "audit" }),
    expect.objectContaining({ level: "error", text: "could not write the audit trail" }),
  ]);
  for (const line of log.lines) expect(line).toMatchObject({ fields: { audit: entry } });
});

test("a hold is in the trail until the minute that its answer told", () => {
  const by = { provider: "hosta", id: "1", login: "olga" } as const;
  const [since, until] = ["2026-03-01T16:00:45.000Z", "2026-03-01T18:00:45.000Z"];
  const hold = { id: "h", applications: ["web"], reason: "a migration", by, since, until };
  expect(auditFactsOf({ kind: "held", hold })).toMatchObject({ reason: "until 2026-03-01 18:01 UTC" });
});
