import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import { nextStep } from "../../../src/core/policy/next-step.js";
import { sampleChange, sampleDeployment, sampleStanding } from "../../comments/samples.js";
import { sampleSettings } from "../sample-settings.js";

describe("a closed change request that is still deployed", () => {
  const rollback = { kind: "command", command: "rollback", applications: [applicationName("web")], by: [] };
  const closed = (approvers: readonly string[], requireApproval: boolean) =>
    sampleStanding(undefined, {
      change: { ...sampleChange(), state: "closed" },
      settings: sampleSettings({ requirementsFor: () => ({ requireApproval, requireUpToDate: false }) }),
      records: [sampleDeployment("web", { approvers: [...approvers] })],
    });

  test("is rolled back at once if nothing requires an approval, or one was given when it was deployed", () => {
    expect(nextStep(closed([], false))).toEqual(rollback);
    expect(nextStep(closed(["bo"], true))).toEqual(rollback);
  });

  test("needs an approval first if the rules require one since", () => {
    expect(nextStep(closed([], true))).toMatchObject({ kind: "approve", then: rollback });
    const approved = { approved: true, approvers: ["bo"], people: [], missing: undefined };
    expect(nextStep({ ...closed([], true), approval: approved })).toEqual(rollback);
  });
});
