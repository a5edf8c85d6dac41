import { expect, test } from "@jest/globals";
import { commitStatusOf } from "../../../src/comments/commit-status.js";
import { markFailed } from "../../../src/core/facts/missed.js";
import { checksOfMerge, readSyncChecks } from "../../../src/core/facts/sync-checks.js";
import { applicationName } from "../../../src/core/model/brand.js";
import type { Approval } from "../../../src/core/model/change-request.js";
import { definitionOf, type Check, type CheckOutcome, type CheckResult } from "../../../src/core/model/check.js";
import type { ApplicationPlan, Plan, PreviewContent } from "../../../src/core/model/plan/plan.js";
import { nextStep } from "../../../src/core/policy/next-step.js";
import { memberOf } from "../../../src/core/survey/members.js";
import {
  evaluated,
  preview,
  resource,
  sampleApplication,
  sampleChange,
  sampleFacts,
  samplePlan,
  WORDS,
} from "../../comments/samples.js";

const VALUES = check("values");
const SHOPS = check("shops", { applications: "shop*" });
const HINT = check("hint", { required: false });
const FAILED: CheckOutcome = { kind: "failed", reason: "exit code 1", output: "no" };
const AUTO = "auto-sync is enabled";
const CHANGED = evaluated([resource("ConfigMap web", "update", "-a\n+b")]);

function check(name: string, more: Partial<Check> = {}): Check {
  return {
    name,
    command: ["true"],
    applications: "*",
    required: true,
    timeout: 1000,
    env: [],
    overridableBy: [],
    ...more,
  };
}

function result({ name, ...rest }: Check, outcome: CheckOutcome = { kind: "passed" }): CheckResult {
  const definition = definitionOf({ name, ...rest });
  return { name, required: rest.required, overridableBy: rest.overridableBy, definition, outcome };
}

function isNew(name: string, checks: readonly CheckResult[]): ApplicationPlan {
  const content: PreviewContent = { kind: "compared", diff: CHANGED.diff, checks };
  return sampleApplication(name, { kind: "new", preview: content });
}

const auto = (name: string, checks: readonly CheckResult[], more: object = CHANGED) =>
  sampleApplication(name, { ...CHANGED, ...more, atMerge: AUTO, checks });
const below = (change: "added" | "removed", checks: readonly CheckResult[]) =>
  preview("child", change, { kind: "failed", reason: "no", checks });

const PASSED = result(VALUES);
const BROKEN = result(VALUES, FAILED);

test.each<[string, Partial<Plan>, { failed?: readonly string[]; missing?: readonly string[] }]>([
  ["passed", { applications: [isNew("blog", [PASSED]), auto("api", [PASSED])] }, {}],
  ["failed for a new application", { applications: [isNew("blog", [BROKEN])] }, { failed: ["blog"] }],
  ["failed for an auto-synced one", { applications: [auto("api", [BROKEN])] }, { failed: ["api"] }],
  [
    "failed for an auto-synced one that does not change",
    { applications: [auto("api", [BROKEN], { verdict: "unchanged", writesDefinition: false })] },
    {},
  ],
  [
    "failed for one that a sync deploys",
    { applications: [sampleApplication("web", { ...CHANGED, checks: [BROKEN] })] },
    {},
  ],
  ["failed for a child that is added", { previews: [below("added", [BROKEN])] }, { failed: ["child"] }],
  ["not run for a child that is removed", { previews: [below("removed", [])] }, {}],
  ["not run for a new application", { applications: [isNew("blog", [])] }, { missing: ["blog"] }],
  [
    "run with another program",
    { applications: [isNew("blog", [result({ ...VALUES, command: ["false"] }, FAILED)])] },
    { missing: ["blog"] },
  ],
  [
    "failed for one, and not run for one by another pattern",
    { applications: [isNew("shop", [BROKEN]), isNew("web", [PASSED])] },
    { failed: ["shop"], missing: ["shop"] },
  ],
  ["failed without being required", { applications: [isNew("blog", [PASSED, result(HINT, FAILED)])] }, {}],
  ["failed and no longer configured", { applications: [isNew("blog", [PASSED, result(check("old"), FAILED)])] }, {}],
])("checks that are %s", async (_what, plan, { failed = [], missing = [] }) => {
  const never = () => Promise.reject(new Error("nobody may lift it, so the host need not be asked"));
  const host = { belongsToAny: never };
  const found = await checksOfMerge(samplePlan([], { previews: [], ...plan }), {
    host: host as never,
    change: sampleChange(),
    approvals: never,
    checks: [VALUES, SHOPS, HINT],
  });
  expect(found.failed.map(({ application }) => application)).toEqual(failed.map(applicationName));
  expect(found.missing).toEqual(missing);
  expect(found.overridden).toEqual([]);
});

const UNLIFTED = { failed: [{ application: "blog" }], overridden: [] };

test.each([
  [
    "a member of the team",
    ["max"],
    "2026-03-02T09:00:02.000Z",
    { failed: [], overridden: [{ application: "blog", check: "values", by: ["max"] }] },
  ],
  ["a member in the same second", ["max"], "2026-03-02T09:00:01.900Z", UNLIFTED],
  ["a member before it failed", ["max"], "2026-03-02T09:00:00.000Z", UNLIFTED],
  ["a member, nobody tells when", ["max"], undefined, UNLIFTED],
  ["somebody else", ["bo"], "2026-03-02T09:00:02.000Z", UNLIFTED],
  ["nobody", [], undefined, UNLIFTED],
])("a failed check that a team may lift, approved by %s", async (_who, approvers, at, expected) => {
  const lifted = check("values", { overridableBy: ["acme/sre"] });
  const people = approvers.map((login) => ({ id: login, login, bot: false, at }));
  const approval: Approval = { approved: people.length > 0, approvers, people, missing: undefined };
  const belongsToAny = (_change: unknown, { login }: { readonly login: string }) => Promise.resolve(login === "max");
  const found = await checksOfMerge(
    samplePlan([isNew("blog", [{ ...result(lifted, FAILED), knownAt: "2026-03-02T09:00:01.000Z" }])]),
    {
      host: { belongsToAny } as never,
      change: sampleChange(),
      approvals: () => Promise.resolve(approval),
      checks: [lifted],
    },
  );
  expect(found).toMatchObject({ ...expected, missing: [] });
});

test("what was not checked as svc.yaml asks for now is planned again before anybody merges", () => {
  const plan = samplePlan([isNew("blog", [])]);
  const mergeChecks = { failed: [], overridden: [], missing: [applicationName("blog")] };
  const facts = sampleFacts(plan, { mergeChecks });
  expect(nextStep(facts)).toMatchObject({ kind: "command", command: "plan" });
  expect(commitStatusOf({ kind: "planned", facts }, WORDS.hosta)).toMatchObject({
    state: "pending",
    description: expect.stringContaining("the checks have changed since the plan of blog: comment svc plan"),
  });
});

test("a failed check of a child keeps the time when it became known, also if another parent deletes that child", async () => {
  const broken = result(check("values", { overridableBy: ["acme/leads"] }), FAILED);
  const content: PreviewContent = { kind: "compared", diff: CHANGED.diff, checks: [broken] };
  const goes = preview("child", "removed", { kind: "left-behind", objects: [] });
  const plan = samplePlan([], { previews: [goes, preview("child", "changed", content)] });
  const at = (time: string) => ({ host: { reach: async () => new Date(time) }, change: sampleChange() });
  const first = await markFailed(plan, undefined, at("2026-03-02T10:00:00Z"));
  const again = await markFailed(plan, first, at("2026-03-02T11:00:00Z"));
  expect(again.previews).toEqual(first.previews);
});

test("an approval between the failures of a check for two definitions of a child does not lift it", async () => {
  const lifted = check("values", { applications: "child", overridableBy: ["acme/sre"] });
  const failedAt = (knownAt: string) =>
    preview("child", "added", { kind: "failed", reason: "no", checks: [{ ...result(lifted, FAILED), knownAt }] });
  const reaches = memberOf({
    application: applicationName("child"),
    head: undefined,
    before: [],
    reachedBy: { kind: "child", of: applicationName("root") },
  });
  const member = { ...reaches, definition: { kind: "new" as const }, deploysItself: true };
  const root = sampleApplication("root", { ...CHANGED, effect: { members: [member], applies: [] } });
  const times = ["2026-03-02T09:00:01Z", "2026-03-02T09:00:03Z"];
  const people = [{ id: "1", login: "max", bot: false, at: "2026-03-02T09:00:02Z" }];
  const approvals = async (): Promise<Approval> => ({ approved: true, approvers: ["max"], people, missing: undefined });
  for (const order of [times, times.toReversed()]) {
    const plan = samplePlan([root], { previews: order.map(failedAt) });
    const context = { host: { belongsToAny: async () => true }, change: sampleChange(), checks: [lifted] };
    const { failed } = await readSyncChecks([{ name: root.application } as never], plan, approvals, context as never);
    expect(failed.get(root.application)).toMatchObject([{ by: [] }]);
  }
});
