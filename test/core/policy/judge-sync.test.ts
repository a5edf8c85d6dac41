import { describe, expect, test } from "@jest/globals";
import { applicationName, type ApplicationName, revision } from "../../../src/core/model/brand.js";
import type { Lock } from "../../../src/core/model/lock.js";
import type { Plan } from "../../../src/core/model/plan/plan.js";
import type { BarredApplication, Refusal } from "../../../src/core/model/result.js";
import type { Settings } from "../../../src/core/model/settings.js";
import { byNameAlone, needsApproval } from "../../../src/core/policy/effect-rules.js";
import { type Asker, DOUBTS, type FactName, type Facts, type NowFacts } from "../../../src/core/policy/facts.js";
import type { Gate } from "../../../src/core/policy/gates.js";
import { barsOf, judge, factsOf } from "../../../src/core/policy/judge.js";
import { RULES } from "../../../src/core/policy/rules.js";
import {
  evaluated,
  resource,
  sampleApplication,
  sampleChange,
  sampleDeployment,
  sampleFacts,
  type SampleFacts,
  sampleLock,
  samplePlan,
} from "../../comments/samples.js";
import { sampleSettings } from "../sample-settings.js";

const change = sampleChange();
const dev = applicationName("dev");
const web = applicationName("web");
const changed = evaluated([resource("ConfigMap a/b", "update", "@@")]);
const approved = { approved: true, approvers: ["bo"], people: [], missing: undefined };
const unapproved = { approved: false, approvers: [], people: [], missing: "nobody has approved it yet" };
const STRICT: Partial<Settings> = {
  requirementsFor: ({ name }) => ({ requireApproval: name !== "dev", requireUpToDate: true }),
};
const OLDER = revision("0".repeat(40));
const barredFrom = (application: ApplicationName): BarredApplication => {
  return { application, allowed: [{ users: ["bo"], teams: [] }], problem: undefined };
};
const barred = [barredFrom(web)];

/** A lock of this change request. */
const own = (application: string): Lock => sampleLock(application, change.number);
const stale: Lock = { ...own("web"), planRevision: OLDER };

interface Given extends Omit<SampleFacts, "asker"> {
  /** If absent, one that evaluated whatever is locked. */
  readonly plan?: Plan | undefined;
  readonly asker?: Partial<Asker>;
  /** What was read of each application, beyond that nothing bars it. */
  readonly now?: Readonly<Record<string, Partial<NowFacts>>>;
}

/** A sync of everything that is locked, which nothing bars but what is given. */
function syncOf(given: Given = {}): Facts {
  const { asker, now = {}, locks = [own("web")], plan, ...more } = given;
  const evaluating = samplePlan(locks.map(({ application }) => sampleApplication(application, changed)));
  const facts = sampleFacts("plan" in given ? plan : evaluating, { ...more, locks });
  const selected = facts.applications.map(({ application }) => application);
  return {
    ...facts,
    asker: { login: "ana", mayWrite: true, withoutApproval: false, barred: [], selected, ...asker },
    applications: facts.applications.map((one) => {
      return { ...one, now: { autoSynced: false, checks: [], ...now[one.application] } };
    }),
  };
}

const refusalOf = (given?: Given): Refusal | undefined => judge("sync", syncOf(given)).refusal;

describe("the checks of a sync come in the specification's order", () => {
  const obstacle = "no right";
  const everything: Given = {
    settings: STRICT,
    approval: unapproved,
    locks: [stale],
    change: { ...change, mergeability: "conflicts" },
    asker: { barred },
    now: { web: { autoSynced: true, obstacle } },
  };
  test.each<[Refusal["reason"], Given]>([
    ["not-approved", everything],
    ["stale", { ...everything, approval: approved }],
    ["stale", { ...everything, approval: approved, locks: [own("web")], plan: undefined }],
    ["stale", { ...everything, approval: approved, locks: [own("web")], plan: samplePlan([], { baseBranch: "mine" }) }],
    ["conflicts", { ...everything, approval: approved, locks: [own("web")] }],
    [
      "mergeability-unknown",
      { ...everything, approval: approved, locks: [own("web")], change: { ...change, mergeability: "unknown" } },
    ],
    ["auto-sync", { ...everything, approval: approved, locks: [own("web")], change }],
    ["not-allowed", { settings: STRICT, approval: approved, asker: { barred }, now: { web: { obstacle } } }],
    ["not-deployable", { settings: STRICT, approval: approved, now: { web: { obstacle } } }],
  ])("%s", (reason, given) => {
    expect(refusalOf(given)?.reason).toBe(reason);
  });

  test("each is answered once everything before it is cleared", () => {
    let facts = syncOf({
      settings: STRICT,
      approval: unapproved,
      locks: [{ ...stale, holder: sampleLock("web").holder }],
      plan: samplePlan(["web", "gone"].map((name) => sampleApplication(name, changed))),
      change: { ...change, state: "closed", fork: true, mergeability: "conflicts" },
      problems: ["it is broken"],
      headMoved: true,
      asker: { barred, mayWrite: false },
      now: { web: { autoSynced: true, obstacle, behind: "it reverts", differs: "it differs", checks: undefined } },
    });
    const one = (more: object) => {
      facts = {
        ...facts,
        applications: facts.applications.map((each) => (each.application === web ? { ...each, ...more } : each)),
      };
    };
    const now = (more: Partial<NowFacts>) => {
      const before = facts.applications.find(({ application }) => application === web)?.now;
      one({ now: { ...before, ...more } });
    };
    const whole = (more: Partial<Facts>) => (facts = { ...facts, ...more });
    const asker = (more: Partial<Asker>) => whole({ asker: facts.asker && { ...facts.asker, ...more } });
    const unread = [{ file: "apps/large.yaml", reason: "it is too large" }];
    whole({ plan: facts.plan && { ...facts.plan, unread } });
    const clearing: readonly (readonly [Refusal["reason"], () => void])[] = [
      ["closed", () => whole({ change: { ...facts.change, state: "open" } })],
      ["fork", () => whole({ change: { ...facts.change, fork: false } })],
      ["repository-file", () => whole({ problems: [] })],
      ["no-write-access", () => asker({ mayWrite: true })],
      ["head-moved", () => whole({ headMoved: false })],
      ["nothing-locked", () => asker({ selected: [web] })],
      ["locked-by-other", () => one({ lock: stale })],
      ["not-approved", () => whole({ approval: approved })],
      ["stale", () => one({ lock: own("web") })],
      ["conflicts", () => whole({ change: { ...facts.change, mergeability: "unknown" } })],
      ["mergeability-unknown", () => whole({ change: { ...facts.change, mergeability: "mergeable" } })],
      ["auto-sync", () => now({ autoSynced: false })],
      ["not-allowed", () => asker({ barred: [] })],
      ["not-deployable", () => now({ obstacle: undefined, behind: undefined })],
      ["stale", () => now({ differs: undefined })],
      ["unread-files", () => whole({ plan: facts.plan && { ...facts.plan, unread: [] } })],
      ["not-deployable", () => now({ checks: [] })],
    ];
    const answers = clearing.map(([, clear]) => {
      const reason = judge("sync", facts).refusal?.reason;
      clear();
      return reason;
    });
    expect(answers).toEqual(clearing.map(([reason]) => reason));
    expect(judge("sync", facts).refusal).toBeUndefined();
  });

  test("nothing stands in the way", () => {
    expect(refusalOf()).toBeUndefined();
    expect(refusalOf({ settings: STRICT, approval: approved })).toBeUndefined();
  });
});

describe("a refusal names every application that it is for, and those that would pass", () => {
  const locks = [own("dev"), own("web")];

  test("approval", () => {
    expect(refusalOf({ locks, settings: STRICT, approval: unapproved })).toEqual({
      reason: "not-approved",
      applications: ["web"],
      needs: [],
      missing: "nobody has approved it yet",
      others: ["dev"],
    });
  });

  test.each<[string, readonly string[], Given]>([
    ["that nothing bars", ["dev"], {}],
    ["whose lock is stale", [], { locks: [{ ...stale, application: dev }, own("web")] }],
    ["of a branch with conflicts", [], { change: { ...change, mergeability: "conflicts" } }],
    ["with auto-sync", [], { now: { dev: { autoSynced: true } } }],
    ["with an obstacle", [], { now: { dev: { obstacle: "no right" } } }],
    ["that a person may not deploy", [], { asker: { barred: [barredFrom(dev)] } }],
    ["whose checks fail", [], { now: { dev: { checks: [{ sentence: "it failed", printed: undefined }] } } }],
    ["that would be deployed otherwise than planned", [], { now: { dev: { differs: "its project changed" } } }],
  ])("of one %s: %j", (_what, expected, also) => {
    const given = { locks, settings: STRICT, approval: unapproved, ...also };
    expect(refusalOf(given)).toMatchObject({ reason: "not-approved", others: expected });
  });

  test("staleness, with what the last plan said", () => {
    const plan = samplePlan([sampleApplication("web", { kind: "unevaluated", reason: "helm failed" })]);
    expect(refusalOf({ locks: [own("dev"), stale], plan })).toEqual({
      reason: "stale",
      applications: [{ application: "web", planFailure: "helm failed", differs: undefined, moved: undefined }],
      others: ["dev"],
    });
  });

  test("what the newest plan could not evaluate is stale, whatever its lock says", () => {
    const plan = samplePlan([sampleApplication("web", { kind: "unevaluated", reason: "helm failed" })]);
    expect(refusalOf({ plan })).toMatchObject({
      reason: "stale",
      applications: [{ application: "web", planFailure: "helm failed" }],
    });
  });

  test("a lock that was never planned is stale", () => {
    expect(refusalOf({ locks: [{ ...own("web"), planRevision: undefined }] })?.reason).toBe("stale");
  });

  test("auto-sync", () => {
    expect(refusalOf({ locks, now: { web: { autoSynced: true } } })).toEqual({
      reason: "auto-sync",
      applications: ["web"],
      others: ["dev"],
    });
  });

  test("reasons of the same rank are answered together, and printed is what the checks print", () => {
    const checks = [{ sentence: "check policy failed", printed: "a value is 9" }];
    expect(refusalOf({ locks, now: { dev: { withheld: "it waits" }, web: { uncovered: "it is ignored" } } })).toEqual({
      reason: "not-deployable",
      applications: [
        { application: "dev", reason: "it waits", printed: undefined },
        { application: "web", reason: "it is ignored", printed: undefined },
      ],
      others: [],
    });
    expect(refusalOf({ locks, now: { web: { checks } } })).toEqual({
      reason: "not-deployable",
      applications: [{ application: "web", reason: "check policy failed", printed: "a value is 9" }],
      others: ["dev"],
    });
  });
});

describe("approval", () => {
  test("is asked for only where an application requires it", () => {
    const strict = sampleSettings(STRICT);
    expect(needsApproval(byNameAlone([dev]), strict)).toBe(false);
    expect(needsApproval(byNameAlone([dev, web]), strict)).toBe(true);
    expect(refusalOf({ settings: STRICT, locks: [own("dev")] })).toBeUndefined();
  });

  test("that nobody asked the host for is missing", () => {
    expect(refusalOf({ settings: STRICT, approval: undefined })?.reason).toBe("not-approved");
  });

  test("is not needed for a dry run of somebody with write access", () => {
    expect(refusalOf({ settings: STRICT, approval: unapproved, asker: { withoutApproval: true } })).toBeUndefined();
  });
});

describe("what could not be read bars", () => {
  const GATED = { settings: STRICT, approval: undefined };
  const WHERE: Readonly<Record<FactName, Given>> = {
    change: {},
    plan: {},
    locks: {},
    records: {},
    holds: {},
    approval: GATED,
    access: {},
    mergeability: {},
    applications: {},
  };
  const because = "GitHub did not answer";

  test.each(Object.entries(WHERE) as [FactName, Given][])("%s", (fact, given) => {
    const doubts = [`${DOUBTS[fact]}: ${because}`];
    expect(refusalOf({ ...given, untold: { [fact]: because } })).toEqual({ reason: "cannot-tell", doubts });
  });

  test("each gate that needs it", () => {
    const facts = syncOf();
    for (const [gate, rule] of Object.entries(RULES)) {
      const needs = rule.of === "danger" || !rule.commands.includes("sync") ? [] : factsOf(rule);
      for (const fact of needs) {
        const bars = barsOf(judge("sync", { ...facts, untold: { [fact]: because } }));
        expect(bars).toContainEqual(expect.objectContaining({ gate, untold: true }));
      }
    }
  });

  test("also if no application is known for it", () => {
    const facts = syncOf({ locks: [], plan: undefined });
    for (const fact of Object.keys(WHERE) as FactName[]) {
      expect(judge("sync", { ...facts, untold: { [fact]: because } }).refusal).toBeDefined();
    }
  });

  test("an approval that nothing requires is not missed", () => {
    expect(refusalOf({ untold: { approval: because } })).toBeUndefined();
    expect(refusalOf({ ...GATED, locks: [own("dev")], untold: { approval: because } })).toBeUndefined();
  });

  test("does not hide what is certain and comes before it", () => {
    expect(refusalOf({ locks: [sampleLock("web")], untold: { applications: because } })?.reason).toBe(
      "locked-by-other",
    );
  });

  test("several are named together, each once", () => {
    const refusal = refusalOf({ locks: [own("dev"), own("web")], untold: { plan: because, applications: "no route" } });
    expect(refusal).toEqual({ reason: "cannot-tell", doubts: [`${DOUBTS.plan}: ${because}`] });
  });
});

test.each([
  ["needs the approval of what it deletes alone", samplePlan([sampleApplication("web", changed)]), undefined],
  ["needs that of everything where no plan tells what it reaches", undefined, "not-approved"],
])("a rollback that deletes what others made %s", (_, plan, reason) => {
  const facts = syncOf({
    plan,
    locks: [],
    records: [sampleDeployment("web", { approvers: ["bo"] })],
    settings: STRICT,
    approval: unapproved,
    now: { web: { deletes: [{ application: dev, lock: undefined }] } },
  });
  expect(judge("rollback", facts).refusal?.reason).toBe(reason);
});

test("the bars of a judgement stand in the order of the table, those of one gate in that of the applications", () => {
  const everywhere: Partial<NowFacts> = { autoSynced: true, obstacle: "no right", behind: "it reverts", differs: "it" };
  const facts = syncOf({
    locks: [own("dev"), stale],
    settings: STRICT,
    approval: unapproved,
    change: { ...change, mergeability: "conflicts" },
    now: { dev: everywhere, web: everywhere },
    asker: { barred },
  });
  const bars = barsOf(judge("sync", facts));
  const table = Object.keys(RULES) as Gate[];
  expect(bars.map(({ gate, application }) => [gate, application])).toEqual([
    ["conflicts", undefined],
    ["behind", "dev"],
    ["behind", "web"],
    ["stale", "web"],
    ["effect-differs", "dev"],
    ["effect-differs", "web"],
    ["undeployable", "dev"],
    ["undeployable", "web"],
    ["access", "web"],
    ["approval", "web"],
    ["auto-sync", "dev"],
    ["auto-sync", "web"],
  ]);
  const places = bars.map(({ gate }) => table.indexOf(gate));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});
