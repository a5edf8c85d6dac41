import { describe, expect, test } from "@jest/globals";
import { applicationName, revision } from "../../../src/core/model/brand.js";
import { checkSync, type SyncFacts } from "../../../src/core/policy/checks.js";
import { byNameAlone, needsApproval } from "../../../src/core/policy/effect-rules.js";
import { sampleApplication, sampleChange, sampleLock, samplePlan } from "../../comments/samples.js";
import { sampleSettings } from "../sample-settings.js";

const approved = { approved: true, approvers: ["bo"], people: [], missing: undefined };
const unapproved = { approved: false, approvers: [], people: [], missing: "nobody has approved it yet" };
const strict = sampleSettings({
  requirementsFor: ({ name }) => ({ requireApproval: name !== "dev", requireUpToDate: false }),
});
const stale = { ...sampleLock("web"), planRevision: revision("0".repeat(40)) };
const barred = [{ application: applicationName("web"), allowed: [{ users: ["bo"], teams: [] }], problem: undefined }];
const obstacles = [{ application: applicationName("web"), reason: "no right" }];

function facts(more: Partial<SyncFacts> = {}): SyncFacts {
  return {
    change: sampleChange(),
    settings: sampleSettings(),
    locks: [sampleLock("web")],
    withoutApproval: false,
    approval: undefined,
    mergeability: "mergeable",
    autoSynced: new Set(),
    user: { id: "1", login: "ana", bot: false },
    barred: [],
    obstacles: [],
    differing: new Map(),
    plan: samplePlan([]),
    moved: new Map(),
    ...more,
  };
}

describe("the checks of a sync come in the specification's order", () => {
  const everything: Partial<SyncFacts> = {
    settings: strict,
    approval: unapproved,
    locks: [stale],
    mergeability: "conflicts",
    autoSynced: new Set([applicationName("web")]),
    barred,
    obstacles,
  };
  test.each<[string, Partial<SyncFacts>]>([
    ["not-approved", everything],
    ["stale", { ...everything, approval: approved }],
    ["stale", { ...everything, approval: approved, locks: [sampleLock("web")], plan: undefined }],
    [
      "stale",
      { ...everything, approval: approved, locks: [sampleLock("web")], plan: samplePlan([], { baseBranch: "mine" }) },
    ],
    ["conflicts", { ...everything, approval: approved, locks: [sampleLock("web")] }],
    [
      "mergeability-unknown",
      { ...everything, approval: approved, locks: [sampleLock("web")], mergeability: "unknown" },
    ],
    ["auto-sync", { ...everything, approval: approved, locks: [sampleLock("web")], mergeability: "mergeable" }],
    ["not-allowed", { settings: strict, approval: approved, barred, obstacles }],
    ["not-deployable", { settings: strict, approval: approved, obstacles }],
  ])("%s", (reason, more) => {
    expect(checkSync(facts(more))?.reason).toBe(reason);
  });

  test("nothing stands in the way", () => {
    expect(checkSync(facts())).toBeUndefined();
    expect(checkSync(facts({ settings: strict, approval: approved }))).toBeUndefined();
  });
});

describe("a refusal names every application that it is for, and those that would pass", () => {
  const locks = [sampleLock("dev"), sampleLock("web")];

  test("approval", () => {
    expect(checkSync(facts({ locks, settings: strict, approval: unapproved }))).toEqual({
      reason: "not-approved",
      applications: ["web"],
      needs: [],
      missing: "nobody has approved it yet",
      others: ["dev"],
    });
  });

  test("one that would fail a later check is not among those that would pass", () => {
    const more = { locks, settings: strict, approval: unapproved };
    const others = (also: Partial<SyncFacts>) => {
      const refusal = checkSync(facts({ ...more, ...also }));
      return refusal?.reason === "not-approved" ? refusal.others : undefined;
    };
    expect(others({})).toEqual(["dev"]);
    expect(others({ locks: [{ ...stale, application: applicationName("dev") }, sampleLock("web")] })).toEqual([]);
    expect(others({ mergeability: "conflicts" })).toEqual([]);
    expect(others({ autoSynced: new Set([applicationName("dev")]) })).toEqual([]);
    expect(others({ obstacles: [{ application: applicationName("dev"), reason: "no right" }] })).toEqual([]);
  });

  test("staleness, with what the last plan said", () => {
    const plan = samplePlan([sampleApplication("web", { kind: "unevaluated", reason: "helm failed" })]);
    expect(checkSync(facts({ locks: [sampleLock("dev"), stale], plan }))).toEqual({
      reason: "stale",
      applications: [{ application: "web", planFailure: "helm failed" }],
      others: ["dev"],
    });
  });

  test("a lock that was never planned is stale", () => {
    const never = { ...sampleLock("web"), planRevision: undefined };
    expect(checkSync(facts({ locks: [never] }))?.reason).toBe("stale");
  });

  test("auto-sync", () => {
    const refusal = checkSync(facts({ locks, autoSynced: new Set([applicationName("web")]) }));
    expect(refusal).toEqual({ reason: "auto-sync", applications: ["web"], others: ["dev"] });
  });
});

test("approval is asked for only where an application requires it", () => {
  expect(needsApproval(byNameAlone([applicationName("dev")]), strict)).toBe(false);
  expect(needsApproval(byNameAlone([applicationName("dev"), applicationName("web")]), strict)).toBe(true);
  expect(checkSync(facts({ settings: strict, locks: [sampleLock("dev")] }))).toBeUndefined();
});
