import { describe, expect, test } from "@jest/globals";
import { applicationName, revision } from "../../../src/core/model/brand.js";
import type { Deployment } from "../../../src/core/model/deployment.js";
import type { ApplicationPlan, Plan } from "../../../src/core/model/plan/plan.js";
import type { Settings } from "../../../src/core/model/settings.js";
import { type Asker, DOUBTS, type FactName } from "../../../src/core/policy/facts.js";
import type { Bar, Gate } from "../../../src/core/policy/gates.js";
import { barsOf, judge, factsOf } from "../../../src/core/policy/judge.js";
import { RULES } from "../../../src/core/policy/rules.js";
import {
  evaluated,
  resource,
  sampleApplication,
  sampleChange,
  sampleCheck,
  sampleDeployment,
  sampleFacts,
  type SampleFacts,
  sampleLock,
  sampleMember,
  samplePlan,
  sampleSet,
} from "../../comments/samples.js";

const change = sampleChange();
const web = applicationName("web");
const shop = applicationName("shop");
const changed = evaluated([resource("ConfigMap a/b", "update", "@@")]);
const UNAPPROVED = { approved: false, approvers: [], people: [], missing: "nobody has approved it yet" };
const APPROVED = { approved: true, approvers: ["bo"], people: [], missing: undefined };
const GATED: Partial<Settings> = { requirementsFor: () => ({ requireApproval: true, requireUpToDate: false }) };
const FAILED = { kind: "failed", reason: "exit code 1", output: "no" } as const;
const OLDER = revision("0".repeat(40));
const ASKER: Asker = { login: "ana", mayWrite: true, withoutApproval: false, barred: [], selected: [web] };

function barsWith(plan: Plan | undefined, more: SampleFacts = {}): readonly Bar[] {
  return barsOf(judge("merge", sampleFacts(plan, more)));
}

const namesIn = (bars: readonly Bar[]) => [...new Set(bars.map(({ application }) => application))];

function hindered(
  applications: readonly ApplicationPlan[],
  records: readonly Deployment[],
  settings: Partial<Settings> = {},
) {
  return namesIn(barsWith(samplePlan(applications), { records, settings }));
}

describe("what hinders a merge", () => {
  const deployed = (more: Partial<Deployment> = {}) => [sampleDeployment("web", more)];
  const held = { kind: "held", by: sampleLock("web", 9) } as const;

  test.each<[string, ApplicationPlan, readonly Deployment[], Partial<Settings>, string | undefined]>([
    ["synced at the head", sampleApplication("web", changed), deployed(), {}, undefined],
    ["never synced", sampleApplication("web", changed), [], {}, "it was not synced at the head commit"],
    [
      "synced at an older head",
      sampleApplication("web", changed),
      deployed({ revision: OLDER }),
      {},
      "it was not synced at the head commit",
    ],
    [
      "its sync failed",
      sampleApplication("web", changed),
      deployed({ outcome: "failed" }),
      {},
      "its sync has not succeeded",
    ],
    [
      "its sync has no known end",
      sampleApplication("web", changed),
      deployed({ outcome: "unknown" }),
      {},
      "its sync has not succeeded",
    ],
    [
      "its sync reverted what the target branch got",
      sampleApplication("web", changed),
      deployed({ reverted: "it took out more" }),
      {},
      "its sync reverted what main got since this branch left it: update the branch and sync again",
    ],
    [
      "another application was synced",
      sampleApplication("web", changed),
      [sampleDeployment("api")],
      {},
      "it was not synced at the head commit",
    ],
    [
      "locked by another change request",
      sampleApplication("web", { ...changed, lock: held }),
      [],
      {},
      "it is locked by PR #9",
    ],
    [
      "unchanged, and locked by another change request",
      sampleApplication("web", { ...evaluated([]), lock: held }),
      [],
      { skipNoChanges: true },
      "it is locked by PR #9",
    ],
    ["unchanged and dropped", sampleApplication("web", evaluated([])), [], { skipNoChanges: true }, undefined],
    [
      "unchanged against the base, but an older head of this change request may still run",
      sampleApplication("web", evaluated([])),
      deployed({ revision: OLDER }),
      { skipNoChanges: true },
      "it was not synced at the head commit",
    ],
    [
      "unchanged, but not dropped",
      sampleApplication("web", evaluated([])),
      [],
      {},
      "it was not synced at the head commit",
    ],
    [
      "hidden Secrets are no proof",
      sampleApplication("web", { ...evaluated([]), verdict: "unknown" }),
      [],
      { skipNoChanges: true },
      "it was not synced at the head commit",
    ],
    [
      "could not be evaluated",
      sampleApplication("web", { kind: "unevaluated", reason: "x" }),
      [],
      { skipNoChanges: true },
      "its plan could not be evaluated",
    ],
    [
      "not rendered before the head is approved",
      sampleApplication("web", { kind: "unevaluated", reason: "x", withheld: true }),
      [],
      {},
      "it is not rendered before the head is approved",
    ],
    ["left out of the plan", sampleApplication("web", { kind: "unplanned" }), [], {}, "it was left out of the plan"],
    ["new", sampleApplication("web", { kind: "new" }), [], {}, undefined],
    ["deleted", sampleApplication("web", { kind: "deleted" }), [], {}, undefined],
    ["takes effect at the merge", sampleApplication("web", { ...changed, atMerge: "auto-sync" }), [], {}, undefined],
  ])("%s", (_name, application, records, settings, expected) => {
    expect(hindered([application], records, settings)).toEqual(expected === undefined ? [] : ["web"]);
    expect(barsWith(samplePlan([application]), { records, settings })[0]?.why).toBe(expected);
  });

  test("a plan of an older head proves nothing", () => {
    const old = samplePlan([], { head: OLDER });
    const records = [sampleDeployment("web")];
    expect(barsWith(old, { records, asker: ASKER })).toHaveLength(1);
    const bar = { application: "web", why: "there is no stored plan of the head commit" };
    expect(barsWith(undefined, { asker: ASKER })).toEqual([expect.objectContaining(bar)]);
    expect(namesIn(barsWith(undefined))).toEqual([change.headRevision.slice(0, 8)]);
  });

  test("one application that hinders is named beside others that do not", () => {
    const applications = [sampleApplication("api", changed), sampleApplication("web", changed)];
    expect(hindered(applications, [sampleDeployment("web")])).toEqual(["api"]);
  });

  test("a sync that Argo CD has just refused did not succeed", () => {
    const [bar] = barsWith(samplePlan([sampleApplication("web", changed)]), { justFailed: [web] });
    expect(bar).toMatchObject({ gate: "not-synced", why: "its sync has not succeeded" });
  });
});

describe("what hinders the merge of a head that is deployed", () => {
  const plan = samplePlan([sampleApplication("web", changed)]);
  const records = [sampleDeployment("web")];
  const failed = [{ application: shop, failed: [{ ...sampleCheck("policy"), outcome: FAILED }] }];
  const missing = "it changes the rules and needs an approval";

  test.each<[Gate, Plan, SampleFacts]>([
    ["closed", plan, { change: { ...change, state: "closed" } }],
    ["fork", plan, { change: { ...change, fork: true } }],
    ["broken-rules", plan, { problems: ["it is broken"] }],
    ["head-moved", plan, { headMoved: true }],
    ["conflicts", plan, { change: { ...change, mergeability: "conflicts" } }],
    ["unread-files", { ...plan, unread: [{ file: "a.yaml", reason: "it is too large" }] }, {}],
    ["merge-checks", plan, { mergeChecks: { failed, overridden: [], missing: [] } }],
    ["unchecked", plan, { mergeChecks: { failed: [], overridden: [], missing: [shop] } }],
    [
      "missed",
      plan,
      { missed: [{ application: shop, withheld: false, reason: "it could not be evaluated", through: [] }] },
    ],
    ["withheld-sets", { ...plan, applicationSets: [sampleSet("shops", { withheld: true })] }, {}],
    ["access", plan, { asker: { ...ASKER, barred: [{ application: web, allowed: [], problem: undefined }] } }],
    ["approval", plan, { settings: GATED, approval: UNAPPROVED }],
    ["rules-approval", plan, { missingForRules: missing }],
  ])("%s", (gate, made, more) => {
    expect(barsWith(made, { records, ...more }).map((bar) => bar.gate)).toEqual([gate]);
  });

  test("nothing, if none of them bars it", () => {
    expect(barsWith(plan, { records })).toEqual([]);
  });

  test("whether its host still computes conflicts does not matter", () => {
    expect(barsWith(plan, { records, change: { ...change, mergeability: "unknown" }, asker: ASKER })).toEqual([]);
  });

  test.each<[string, Partial<Plan>, string]>([
    ["an application that svc does not deploy", { notDeployed: [{ application: shop, reason: "not ours" }] }, "shop"],
    ["a generated one", { applicationSets: [sampleSet("shops", { members: [sampleMember("shop")] })] }, "shop"],
    ["a new one", { applications: [sampleApplication("shop", { kind: "new" })] }, "shop"],
    ["an auto-synced one", { applications: [sampleApplication("shop", { ...changed, atMerge: "auto-sync" })] }, "shop"],
  ])("the approval that %s requires", (_what, besides, name) => {
    const settings: Partial<Settings> = {
      requirementsFor: (one) => ({ requireApproval: one.name === name, requireUpToDate: false }),
    };
    const made = samplePlan([], besides);
    const why = "PR must be approved before it is merged";
    const bar = { gate: "approval", application: name, why };
    expect(barsWith(made, { settings, approval: UNAPPROVED })).toEqual([expect.objectContaining(bar)]);
    expect(barsWith(made, { settings, approval: undefined })).toEqual([expect.objectContaining(bar)]);
    expect(barsWith(made, { settings, approval: APPROVED })).toEqual([]);
  });
});

describe("what could not be read hinders", () => {
  const because = "GitHub did not answer";
  const plan = samplePlan([sampleApplication("web", changed)]);
  const deployed: SampleFacts = { records: [sampleDeployment("web")] };
  const WHERE: Readonly<Record<FactName, SampleFacts>> = {
    change: {},
    plan: {},
    locks: {},
    records: {},
    holds: {},
    approval: { settings: GATED },
    access: {},
    mergeability: {},
    applications: {},
  };

  test.each(Object.entries(WHERE) as [FactName, SampleFacts][])("%s", (fact, more) => {
    const facts = sampleFacts(plan, { ...deployed, ...more, untold: { [fact]: because } });
    const doubts = [`${DOUBTS[fact]}: ${because}`];
    expect(judge("merge", facts).refusal).toEqual({ reason: "cannot-tell", doubts });
  });

  test("each gate that needs it", () => {
    for (const [gate, rule] of Object.entries(RULES)) {
      const needs = rule.of === "danger" || !rule.commands.includes("merge") ? [] : factsOf(rule);
      for (const fact of needs) {
        const bars = barsWith(plan, { ...deployed, untold: { [fact]: because } });
        expect(bars).toContainEqual(expect.objectContaining({ gate, untold: true }));
      }
    }
  });
});

test("what hinders a merge stands in the order of the table", () => {
  const applications = [
    sampleApplication("api", { kind: "unevaluated", reason: "x" }),
    sampleApplication("shop", { kind: "unplanned" }),
    sampleApplication("web", { ...changed, lock: { kind: "held", by: sampleLock("web", 9) } }),
  ];
  const bars = barsWith(samplePlan(applications), {
    settings: GATED,
    approval: UNAPPROVED,
    missingForRules: "it changes the rules and needs an approval",
    change: { ...change, mergeability: "conflicts" },
  });
  expect(bars.map(({ gate, application }) => `${gate} ${application}`)).toEqual([
    "conflicts undefined",
    "unevaluated api",
    "stale shop",
    "approval api",
    "approval shop",
    "approval web",
    "locked-by-other web",
    "not-synced api",
    "not-synced shop",
    "not-synced web",
    "rules-approval .svc.yaml",
  ]);
});
