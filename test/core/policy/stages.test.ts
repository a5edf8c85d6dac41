import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { applicationName } from "../../../src/core/model/brand.js";
import type { Deployment } from "../../../src/core/model/deployment.js";
import type { Member } from "../../../src/core/model/effect.js";
import type { ApplicationPlan, Plan } from "../../../src/core/model/plan/plan.js";
import type { Stage } from "../../../src/core/model/stage.js";
import type { Facts } from "../../../src/core/policy/facts.js";
import { judge } from "../../../src/core/policy/judge.js";
import { nextStep } from "../../../src/core/policy/next-step.js";
import { followingStage, inFirstStage, shownStages, stagesOf, waitsIn } from "../../../src/core/policy/stages.js";
import {
  evaluated,
  resource,
  sampleApplication,
  sampleDeployment,
  sampleFacts,
  sampleMember,
  samplePlan,
} from "../../comments/samples.js";

const MINUTE = 60_000;

function stage(name: string, applications: string, more: Partial<Stage> = {}): Stage {
  return { name, applications, wait: "healthy", soak: 0, ...more };
}

const THREE = [stage("dev", "dev-*"), stage("qa", "qa-*"), stage("prod", "prod-*")];

function application(name: string, more: Partial<ApplicationPlan> = {}): ApplicationPlan {
  const changed = evaluated([resource("ConfigMap a/b", "update", "@@")]);
  return { ...sampleApplication(name, changed), ...more } as ApplicationPlan;
}

function parent(name: string, children: readonly string[], more: Partial<Member> = {}): ApplicationPlan {
  const members = children.map((child) =>
    sampleMember(child, { reachedBy: { kind: "child", of: applicationName(name) }, ...more }),
  );
  const applies = children.map((child) => ({ application: applicationName(child), digest: "0" }));
  return application(name, { effect: { members: [sampleMember(name), ...members], applies } });
}

const CHILD = { deploysItself: false } as const;

describe("the stages of a plan", () => {
  test.each<[string, readonly ApplicationPlan[], readonly Stage[], object]>([
    [
      "are by name",
      ["prod-a", "dev-a", "qa-a"].map((one) => application(one)),
      THREE,
      { dev: ["dev-a"], qa: ["qa-a"], prod: ["prod-a"] },
    ],
    [
      "end with what no pattern matches",
      [application("wiki"), application("dev-a")],
      THREE,
      { dev: ["dev-a"], prod: ["wiki"] },
    ],
    ["end with names in other namespaces", [application("team/dev-a")], THREE, { prod: ["team/dev-a"] }],
    [
      "go by the first of several patterns",
      [application("dev-a")],
      [stage("one", "dev-*"), stage("two", "*-a")],
      { one: ["dev-a"] },
    ],
    ["leave out what is empty", [application("prod-a")], THREE, { prod: ["prod-a"] }],
    [
      "put a parent where its sync deploys a child",
      [parent("dev-root", ["dev-a", "prod-a"])],
      THREE,
      { prod: ["dev-root"] },
    ],
    [
      "put it where its sync removes one",
      [parent("dev-root", ["prod-a"], { ...CHILD, definition: { kind: "removed" } })],
      THREE,
      { prod: ["dev-root"] },
    ],
    [
      "leave it where it only writes a definition",
      [parent("dev-root", ["prod-a"], CHILD)],
      THREE,
      { dev: ["dev-root"] },
    ],
    [
      "have nothing that svc does not deploy",
      [application("dev-a", { kind: "new" }), application("dev-b", { atMerge: "auto-sync is on" })],
      THREE,
      {},
    ],
  ])("%s", (_what, applications, stages, expected) => {
    const found = stagesOf({ applications }, stages).filter((one) => one.applications.length > 0);
    expect(Object.fromEntries(found.map((one) => [one.name, one.applications]))).toEqual(expected);
  });

  test("are shown only where there are several", () => {
    const [dev, prod] = [application("dev-a"), application("prod-a")];
    expect(shownStages([dev], { stages: [THREE] })).toEqual({});
    expect(shownStages([dev, prod], { stages: [] })).toEqual({});
    expect(shownStages([dev, prod], { stages: [THREE] }).stages?.map(({ name }) => name)).toEqual(["dev", "prod"]);
  });
});

const names = fc.uniqueArray(
  fc.tuple(fc.constantFrom("dev", "qa", "prod", "x"), fc.constantFrom("a", "b", "c")).map((parts) => parts.join("-")),
  { maxLength: 8 },
);

test("every application is in one stage; no stage has what belongs to a later one, and no child comes before its parent unless both are named", () => {
  fc.assert(
    fc.property(names, fc.array(fc.tuple(fc.nat(7), fc.nat(7), fc.boolean()), { maxLength: 6 }), (all, edges) => {
      const children = (index: number) =>
        edges.flatMap(([from, to, deploys]) => {
          const child = all[to];
          return from === index && to !== index && child !== undefined ? [{ child, deploys }] : [];
        });
      const applications = all.map((name, index): ApplicationPlan => {
        const below = children(index);
        const members = below.map(({ child, deploys }) =>
          sampleMember(child, { reachedBy: { kind: "child", of: applicationName(name) }, deploysItself: deploys }),
        );
        const applies = below.map(({ child }) => ({ application: applicationName(child), digest: "0" }));
        return application(name, { effect: { members: [sampleMember(name), ...members], applies } });
      });
      const stages = stagesOf({ applications }, THREE);
      expect(stages.flatMap((one) => one.applications).sort()).toEqual([...all].sort());
      const waits = waitsIn({ applications }, THREE);
      const at = (name: string) => waits.get(applicationName(name))?.place ?? -1;
      all.forEach((name, index) => {
        const own = ["dev", "qa"].indexOf(name.split("-")[0] ?? "");
        expect(at(name)).toBeGreaterThanOrEqual(own < 0 ? 2 : own);
        for (const { child, deploys } of children(index)) {
          if (deploys) expect(at(name)).toBeGreaterThanOrEqual(["dev", "qa"].indexOf(child.split("-")[0] ?? ""));
          if (at(child) < at(name)) expect(waits.get(applicationName(child))?.circle).toBeDefined();
        }
        const before = all.filter((one) => at(one) < at(name));
        expect([...(waits.get(applicationName(name))?.earlier ?? [])].sort()).toEqual(before.sort());
        const nearest = Math.max(-1, ...before.map(at));
        const { before: last } = waits.get(applicationName(name)) ?? {};
        expect([...(last?.applications ?? [])].sort()).toEqual(before.filter((one) => at(one) === nearest).sort());
      });
    }),
  );
});

interface Case {
  readonly stages?: readonly (readonly Stage[])[];
  readonly records?: readonly Deployment[];
  readonly applications?: readonly ApplicationPlan[];
  readonly more?: Partial<Facts>;
  readonly plan?: Partial<Plan>;
}

/** At 14:00. */
function facts({ stages = [THREE], records = [], applications, more = {}, plan = {} }: Case): Facts {
  const all = applications ?? ["dev-a", "qa-a", "prod-a"].map((name) => application(name));
  return sampleFacts(samplePlan(all, plan), { settings: { stages }, records, ...more });
}

function deployed(name: string, minutesAgo = 60, more: Partial<Deployment> = {}): Deployment {
  const began = Date.parse("2026-03-01T14:00:00Z") - (minutesAgo + 1) * MINUTE;
  return sampleDeployment(name, { timestamp: new Date(began).toISOString(), seconds: 60, ...more });
}

function barOf(name: string, given: Facts): string | undefined {
  const found = judge("sync", given).applications.find(({ application: one }) => one === name);
  return found?.bars.find(({ gate }) => gate === "stage")?.why;
}

const SOAKING = [THREE.map((one) => ({ ...one, soak: one.name === "dev" ? 0 : 10 * MINUTE }))];

describe("the gate of stages", () => {
  test.each<[string, Case, string, string | undefined]>([
    ["lets the first stage begin", {}, "dev-a", undefined],
    [
      "names what is not deployed",
      {},
      "prod-a",
      "it is in stage prod, and dev-a of stage dev, qa-a of stage qa are not deployed yet",
    ],
    [
      "bars all later stages",
      { records: [deployed("dev-a")] },
      "prod-a",
      "it is in stage prod, and qa-a of stage qa is not deployed yet",
    ],
    [
      "does not take a failed sync",
      { records: [deployed("dev-a", 60, { outcome: "failed" })] },
      "qa-a",
      "it is in stage qa, and dev-a of stage dev is not deployed yet",
    ],
    ["lets the next one begin", { records: [deployed("dev-a")] }, "qa-a", undefined],
    [
      "takes no application for unhealthy because of its name",
      {
        stages: [[stage("dev", "constructor"), stage("prod", "prod-*")]],
        applications: [application("constructor"), application("prod-a")],
        records: [deployed("constructor")],
        more: { unhealthy: {} },
      },
      "prod-a",
      undefined,
    ],
    [
      "waits for the soak from the end of the sync",
      { stages: SOAKING, records: [deployed("dev-a", 4)] },
      "qa-a",
      "it is in stage qa, which begins at 2026-03-01 14:06 UTC, 10m after stage dev was deployed",
    ],
    [
      "waits for the soak from the last sync of the stage",
      {
        stages: SOAKING,
        applications: ["dev-a", "dev-b", "qa-a"].map((name) => application(name)),
        records: [deployed("dev-a", 40), deployed("dev-b", 4)],
      },
      "qa-a",
      "it is in stage qa, which begins at 2026-03-01 14:06 UTC, 10m after stage dev was deployed",
    ],
    ["lets it begin once that has passed", { stages: SOAKING, records: [deployed("dev-a", 10)] }, "qa-a", undefined],
    [
      "does not guess since when it soaks",
      { stages: SOAKING, records: [deployed("dev-a", 60, { seconds: undefined })] },
      "qa-a",
      "it is in stage qa, and svc did not see when the sync of stage dev ended: plan and sync that stage again",
    ],
    [
      "bars while the stage before is not well",
      { records: [deployed("dev-a")], more: { unhealthy: { "dev-a": "is Degraded" } } },
      "qa-a",
      "it is in stage qa, and dev-a of stage dev is Degraded",
    ],
    [
      "names parent and child of a circle",
      { applications: [parent("prod-root", ["dev-a"], CHILD), application("dev-a")] },
      "dev-a",
      "it is in stage dev, and its parent prod-root, which has to be deployed before it, in the later stage prod: put both into one stage",
    ],
    [
      "asks every file",
      { stages: [[stage("all", "*")], THREE] },
      "qa-a",
      "it is in stage qa, and dev-a of stage all is not deployed yet",
    ],
  ])("%s", (_what, given, name, expected) => {
    expect(barOf(name, facts(given))).toBe(expected);
  });

  test("a sync is narrowed to the first stage that has begun, and to nothing if none has", () => {
    const all = ["dev-a", "qa-a", "prod-a"].map(applicationName);
    expect(inFirstStage(all, facts({}))).toEqual(["dev-a"]);
    expect(inFirstStage(all.slice(1), facts({ records: [deployed("dev-a")] }))).toEqual(["qa-a"]);
    expect(inFirstStage(all.slice(2), facts({}))).toEqual(["prod-a"]);
    expect(inFirstStage(all, facts({ stages: [] }))).toEqual(all);
    // Planned again after its sync: it is deployed before what comes later.
    expect(inFirstStage(all, facts({ records: [deployed("dev-a")] }))).toEqual(["dev-a"]);
  });

  test("what follows by itself is the next stage, at the end of its soak, unless somebody has to begin it", () => {
    const left = ["qa-a", "prod-a"].map(applicationName);
    const after = (more: Case) => followingStage(left, facts({ records: [deployed("dev-a", 4)], ...more }));
    expect(after({})).toEqual({ stage: "qa", due: new Date("2026-03-01T14:00:00Z") });
    expect(after({ stages: SOAKING })).toEqual({ stage: "qa", due: new Date("2026-03-01T14:06:00Z") });
    expect(after({ stages: [THREE.map((one) => ({ ...one, wait: "manual" as const }))] })).toBeUndefined();
    expect(after({ records: [] })).toBeUndefined();
    expect(followingStage([], facts({}))).toBeUndefined();
  });

  test("the next step is a sync without names, then the wait for the stage that svc begins or somebody has to", () => {
    const sync = { kind: "command", command: "sync", applications: [] };
    expect(nextStep(facts({}))).toMatchObject(sync);
    const applications = [application("dev-a", { lock: { kind: "free" } }), application("qa-a"), application("prod-a")];
    const soaking = { applications, stages: SOAKING, records: [deployed("dev-a", 4)] };
    const step = { kind: "stage", stage: "qa", at: "2026-03-01T14:06:00.000Z" };
    expect(nextStep(facts(soaking))).toEqual(step);
    // Planned again: a sync without names would begin with what is deployed.
    const again = { stages: SOAKING, records: [deployed("dev-a", 4)] };
    expect(nextStep(facts(again))).toEqual({ ...step, only: ["qa-a"] });
    const over = { stages: SOAKING, records: [deployed("dev-a", 40)] };
    expect(nextStep(facts(over))).toMatchObject({ ...sync, applications: ["qa-a"] });
    expect(nextStep(facts({ ...over, applications }))).toMatchObject(sync);
    const by = { id: "1", login: "ana", bot: false };
    const next = { id: "run", by, applications: [], prune: false, stage: "qa", due: "2026-03-01T14:06:00.000Z" };
    expect(nextStep(facts({ ...soaking, plan: { next } }))).toMatchObject({ kind: "stage", by: "ana" });
    const started = { stages: SOAKING, records: [deployed("dev-a", 40)] };
    expect(nextStep(facts({ ...started, plan: { next } }))).toMatchObject({ kind: "stage", by: "ana" });
  });
});
