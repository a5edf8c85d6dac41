import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import type { CheckResult } from "../../src/core/model/check.js";
import { NO_EFFECT, type Effect, type Member } from "../../src/core/model/effect.js";
import type { Plan, PreviewContent } from "../../src/core/model/plan/plan.js";
import type { DefinedIn } from "../../src/core/model/settings.js";
import type { PlanStore } from "../../src/core/ports/stores.js";
import { sampleSet } from "../comments/samples.js";
import type { StoresUnderTest } from "./stores-under-test.js";

const change: ChangeRequestRef = { host: "hostb", repository: repositoryName("acme/group/deploy"), number: 7 };
const destination = { cluster: "https://kubernetes.default.svc", namespace: "web" };
const DEFINED: readonly DefinedIn[] = [
  { kind: "repository", repoURL: "https://git.test/platform", follows: "main" },
  { kind: "unknown", reason: "svc cannot see its parent" },
];
const identity = {
  application: applicationName("web"),
  project: "default",
  destination,
  namespaces: ["jobs"],
  definedIn: DEFINED,
};
const member: Member = {
  ...identity,
  reachedBy: { kind: "direct" },
  definition: {
    kind: "changed",
    moves: [
      { what: "repository", from: "https://git.test/a", to: "https://git.test/b" },
      { what: "project", from: "default", to: "prod" },
      { what: "destination", from: "a/b", to: "a/c" },
      { what: "auto-sync", from: "off", to: "on" },
    ],
  },
  digest: "0".repeat(32),
  sources: [
    { repoURL: "https://git.test/b", targetRevision: "main", commit: revision("a".repeat(40)) },
    { repoURL: "https://charts.test", targetRevision: "1.x", commit: undefined },
  ],
  follows: ["release"],
  boundAs: [{ ...identity, because: "it is there before this change" }],
  deploysItself: true,
  problem: undefined,
};
const effect: Effect = {
  members: [
    member,
    { ...member, reachedBy: { kind: "child", of: applicationName("web") }, definition: { kind: "new" } },
    {
      ...member,
      reachedBy: { kind: "generated", by: "shops" },
      definition: { kind: "unknown" },
      digest: undefined,
      problem: "not rendered",
    },
    { ...member, definition: { kind: "removed" } },
    { ...member, definition: { kind: "unchanged" } },
  ],
  applies: [{ application: applicationName("shop"), digest: "f".repeat(32) }],
};
const base = { sourceFile: undefined, atMerge: undefined, warnings: [], effect: NO_EFFECT };

const NO_NAMES = { created: [], changed: [], deleted: [] };
const CHECKS: readonly CheckResult[] = [
  {
    name: "conftest",
    required: true,
    overridableBy: ["acme/platform"],
    knownAt: "2026-03-02T09:30:00.000Z",
    definition: "d1",
    outcome: { kind: "failed", reason: "exit code 1", output: "FAIL" },
  },
  { name: "pluto", required: false, overridableBy: [], definition: "d2", outcome: { kind: "passed" } },
];
const PREVIEWED: PreviewContent = {
  kind: "compared",
  checks: CHECKS,
  diff: {
    created: 1,
    updated: 0,
    deleted: 0,
    hooksChanged: 0,
    hiddenSecrets: false,
    secrets: [],
    onlyCommit: [],
    cautions: [],
    dangers: [],
    children: NO_NAMES,
    sets: NO_NAMES,
    basis: {
      kind: "both",
      approximate: [],
      alreadyThere: ["ConfigMap web/there"],
      kept: [],
      drift: [
        {
          action: "update",
          title: "ConfigMap web/drifted",
          kind: "ConfigMap",
          diff: "- a\n",
          hook: false,
          whole: true,
        },
      ],
    },
    resources: [
      { action: "create", title: "ConfigMap web/fresh", kind: "ConfigMap", diff: "+ a\n", hook: false, whole: true },
    ],
  },
};

/** A plan in which every kind of every union and every member stands once. */
export const plan: Plan = {
  change,
  head: revision("a".repeat(40)),
  baseBranch: "main",
  baseRevision: revision("c".repeat(40)),
  plannedAt: "2026-03-02T10:00:00.000Z",
  applications: [
    {
      ...base,
      kind: "evaluated",
      application: applicationName("web"),
      lock: { kind: "ours" },
      sourceFile: "apps/web.yaml",
      effect,
      atMerge: "auto-sync is enabled",
      autoSynced: true,
      warnings: [
        "the parent shows OutOfSync until the merge",
        { before: "replaces what ", reference: "!5", change: { ...change, number: 5 }, after: " has deployed" },
      ],
      gaps: { behind: true, uncovered: true },
      replaces: [
        { change: { ...change, number: 5 }, revision: revision("b".repeat(40)), objects: ["ConfigMap web/a"] },
      ],
      definition: "+ a\n",
      verdict: "changed",
      writesDefinition: true,
      definedBy: { parent: applicationName("root"), spec: { project: "prod" }, base: {}, set: "shops" },
      unpinned: {
        reads: ["the chart web of https://charts.example.com at 1.2.3"],
        rendered: { whole: "a".repeat(64), objects: [{ title: "ConfigMap shop/web", digest: "12345678" }] },
        unseen: true,
      },
      sources: [
        { position: 1, kind: "head", follows: "main", revision: "1".repeat(40), unseen: false },
        { position: 2, kind: "foreign", follows: "1.x", revision: undefined, unseen: true },
      ],
      diff: {
        created: 1,
        updated: 2,
        deleted: 0,
        stay: 1,
        hooksChanged: 1,
        hiddenSecrets: true,
        secrets: [
          { name: "shop/login", keys: { created: [], changed: ["password"], deleted: [] }, files: ["login.yaml"] },
          { name: "shop/other", keys: undefined, files: [] },
        ],
        onlyCommit: ["ConfigMap web-cfg"],
        cautions: ["creates Namespace web", "pruning PersistentVolume a"],
        dangers: [{ what: "deletes PersistentVolume a", pruning: true, effect: "lost" }],
        sensitive: ["creates Role web/admin"],
        children: { created: ["shop"], changed: [], deleted: ["old"] },
        sets: { created: [], changed: ["shops"], deleted: [] },
        basis: {
          kind: "live",
          approximate: [{ what: "stale", objects: [] }],
          drifted: ["ConfigMap web/a"],
          alreadyThere: [],
          kept: [{ what: "keys stay", objects: ["Secret web/a"] }],
        },
        resources: [
          {
            action: "create",
            title: "apps/Deployment web",
            kind: "Deployment",
            diff: "+ a\n",
            hook: false,
            left: true,
            whole: true,
            sides: { before: "", after: "a\n" },
          },
        ],
      },
      cluster: {
        accepted: 3,
        refused: [{ title: "apps/Deployment web", message: "spec.selector: field is immutable", sure: true }],
        untried: [{ titles: ["Secret web/a"], reason: "its values are hidden", missed: true }],
        asking: ["ConfigMap web/b"],
      },
      checks: CHECKS,
    },
    {
      ...base,
      kind: "unevaluated",
      application: applicationName("api"),
      lock: {
        kind: "held",
        by: {
          application: applicationName("api"),
          holder: { host: "hosta", repository: repositoryName("acme/deploy"), number: 3 },
          user: "bo",
          timestamp: "2026-03-01T10:00:00.000Z",
          planRevision: undefined,
          sourceFile: undefined,
        },
        place: 2,
      },
      withheld: true,
      definition: "+ b\n",
      checks: CHECKS,
      reason: "```\nhelm: template failed\u202e",
    },
    { ...base, kind: "new", application: applicationName("fresh"), lock: { kind: "ours" }, preview: PREVIEWED },
    {
      ...base,
      kind: "new",
      application: applicationName("private"),
      lock: { kind: "ours" },
      preview: { kind: "failed", reason: "not before an approval", withheld: true, checks: CHECKS },
    },
    {
      ...base,
      kind: "deleted",
      application: applicationName("old"),
      lock: { kind: "ours" },
      preview: { kind: "left-behind", objects: ["ConfigMap web/old"] },
      missedAt: "2026-03-02T09:00:00.000Z",
    },
    {
      ...base,
      kind: "unplanned",
      application: applicationName("later"),
      lock: { kind: "not-needed" },
      atMerge: "it is synced automatically",
    },
  ],
  applicationSets: [
    sampleSet("shops", {
      sourceFile: "sets/shops.yaml",
      added: [applicationName("shop-ch")],
      changed: [applicationName("shop-at")],
      members: [member],
      notes: ["removed applications are deleted"],
      owned: [applicationName("shop-be")],
    }),
    sampleSet("of-the-platform", {
      keepsRemoved: true,
      keepsChanged: true,
      withheld: true,
      appliedBy: applicationName("root"),
      missedAt: "2026-03-02T09:00:00.000Z",
    }),
    sampleSet("broken", { problem: "no key", failure: { why: "no key", then: "its applications stay as they are" } }),
  ],
  previews: [
    {
      application: applicationName("shop-ch"),
      origin: { kind: "generated", of: "shops", change: "added" },
      content: { kind: "beyond-limit", limit: 1, checks: CHECKS },
      missedAt: "2026-03-02T09:00:00.000Z",
    },
    {
      application: applicationName("shop-be"),
      origin: { kind: "child", of: "root", change: "changed", appliedBy: applicationName("root") },
      content: PREVIEWED,
    },
  ],
  notDeployed: [{ application: applicationName("infra"), reason: "owned by an ApplicationSet", definedIn: DEFINED }],
  turn: { applications: [applicationName("web")], after: { ...change, number: 5 } },
  released: [applicationName("gone")],
  unread: [{ file: "big.yaml", reason: "it is too large" }],
  lacks: [applicationName("newer")],
  stages: [{ name: "prod", wait: "manual", soak: 60_000, applications: [applicationName("web")] }],
  next: {
    id: "run-1",
    by: { id: "7", login: "ana", bot: false },
    applications: [applicationName("web")],
    prune: true,
    stage: "prod",
    due: "2026-03-02T11:00:00.000Z",
  },
  approvalUsed: true,
  amended: true,
  notes: ["apps/broken.yaml could not be parsed"],
};

/** What every `PlanStore` must do. */
export function planStoreContract(name: string, start: () => Promise<StoresUnderTest>): void {
  describe(`plan store: ${name}`, () => {
    let under: StoresUnderTest;
    let plans: PlanStore;
    beforeAll(async () => {
      under = await start();
    });
    afterAll(() => under.stop());
    beforeEach(async () => {
      await under.clear();
      plans = under.stores.plans;
    });

    test("a plan comes back as it was saved", async () => {
      await plans.save(plan);
      expect(await plans.find(change)).toEqual(plan);
      expect(await under.replica.plans.find(change)).toEqual(plan);
    });

    test("there is no plan of another change request", async () => {
      await plans.save(plan);
      expect(await plans.find({ ...change, number: 8 })).toBeUndefined();
      expect(await plans.find({ ...change, host: "hosta" })).toBeUndefined();
    });

    test("a plan is found under every name of its repository, and by name it is that of whoever has it", async () => {
      const known = { ...change, repositoryId: "11" };
      const renamed = { ...known, repository: repositoryName("acme/renamed") };
      const newcomer = { ...change, repositoryId: "22" };
      const old = { ...plan, change: known };
      await under.stores.plans.save(old);
      expect(await under.replica.plans.find(renamed)).toEqual(old);
      expect(await under.replica.plans.find(newcomer)).toBeUndefined();
      expect(await under.replica.plans.find(change)).toEqual(old);
      const next = { ...plan, change: renamed, notes: ["the next one"] };
      await under.stores.plans.save(next);
      for (const one of [known, renamed]) expect(await under.replica.plans.find(one)).toEqual(next);
      expect(await under.replica.plans.find(change)).toBeUndefined();
      const other = { ...plan, change: newcomer, notes: ["of another repository"] };
      await under.stores.plans.save(other);
      expect(await under.replica.plans.find(known)).toEqual(next);
      for (const one of [newcomer, change]) expect(await under.replica.plans.find(one)).toEqual(other);
    });

    test("a later plan replaces the one before, for whoever has read that", async () => {
      await plans.save(plan);
      expect(await under.replica.plans.find(change)).toEqual(plan);
      const next = { ...plan, head: revision("b".repeat(64)), applications: [] };
      await plans.save(next);
      expect(await plans.find(change)).toEqual(next);
      expect(await under.replica.plans.find(change)).toEqual(next);
      await under.replica.plans.save(plan);
      expect(await plans.find(change)).toEqual(plan);
    });

    test("a plan whose lifetime has passed is gone", async () => {
      await plans.save(plan);
      await under.expire();
      expect(await plans.find(change)).toBeUndefined();
    });

    test("a large plan is kept whole", async () => {
      const notes = Array.from({ length: 20_000 }, (_, index) => `note ${index} ${"x".repeat(100)}`);
      await plans.save({ ...plan, notes });
      expect((await plans.find(change))?.notes).toEqual(notes);
    });
  });
}
