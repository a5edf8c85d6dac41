import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import type { Member } from "../../../src/core/model/effect.js";
import type { Plan } from "../../../src/core/model/plan/plan.js";
import { approvalNeeds, deployedOf, requiresUpToDate } from "../../../src/core/policy/effect-rules.js";
import { HEAD, sampleApplication, sampleMember, samplePlan } from "../../comments/samples.js";
import { sampleSettings } from "../sample-settings.js";

const root = applicationName("root");
const strict = sampleSettings({
  requirementsFor: ({ name, project, namespaces = [] }) => {
    const binds = name === "prod" || project === "prod" || namespaces.includes("prod");
    return { requireApproval: binds, requireUpToDate: binds };
  },
});
const destination = { cluster: "https://kubernetes.default.svc", namespace: "prod" };
const child = (name: string, more: Partial<Member> = {}) =>
  sampleMember(name, { reachedBy: { kind: "child", of: root }, definition: { kind: "changed", moves: [] }, ...more });

describe("what requires an approval", () => {
  test.each<[string, Member, string | undefined]>([
    ["nothing", child("dev"), undefined],
    ["the name", child("prod"), ""],
    ["the project", child("dev", { project: "prod" }), ""],
    ["the destination", child("dev", { destination }), ""],
    ["a namespace that an object names", child("dev", { namespaces: ["prod"] }), ""],
    [
      "whose place it takes",
      child("dev", { boundAs: [{ ...sampleMember("prod"), because: "it changes objects of prod" }] }),
      "the rules of prod hold, because it changes objects of prod",
    ],
    [
      "a move, whatever the rules say",
      child("dev", { definition: { kind: "changed", moves: [{ what: "project", from: "a", to: "b" }] } }),
      "its project moves from a to b",
    ],
    ["what is not known", child("dev", { problem: "not rendered" }), "it could not be evaluated: not rendered"],
  ])("%s", (_what, member, because) => {
    const members = [sampleMember("root"), member];
    const needs = because === undefined ? [] : [{ application: root, member: member.application, because }];
    expect(approvalNeeds([{ application: root, members }], strict)).toEqual(needs);
  });

  test("without an effect, the rules that may match the name hold", () => {
    const prod = applicationName("prod");
    expect(approvalNeeds([{ application: prod, members: [] }], strict)).toEqual([
      { application: prod, member: prod, because: "" },
    ]);
  });

  test("the strictest of all members decides whether the branch has to be up to date", () => {
    expect(requiresUpToDate({ application: root, members: [sampleMember("root"), child("dev")] }, strict)).toBe(false);
    expect(requiresUpToDate({ application: root, members: [sampleMember("root"), child("prod")] }, strict)).toBe(true);
  });

  test("an effect counts for the commit and the target branch that were planned", () => {
    const plan = samplePlan([sampleApplication("root", { kind: "new" })]);
    const membersFor = (planned: Plan) =>
      deployedOf(planned, [root], { headRevision: HEAD, baseBranch: "main" })[0]?.members;
    expect(membersFor(plan)).toHaveLength(1);
    expect(membersFor({ ...plan, head: HEAD.replace(/^c/, "d") as typeof HEAD })).toEqual([]);
    expect(membersFor({ ...plan, baseBranch: "mine" })).toEqual([]);
  });
});
