import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import { changeRequestRef, type ChangeRequest } from "../../../src/core/model/change-request.js";
import type { Deployment } from "../../../src/core/model/deployment.js";
import type { Danger } from "../../../src/core/model/plan/manifest-diff.js";
import { nextStep } from "../../../src/core/policy/next-step.js";
import {
  BASE,
  evaluated,
  resource,
  sampleApplication,
  sampleChange,
  sampleDeployment,
  sampleFacts,
  samplePlan,
} from "../../comments/samples.js";

describe("a closed change request that is still deployed", () => {
  const rollback = { kind: "command", command: "rollback", applications: [applicationName("web")], by: [] };
  const closed = (record: Partial<Deployment>, requireApproval: boolean) =>
    sampleFacts(undefined, {
      change: { ...sampleChange(), state: "closed" },
      settings: { requirementsFor: () => ({ requireApproval, requireUpToDate: false }) },
      records: [sampleDeployment("web", record)],
    });

  test("is rolled back at once if nothing requires an approval, or one was given when it was deployed", () => {
    expect(nextStep(closed({}, false))).toEqual(rollback);
    expect(nextStep(closed({ approvers: ["bo"] }, true))).toEqual(rollback);
  });

  test("needs an approval first if the rules require one since", () => {
    expect(nextStep(closed({}, true))).toMatchObject({ kind: "approve", then: rollback });
    const approved = { approved: true, approvers: ["bo"], people: [], missing: undefined };
    expect(nextStep({ ...closed({}, true), approval: approved })).toEqual(rollback);
  });

  test("needs none if the target branch, which alone decides what is deployed, is still where it was", () => {
    expect(nextStep(closed({ baseRevision: BASE, basePinned: true }, true))).toEqual(rollback);
    expect(nextStep(closed({ baseRevision: BASE }, true))).toMatchObject({ kind: "approve", then: rollback });
  });
});

describe("before anything is planned or deployed", () => {
  const web = sampleApplication("web", evaluated([resource("ConfigMap a/b", "update", "@@")]));
  const change = sampleChange();

  test.each<[string, Partial<ChangeRequest>, object]>([
    ["conflicts are resolved", { mergeability: "conflicts" }, { kind: "push", because: "conflicts" }],
    ["a fork goes no further", { fork: true }, { kind: "none", because: "fork" }],
    ["what was merged is done", { state: "merged" }, { kind: "none", because: "merged" }],
  ])("%s", (_what, more, expected) => {
    expect(nextStep(sampleFacts(samplePlan([web]), { change: { ...change, ...more } }))).toMatchObject(expected);
  });

  test("files that could not be read are made readable", () => {
    const plan = samplePlan([web], { unread: [{ file: "apps/large.yaml", reason: "it is too large" }] });
    expect(nextStep(sampleFacts(plan))).toMatchObject({ kind: "push", because: "unread" });
  });

  test("nobody is told anything of what could not be read but to try again", () => {
    for (const fact of ["plan", "locks", "records", "mergeability"] as const) {
      const step = nextStep(sampleFacts(samplePlan([web]), { untold: { [fact]: "the host did not answer" } }));
      expect(step).toEqual({ kind: "later", because: expect.stringContaining(": the host did not answer") });
    }
  });

  test("what a sync replaces and cannot take back is told, and bars nothing", () => {
    const foreign = sampleDeployment("web", { change: { ...changeRequestRef(change), number: 9 } });
    const lost: Danger = { what: "deletes PersistentVolumeClaim a/data", effect: "lost", pruning: true };
    const dangers = evaluated([resource("PersistentVolumeClaim a/data", "delete", "@@")], { dangers: [lost] });
    const plan = samplePlan([sampleApplication("web", dangers)]);
    const step = (prune: boolean) => nextStep(sampleFacts(plan, { settings: { prune }, records: [foreign] }));
    const replaced = "replaces commit c0ffee00 of PR #9";
    expect(step(false)).toMatchObject({ command: "sync", knowing: [replaced], removes: { count: 1, pruning: false } });
    expect(step(true)).toMatchObject({ knowing: [replaced, lost.what], removes: { count: 1, pruning: true } });
  });
});
