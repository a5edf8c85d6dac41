import { describe, expect, test } from "@jest/globals";
import { commitStatusOf, type StatusFacts } from "../../src/comments/commit-status.js";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { Deployment } from "../../src/core/model/deployment.js";
import type { ApplicationPlan, Plan } from "../../src/core/model/plan/plan.js";
import type { Settings } from "../../src/core/model/settings.js";
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
  sampleSet,
  WORDS,
} from "./samples.js";

const change = sampleChange();
const web = applicationName("web");
const db = applicationName("db");
const changed = evaluated([resource("ConfigMap a/b", "update", "@@")]);
const same = evaluated([]);
const APPROVED = { approved: true, approvers: ["bo"], people: [], missing: undefined };
const UNAPPROVED = { approved: false, approvers: [], people: [], missing: "nobody has approved it yet" };
const GATED: Partial<Settings> = { requirementsFor: () => ({ requireApproval: true, requireUpToDate: false }) };
const OLDER = revision("0".repeat(40));

function app(name: string, more: Partial<ApplicationPlan> = {}): ApplicationPlan {
  return sampleApplication(name, { ...changed, ...more });
}

function elsewhere(application: string, outcome: Deployment["outcome"] = "succeeded"): Deployment {
  return sampleDeployment(application, {
    change: { host: "hosta", repository: repositoryName("acme/deploy"), number: 9 },
    outcome,
  });
}

interface More extends Omit<SampleFacts, "locks"> {
  /** What this change request holds; if absent, everything that is not held by another. */
  readonly locked?: ReadonlySet<string>;
  readonly plan?: Partial<Plan>;
}

/** A planned head with these applications, all of them locked. */
function planned(applications: readonly ApplicationPlan[], { plan, locked, ...more }: More = {}): StatusFacts {
  const locks = applications.flatMap(({ application, lock }) => {
    if (lock.kind === "held") return [lock.by];
    return locked === undefined || locked.has(application) ? [sampleLock(application, change.number)] : [];
  });
  return { kind: "planned", facts: sampleFacts(samplePlan(applications, plan), { locks, ...more }) };
}

const held = { kind: "held", by: sampleLock("web", 9, "bo") } as const;
const set = sampleSet("shops", { sourceFile: "sets.yaml" });

describe("the commit status svc/sync", () => {
  test("is not green while anything bars the merge, also what it has no words of its own for", () => {
    const synced = planned([app("web")], { records: [sampleDeployment("web")] });
    expect(commitStatusOf(synced, WORDS.hosta).state).toBe("success");
    const moved = planned([app("web")], { records: [sampleDeployment("web")], headMoved: true });
    expect(commitStatusOf(moved, WORDS.hosta)).toEqual({
      state: "pending",
      description: "new commits were pushed",
    });
  });

  test.each<[string, StatusFacts, string, string]>([
    ["a plan has started", { kind: "planning" }, "pending", "planning"],
    ["it failed", { kind: "plan-failed", reason: "see the comment" }, "failure", "the plan failed: see the comment"],
    [
      "a fork, a draft: nothing is affected",
      { kind: "detected", detected: { kind: "nothing", atMerge: [] } },
      "success",
      "nothing to deploy",
    ],
    [
      "a draft: only what comes with the merge is affected",
      { kind: "detected", detected: { kind: "nothing", atMerge: ["pinned"] } },
      "success",
      "nothing to deploy; takes effect at the merge: pinned",
    ],
    [
      "a draft that affects something",
      { kind: "detected", detected: { kind: "affected", applications: ["web"] } },
      "pending",
      "comment svc plan: affects web",
    ],
    [
      "a fork that may not be planned",
      { kind: "detected", detected: { kind: "barred" } },
      "pending",
      "comes from a fork, whose content is not planned here",
    ],
    ["it cannot be told", { kind: "detected", detected: { kind: "unknown" } }, "pending", "comment svc plan"],
    ["no application is affected", planned([]), "success", "nothing to deploy"],
    [
      "all are proven unchanged and dropped",
      planned([sampleApplication("web", same)], { settings: { skipNoChanges: true } }),
      "success",
      "nothing to deploy",
    ],
    ["unchanged, but not dropped", planned([sampleApplication("web", same)]), "pending", "web awaits svc sync"],
    ["one awaits", planned([app("web")]), "pending", "web awaits svc sync"],
    ["two await", planned([app("web"), app("api")]), "pending", "2 applications await svc sync"],
    [
      "approved",
      planned([app("web"), app("api")], { settings: GATED, approval: APPROVED }),
      "pending",
      "2 applications await svc sync; approved by bo",
    ],
    [
      "not approved",
      planned([app("web")], { settings: GATED, approval: UNAPPROVED }),
      "pending",
      "web needs an approval, then svc sync",
    ],
    [
      "the lock was given back, by a rollback for instance",
      planned([app("web")], { locked: new Set() }),
      "pending",
      "web awaits svc plan and svc sync",
    ],
    [
      "another PR's sync took it",
      planned([app("web")], { records: [elsewhere("web")], locked: new Set() }),
      "pending",
      "web awaits svc plan and svc sync; web now runs PR #9",
    ],
    [
      "another PR's sync of it failed",
      planned([app("web")], { records: [elsewhere("web", "failed")] }),
      "pending",
      "web awaits svc sync",
    ],
    [
      "locked by another PR",
      planned([app("web", { lock: held })], { locked: new Set() }),
      "pending",
      "web is locked by PR #9",
    ],
    [
      "left out by -a",
      planned([app("web"), sampleApplication("api", { kind: "unplanned" })], { records: [sampleDeployment("web")] }),
      "pending",
      "api awaits svc plan and svc sync",
    ],
    [
      "could not be evaluated",
      planned([app("web"), sampleApplication("api", { kind: "unevaluated", reason: "broken chart" })]),
      "failure",
      "could not be evaluated: api",
    ],
    [
      "a sync failed",
      planned([app("web"), app("api")], {
        records: [sampleDeployment("web"), sampleDeployment("api", { outcome: "failed" })],
      }),
      "failure",
      "sync failed: api",
    ],
    [
      "a sync of an older head failed",
      planned([app("web")], { records: [sampleDeployment("web", { outcome: "failed", revision: OLDER })] }),
      "pending",
      "web awaits svc sync",
    ],
    ["Argo CD refused to start it", planned([app("web")], { justFailed: [web] }), "failure", "sync failed: web"],
    [
      "still running, or cut off",
      planned([app("web"), app("api")], { records: [sampleDeployment("web", { outcome: "unknown" })] }),
      "pending",
      "the end of the sync is not known: look at web in Argo CD",
    ],
    [
      "all are synced",
      planned([app("web"), app("api")], {
        records: [sampleDeployment("web"), sampleDeployment("api")],
        locked: new Set(),
      }),
      "success",
      "synced: web, api",
    ],
    [
      "synced at an older head",
      planned([app("web")], { records: [sampleDeployment("web", { revision: OLDER })] }),
      "pending",
      "web awaits svc sync",
    ],
    [
      "synced, but the approval that the merge needs is gone",
      planned([app("web")], { records: [sampleDeployment("web")], settings: GATED, approval: UNAPPROVED }),
      "pending",
      "needs an approval before the merge",
    ],
    [
      "synced, and what svc does not deploy comes with the merge",
      planned(
        [
          app("web"),
          sampleApplication("fresh", { kind: "new" }),
          app("auto", { atMerge: "auto-sync is enabled" }),
          sampleApplication("idle", { ...same, atMerge: "auto-sync is enabled" }),
        ],
        {
          records: [sampleDeployment("web")],
          plan: { notDeployed: [{ application: db, reason: "not ours" }], applicationSets: [set] },
        },
      ),
      "success",
      "synced: web; takes effect at the merge: fresh, auto, db and 1 more",
    ],
    ["the plan is of an older head", planned([], { plan: { head: OLDER } }), "pending", "comment svc plan"],
    [
      "only what comes with the merge",
      planned([app("auto", { atMerge: "auto-sync is enabled" })]),
      "success",
      "nothing to deploy; takes effect at the merge: auto",
    ],
  ])("%s", (_, facts, state, description) => {
    expect(commitStatusOf(facts, WORDS.hosta)).toEqual({ state, description });
  });

  test("a plan has started on GitLab, which keeps this text until the status changes", () => {
    const description = "not deployed yet: the comments say how far it is";
    expect(commitStatusOf({ kind: "planning" }, WORDS.hostb)).toEqual({ state: "pending", description });
  });

  test("names the configured command word and calls a change request what its host calls it", () => {
    const words = { ...WORDS.hostb, command: "argo" };
    const unknown: StatusFacts = { kind: "detected", detected: { kind: "unknown" } };
    const drafted: StatusFacts = { kind: "detected", detected: { kind: "affected", applications: ["web"] } };
    const elsewhere = planned([app("web", { lock: held })], { locked: new Set() });
    expect([unknown, drafted, elsewhere].map((facts) => commitStatusOf(facts, words).description)).toEqual([
      "comment argo plan",
      "comment argo plan: affects web",
      "web is locked by MR !9",
    ]);
  });
});
