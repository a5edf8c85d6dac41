import { describe, expect, test } from "@jest/globals";
import type { Settings } from "../../../src/config/settings.js";
import { applicationName, revision } from "../../../src/core/model/brand.js";
import type { Deployment } from "../../../src/core/model/deployment.js";
import type { ApplicationPlan } from "../../../src/core/model/plan.js";
import { mergeDecision } from "../../../src/core/policy/merge-decision.js";
import {
  evaluated,
  resource,
  sampleApplication,
  sampleChange,
  sampleDeployment,
  sampleLock,
  samplePlan,
  WORDS,
} from "../../comments/samples.js";
import { sampleSettings } from "../sample-settings.js";

const change = sampleChange();
const web = applicationName("web");
const changed = evaluated([resource("ConfigMap a/b", "update", "@@")]);

function hindered(
  applications: readonly ApplicationPlan[],
  records: readonly Deployment[],
  settings: Partial<Settings> = {},
) {
  const found = mergeDecision(samplePlan(applications), [], records, change, sampleSettings(settings), WORDS.hosta);
  return found.map(({ application }) => application);
}

describe("what hinders a merge", () => {
  test.each<[string, ApplicationPlan, readonly Deployment[], Partial<Settings>, boolean]>([
    ["synced at the head", sampleApplication("web", changed), [sampleDeployment("web")], {}, false],
    ["never synced", sampleApplication("web", changed), [], {}, true],
    [
      "synced at an older head",
      sampleApplication("web", changed),
      [sampleDeployment("web", { revision: revision("0".repeat(40)) })],
      {},
      true,
    ],
    ["its sync failed", sampleApplication("web", changed), [sampleDeployment("web", { outcome: "failed" })], {}, true],
    [
      "its sync has no known end",
      sampleApplication("web", changed),
      [sampleDeployment("web", { outcome: "unknown" })],
      {},
      true,
    ],
    ["another application was synced", sampleApplication("web", changed), [sampleDeployment("api")], {}, true],
    [
      "locked by another change request",
      sampleApplication("web", { ...changed, lock: { kind: "held", by: sampleLock("web") } }),
      [],
      {},
      true,
    ],
    ["unchanged and dropped", sampleApplication("web", evaluated([])), [], { skipNoChanges: true }, false],
    [
      "unchanged against the base, but an older head of this change request may still run",
      sampleApplication("web", evaluated([])),
      [sampleDeployment("web", { revision: revision("0".repeat(40)) })],
      { skipNoChanges: true },
      true,
    ],
    ["unchanged, but not dropped", sampleApplication("web", evaluated([])), [], {}, true],
    [
      "hidden Secrets are no proof",
      sampleApplication("web", { ...evaluated([]), verdict: "unknown" }),
      [],
      { skipNoChanges: true },
      true,
    ],
    [
      "could not be evaluated",
      sampleApplication("web", { kind: "unevaluated", reason: "x" }),
      [],
      { skipNoChanges: true },
      true,
    ],
    ["left out of the plan", sampleApplication("web", { kind: "unplanned" }), [], {}, true],
    ["new", sampleApplication("web", { kind: "new" }), [], {}, false],
    ["deleted", sampleApplication("web", { kind: "deleted" }), [], {}, false],
    ["takes effect at the merge", sampleApplication("web", { ...changed, atMerge: "auto-sync" }), [], {}, false],
  ])("%s", (_name, application, records, settings, expected) => {
    expect(hindered([application], records, settings)).toEqual(expected ? ["web"] : []);
  });

  test("a plan of an older head proves nothing", () => {
    const old = samplePlan([], { head: revision("0".repeat(40)) });
    expect(mergeDecision(old, [web], [sampleDeployment("web")], change, sampleSettings(), WORDS.hosta)).toHaveLength(1);
    expect(mergeDecision(undefined, [web], [], change, sampleSettings(), WORDS.hosta)).toHaveLength(1);
  });

  test("one application that hinders is named beside others that do not", () => {
    const applications = [sampleApplication("api", changed), sampleApplication("web", changed)];
    expect(hindered(applications, [sampleDeployment("web")])).toEqual(["api"]);
  });
});
