import { describe, expect, test } from "@jest/globals";
import { renderBarredMerge, renderMergeRefusal } from "../../src/comments/merge.js";
import { nextStepClause } from "../../src/comments/next-step-words.js";
import { renderTurn } from "../../src/comments/plan.js";
import { renderResult } from "../../src/comments/render.js";
import { applicationName, type ApplicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import { changeRequestRef } from "../../src/core/model/change-request.js";
import type { Deployment } from "../../src/core/model/deployment.js";
import { type Hold, holdClause } from "../../src/core/model/hold.js";
import type { NextStep } from "../../src/core/model/next-step.js";
import type {
  ApplicationSync,
  AutomaticRollback,
  CommandResult,
  Refusal,
  SyncedResult,
} from "../../src/core/model/result.js";
import type { Facts } from "../../src/core/policy/facts.js";
import { adviceAfter } from "../../src/core/policy/next-step.js";
import type { HostId } from "../../src/names.js";
import { expectGolden } from "./golden.js";
import {
  evaluated,
  LINKS,
  resource,
  sampleApplication,
  sampleChange,
  sampleDeployment,
  sampleFacts,
  type SampleFacts,
  sampleLock,
  samplePlan,
  WORDS,
} from "./samples.js";

const web = applicationName("web");
const api = applicationName("api");
const change = sampleChange();
const PLAN = "https://host.example.com/acme/deploy/pull/7#issuecomment-1";
const PLAN_LINK = / · \[plan\]\(<[^>]*>\)$/;
const command = { name: "sync", applications: [], dryRun: false, prune: false } as const;
const facts = { change, words: WORDS.hosta, links: LINKS, comments: "all", command } as const;

const succeeded: ApplicationSync = {
  application: web,
  warnings: [],
  kind: "succeeded",
  message: "successfully synced (all tasks run)",
  resources: [{ title: "ConfigMap guestbook/web", status: "Synced", message: "configmap/web configured (dry run)" }],
  revisions: [],
  pruneSkipped: 0,
  health: "Progressing",
  unhealthy: [
    {
      title: "apps/Deployment guestbook/web",
      status: "Progressing",
      message: "Waiting for rollout to finish: 1 of 3 @all",
    },
  ],
};

function synced(more: Partial<SyncedResult>): CommandResult {
  return {
    kind: "synced",
    dryRun: false,
    applications: [succeeded],
    announced: [],
    skipped: [],
    merge: undefined,
    notMerged: [],
    replaced: [],
    ...more,
  };
}

const failed: ApplicationSync = {
  application: api,
  warnings: [],
  kind: "failed",
  message: 'one or more objects failed to apply, reason: namespaces "x" not found',
  resources: [{ title: "ConfigMap x/api", status: "SyncFailed", message: 'namespaces "x" not found' }],
};
/** Deployed by Argo CD, and not as healthy as its rules ask. */
function notHealthy(name: string, health: string, rollback: AutomaticRollback | undefined): ApplicationSync {
  return {
    application: applicationName(name),
    warnings: [],
    kind: "failed",
    message: `it did not get healthy within 300 seconds: Argo CD reports it as ${health}`,
    resources: [{ title: `Pod guestbook/${name}-1`, status: health, message: "Back-off pulling image `x` @all" }],
    notHealthy: { health, rollback },
  };
}

const MERGE = { method: "squash", deleteSourceBranch: false, protectedBranches: [] } as const;

const ENDS = {
  succeeded: "succeeded",
  failed: "failed",
  running: "unknown",
  unknown: "unknown",
} as const satisfies Record<string, Deployment["outcome"]>;

/** As a command leaves the stores: a success holds no lock, and whatever was started has a record. */
function factsAfter(result: CommandResult, more: SampleFacts = {}): Facts {
  const synced = result.kind === "synced" || result.kind === "rolled-back" ? result.applications : [];
  const planOf = (names: readonly ApplicationName[]) =>
    samplePlan(
      names.map((name) =>
        sampleApplication(name, evaluated([resource(`ConfigMap guestbook/${name}`, "update", "@@")])),
      ),
    );
  const plan = planOf(synced.map(({ application }) => application));
  if (result.kind === "synced" && result.dryRun) return sampleFacts(plan, more);
  if (result.kind === "refused") return sampleFacts(undefined, more);
  if (result.kind === "unlocked") return sampleFacts(planOf(result.released), { locks: [], ...more });
  const isUndone = (one: ApplicationSync) => one.kind === "failed" && one.notHealthy?.rollback?.kind === "succeeded";
  const undone = new Set(synced.filter(isUndone).map(({ application }) => application));
  const ended = synced.filter((one) => one.kind === "succeeded" || isUndone(one));
  const over = new Set(ended.map(({ application }) => application));
  const rolledBack = result.kind === "rolled-back";
  return sampleFacts(plan, {
    locks: synced
      .filter(({ application }) => !over.has(application))
      .map(({ application }) => sampleLock(application, 7)),
    records: synced.flatMap(({ application, kind }) => {
      if (kind === "rejected" || undone.has(application)) return [];
      if (rolledBack) return kind === "succeeded" ? [] : [sampleDeployment(application)];
      return [sampleDeployment(application, { outcome: ENDS[kind] })];
    }),
    ...more,
  });
}

/** The answer as `reply` posts it. */
function answered(result: CommandResult, more: SampleFacts = {}, host: HostId = "hosta"): readonly string[] {
  const asked = { ...(more.change ?? change), host };
  const advice = adviceAfter(result, factsAfter(result, { ...more, change: asked }));
  return renderResult(result, { ...facts, change: asked, words: WORDS[host], advice, plan: PLAN });
}

const HOLD: Hold = {
  id: "1",
  applications: ["prod-api", "prod-web"],
  reason: "database migration (#12)",
  by: { provider: "hosta", id: "7", login: "olga" },
  since: "2026-03-01T16:00:00.000Z",
  until: "2026-03-01T18:00:00.000Z",
};

test("a hold is told until the first full minute at which it is over", () => {
  const until = "2026-03-01T18:00:45.000Z";
  expect(answered({ kind: "held", hold: { ...HOLD, until } }).join()).toContain("Held until 2026-03-01 18:01 UTC: ");
  const hold = { application: web, reason: "a migration", by: "olga", until };
  const step = { kind: "held", holds: [hold] } as const;
  expect(nextStepClause(step, change, WORDS.hosta)).toMatch(/^wait until 2026-03-01 18:01 UTC, when olga's hold of /);
  expect(holdClause(hold)).toContain("until 2026-03-01 18:01 UTC");
});

test("applications of one hold are named together, and holds apart from each other", () => {
  const [one, other] = ["2026-03-01T18:00:00.000Z", "2026-03-01T19:00:00.000Z"];
  const holds = [
    { application: api, reason: "a migration", by: "olga", until: one },
    { application: web, reason: "a migration", by: "olga", until: one },
    { application: applicationName("shop"), reason: "an incident", by: "bo", until: other },
  ];
  expect(nextStepClause({ kind: "held", holds }, change, WORDS.hosta)).toBe(
    "wait until 2026-03-01 18:00 UTC, when olga's hold of `api`, `web` (a migration) ends, or have it released; " +
      "wait until 2026-03-01 19:00 UTC, when bo's hold of `shop` (an incident) ends, or have it released",
  );
  const step = { kind: "command", command: "sync", applications: [], by: [], held: holds } as const;
  expect(nextStepClause(step, change, WORDS.hosta)).toBe(
    "comment `svc sync`; for `api`, `web`, wait until 2026-03-01 18:00 UTC, when olga's hold (a migration) ends, or have it released; " +
      "for `shop`, wait until 2026-03-01 19:00 UTC, when bo's hold (an incident) ends, or have it released",
  );
});

describe("the answers to commands", () => {
  test.each<[string, CommandResult]>([
    ["sync", synced({ merge: MERGE })],
    ["sync-no-auto-merge", synced({})],
    ["sync-failed", synced({ applications: [failed] })],
    [
      "sync-not-healthy",
      synced({
        applications: [
          notHealthy("api", "Degraded", undefined),
          notHealthy("shop", "Degraded", { kind: "succeeded", message: "" }),
          notHealthy("slow", "Progressing", { kind: "skipped", message: "another was deployed to it since" }),
          notHealthy("web", "Missing", { kind: "failed", message: "permission denied @all" }),
        ],
      }),
    ],
    ["sync-not-pruned-and-merging", synced({ merge: MERGE, applications: [{ ...succeeded, pruneSkipped: 1 }] })],
    ["sync-dry-run", synced({ dryRun: true })],
    [
      "sync-mixed",
      synced({
        applications: [
          {
            ...succeeded,
            kind: "succeeded",
            pruneSkipped: 2,
            resources: ["ConfigMap guestbook/old", "batch/Job guestbook/once"].map((title) => ({
              title,
              status: "PruneSkipped",
              message: "ignored (requires pruning)",
            })),
          },
          {
            application: api,
            warnings: ["its definition was put back to what it was before this sync"],
            kind: "failed",
            message: 'one or more objects failed to apply, reason: namespaces "x" not found',
            resources: [{ title: "ConfigMap x/api", status: "SyncFailed", message: 'namespaces "x" not found' }],
          },
          {
            application: applicationName("slow"),
            warnings: [],
            kind: "running",
            message: "waiting for healthy state of apps/Deployment/slow",
          },
          {
            application: applicationName("lost"),
            warnings: [],
            kind: "unknown",
            message: "another operation took its place",
          },
          {
            application: applicationName("closed"),
            warnings: [],
            kind: "rejected",
            message: "cannot sync: blocked by sync window",
          },
        ],
        announced: [sampleApplication("fresh", { kind: "new" }), sampleApplication("gone", { kind: "deleted" })],
        skipped: [applicationName("same")],
        notMerged: [{ application: api, reason: "its sync has not succeeded" }],
      }),
    ],
    ["rollback", { kind: "rolled-back", dryRun: false, applications: [succeeded], takenOver: [] }],
    ["rollback-failed", { kind: "rolled-back", dryRun: false, applications: [failed], takenOver: [] }],
    [
      "unlock",
      {
        kind: "unlocked",
        released: [web],
        notHeld: [
          { application: "api", lock: sampleLock("api", 3, "bo") },
          { application: "nope", lock: undefined },
        ],
        left: [],
        next: [],
      },
    ],
    [
      "unlock-with-next",
      {
        kind: "unlocked",
        released: [api, web],
        notHeld: [],
        left: [applicationName("shop")],
        next: [
          { application: api, change: { ...changeRequestRef(change), number: 12 } },
          {
            application: web,
            change: { ...changeRequestRef(change), repository: repositoryName("acme/charts"), number: 3 },
          },
        ],
      },
    ],
    ["unlock-nothing", { kind: "unlocked", released: [], notHeld: [], left: [], next: [] }],
    ["update", { kind: "updated", done: { head: revision("d".repeat(40)), rewritten: false } }],
    ["update-rebased", { kind: "updated", done: { head: revision("d".repeat(40)), rewritten: true } }],
    ["update-nothing", { kind: "updated", done: undefined }],
    ["revert", { kind: "reverted", revert: { ...changeRequestRef(change), number: 12 }, known: false }],
    ["revert-again", { kind: "reverted", revert: { ...changeRequestRef(change), number: 12 }, known: true }],
    ["hold", { kind: "held", hold: HOLD }],
    ["release", { kind: "released", holds: [HOLD] }],
    ["closed", { kind: "closed", released: [web], stillDeployed: [web] }],
    ["help", { kind: "help" }],
  ])("%s", (name, result) => {
    expectGolden(`result-${name}`, (host) => answered(result, {}, host));
  });

  test.each<[string, CommandResult, string, RegExp]>([
    [
      "with auto-merge",
      synced({ merge: MERGE }),
      "**1 application deployed**",
      /svc merges this PR into `main` next, unless a comment below says otherwise$/,
    ],
    ["without auto-merge", synced({}), "**1 application deployed**", /merge this PR$/],
    [
      "that fails",
      synced({ applications: [succeeded, failed] }),
      "**2 applications: 1 deployed, 1 failed**",
      /fix the cause, then `svc sync`, or `svc rollback -a api`$/,
    ],
    [
      "that leaves objects in the cluster",
      synced({ applications: [{ ...succeeded, pruneSkipped: 2, health: "Degraded" }] }),
      " · ⚠️ degraded: `web` · ⚠️ 2 resources not pruned · ",
      /merge this PR$/,
    ],
  ])(
    "a sync %s says the counts, the danger, who acts and how in its first four lines",
    (_what, result, counts, step) => {
      const [first = ""] = answered(result);
      const lines = first.split("\n").slice(0, 4);
      expect(lines[1]).toMatch(/^## svc Sync [✅❌]$/u);
      expect(lines[3]).toContain(counts);
      expect(lines[3]?.replace(PLAN_LINK, "")).toMatch(step);
    },
  );

  test("a sync says who gave it and how long it took", () => {
    const result = synced({});
    const advice = adviceAfter(result, factsAfter(result, {}));
    const [first = ""] = renderResult(result, { ...facts, change, advice, by: "ana", seconds: 42 });
    expect(first).toContain(`](<${LINKS.head}>) by \`ana\` in 42 s · merge this PR`);
  });

  test("an error that Argo CD's message quotes is printed once; errors of several objects stand with each", () => {
    const object = (title: string, message: string) => ({ title, status: "SyncFailed", message });
    const print = (objects: readonly ReturnType<typeof object>[]) => {
      const message = `one or more objects failed to apply, reason: ${objects.map((one) => one.message).join(",")}`;
      return answered(synced({ applications: [{ ...failed, message, resources: objects }] })).join();
    };
    const quota = print([object("ConfigMap x/a", "quota exceeded"), object("ConfigMap x/b", "quota exceeded")]);
    expect(quota).toContain("\n ConfigMap x/a: SyncFailed\n ConfigMap x/b: SyncFailed\n");
    const several = print([object("ConfigMap x/a", "quota exceeded"), object("ConfigMap x/b", "not found")]);
    expect(several).toContain("\n ConfigMap x/a: SyncFailed: quota exceeded\n ConfigMap x/b: SyncFailed: not found\n");
  });

  test.each<[string, CommandResult, SampleFacts, string, RegExp]>([
    [
      "of an open PR",
      { kind: "rolled-back", dryRun: false, applications: [succeeded], takenOver: [] },
      {},
      "**1 application rolled back** at `main`",
      /^\*\*1 application rolled back\*\* at `main`$/,
    ],
    [
      "of a closed PR",
      { kind: "rolled-back", dryRun: false, applications: [succeeded], takenOver: [] },
      { change: { ...change, state: "closed" } },
      "**1 application rolled back** at `main`",
      /nothing is left to do here; reopen this PR to go on with it$/,
    ],
    [
      "that fails",
      { kind: "rolled-back", dryRun: false, applications: [failed], takenOver: [] },
      {},
      "**1 application failed** at `main`",
      /fix the cause, then `svc rollback -a api`$/,
    ],
  ])("a rollback %s says the same in its first four lines", (_what, result, more, counts, step) => {
    const [first = ""] = answered(result, more);
    const lines = first.split("\n").slice(0, 4);
    expect(lines[1]).toMatch(/^## svc Rollback [✅❌]$/u);
    expect(lines[3]).toContain(counts);
    expect(lines[3]?.replace(PLAN_LINK, "")).toMatch(step);
  });

  test.each<[CommandResult, string, RegExp]>([
    [
      { kind: "rolled-back", dryRun: false, applications: [succeeded], takenOver: [] },
      "**1 application rolled back** at `main`",
      / · nothing is left to do: the target branch runs again\. To deploy this PR after all, comment `svc plan`; to drop it, close this PR\n/,
    ],
    [synced({ dryRun: true }), "**1 application would succeed**", /\n\nNext, comment:\n```\nsvc sync\n```\n/],
    [
      { kind: "unlocked", released: [web], notHeld: [], left: [], next: [] },
      "Released: `web`.",
      /\n\nNothing is left to do: the locks are released\. To deploy this PR after all, comment `svc plan`; to drop it, close this PR\.$/,
    ],
    [{ kind: "updated", done: undefined }, "nothing to update.", /\n\nMerge this PR\.$/],
  ])("%j says what comes next only where it cannot lead to the plan, which does", (result, said, step) => {
    const advice = adviceAfter(result, factsAfter(result));
    const [without = ""] = renderResult(result, { ...facts, advice });
    expect(without).toContain(said);
    expect(without).toMatch(step);
    const [text = ""] = renderResult(result, { ...facts, advice, plan: PLAN });
    expect(text).toContain(said);
    expect(text).not.toMatch(step);
    expect(text).toMatch(/\[[Pp]lan\]\(<[^>]*#issuecomment-1>\)/);
  });

  test("a close with nothing left deployed says nothing", () => {
    expect(renderResult({ kind: "closed", released: [web], stillDeployed: [] }, facts)).toEqual([]);
  });

  test("one whose turn has come, and that is not planned by itself, is told in one line and a command", () => {
    const after = { ...changeRequestRef(change), number: 9 };
    const on = (host: HostId) => renderTurn({ applications: [web], after }, { ...change, host }, WORDS[host], LINKS);
    const text = on("hosta");
    expectGolden("turn", (host) => [on(host)]);
    expect(text.split("\n")).toHaveLength(5);
    const both = renderTurn(
      { applications: [api, web], after: undefined },
      { ...change, host: "hostb" },
      WORDS.hostb,
      LINKS,
    );
    expect(both).toContain("`api`, `web` are no longer locked. To lock them before");
  });

  test("a merge by somebody else while the sync ran is told, with what became of each application", () => {
    const applications: readonly ApplicationSync[] = [
      succeeded,
      failed,
      { application: applicationName("slow"), warnings: [], kind: "running", message: "waiting for healthy state" },
    ];
    const merged = { ...change, state: "merged" } as const;
    expectGolden("result-sync-merged-meanwhile", (host) =>
      answered(synced({ applications }), { change: merged }, host),
    );
  });

  test("a merge that was refused says what to do", () => {
    expectGolden("result-merge-refused", (host) => [
      renderMergeRefusal(
        'GitHub does not allow this merge now. GitHub says: "Squash merges are not allowed". Look at the required checks and reviews, the merge queue, and whether the repository allows the method "squash"; then merge by hand.',
        change,
        WORDS[host],
      ),
    ]);
  });

  test("a merge that is barred by what changed meanwhile names that and the next step", () => {
    const merge = { kind: "merge", draft: false, by: [] } as const;
    const { headRevision: commit } = change;
    const next = { kind: "approve", known: true, commit, author: "ana", then: merge } as const;
    expectGolden("result-merge-barred", (host) => {
      const notMerged = [{ application: web, reason: `${WORDS[host].short} must be approved before it is merged` }];
      return [renderBarredMerge({ notMerged, next }, sampleChange(host), WORDS[host], LINKS)];
    });
  });
});

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

describe("the refusals", () => {
  test.each<[string, Refusal]>([
    ["not-a-command", { reason: "not-a-command" }],
    [
      "not-a-command-but-nearly",
      {
        reason: "not-a-command",
        suggestion: { name: "sync", applications: ["web", "team-*"], dryRun: true, prune: false },
        unknownWord: "wbe",
      },
    ],
    ["no-match", { reason: "no-match", patterns: ["team-*", "label:team=shop"], applications: ["api", "web"] }],
    ["plan-unseen", { reason: "plan-unseen" }],
    ["found-late", { reason: "found-late", command: "sync" }],
    ["unread-files", { reason: "unread-files", files: [{ file: "apps/large.yaml", reason: "it is too large" }] }],
    ["nothing-locked", { reason: "nothing-locked" }],
    [
      "not-a-command-but-for-an-option",
      { reason: "not-a-command", unknownOption: { command: "sync", option: "--force" } },
    ],
    ["not-locked", { reason: "not-locked", applications: ["nope"], held: ["api", "web"] }],
    [
      "not-locked-but-nearly",
      {
        reason: "not-locked",
        applications: ["wbe"],
        held: ["api", "web"],
        suggestion: { name: "sync", applications: ["web"], dryRun: false, prune: false },
      },
    ],
    [
      "not-approved",
      {
        reason: "not-approved",
        applications: [web],
        missing: "nobody has approved commit c0ffee00 yet",
        others: [api],
      },
    ],
    [
      "stale",
      {
        reason: "stale",
        applications: [
          { application: web, planFailure: undefined, moved: undefined },
          { application: api, planFailure: "helm failed", moved: undefined },
        ],
        others: [],
      },
    ],
    ["conflicts", { reason: "conflicts" }],
    ["mergeability-unknown", { reason: "mergeability-unknown" }],
    ["auto-sync", { reason: "auto-sync", applications: [web], others: [api] }],
    [
      "not-deployable",
      { reason: "not-deployable", applications: [{ application: web, reason: "no right" }], others: [] },
    ],
    ["unknown-applications", { reason: "unknown-applications", applications: ["nope"] }],
    [
      "locked-by-other",
      {
        reason: "locked-by-other",
        locks: [
          sampleLock("web", 3, "bo"),
          { ...sampleLock("api"), holder: { ...sampleLock("api").holder, host: "hostb" } },
        ],
        written: [{ child: applicationName("api"), parent: applicationName("root") }],
      },
    ],
    [
      "cannot-tell",
      {
        reason: "cannot-tell",
        doubts: ["whether the head is approved: GitHub answered 502", "who holds the locks: not JSON: @all"],
      },
    ],
    ["head-moved", { reason: "head-moved" }],
    ["retargeted", { reason: "head-moved", base: "release" }],
    ["store-unavailable", { reason: "store-unavailable" }],
    ["closed", { reason: "closed", state: "merged" }],
    ["fork", { reason: "fork" }],
    ["not-done", { reason: "not-done", command: "update", because: "it has merge conflicts" }],
    [
      "not-done-revert",
      {
        reason: "not-done",
        command: "revert",
        because: "only what was merged can be reverted; svc rollback undoes a sync",
      },
    ],
    [
      "not-done-revert-conflicts",
      {
        reason: "not-done",
        command: "revert",
        because: "it does not apply cleanly to main any more",
        files: ["apps/web/values.yaml", "a`b @acme/all.yaml", ...Array.from({ length: 20 }, (_, at) => `${at}.yaml`)],
      },
    ],
    [
      "not-done-hold",
      {
        reason: "not-done",
        command: "hold",
        because: "--until must be in the future: it is now 2026-03-01 19:12 in UTC",
      },
    ],
    [
      "not-done-release",
      {
        reason: "not-done",
        command: "release",
        because: "you hold nothing. Whoever set a hold, or an administrator of svc, releases it",
      },
    ],
    ["no-write-access", { reason: "no-write-access", login: "olga" }],
    ["repository-file", { reason: "repository-file", problems: [".svc.yaml:3:5 cr_paths: must be a list"] }],
    ["superseded", { reason: "superseded", by: "pushed" }],
    [
      "not-allowed",
      {
        reason: "not-allowed",
        command: "sync",
        login: "ana",
        applications: [
          { application: web, allowed: [{ users: ["bo", "*carol*"], teams: ["acme/platform"] }], problem: undefined },
          {
            application: applicationName("api"),
            allowed: [{ users: [], teams: ["acme/api", "acme/sre"] }],
            problem: "GitHub does not allow svc to look for ana in the team acme/api (403): see @app.yml.",
          },
        ],
        others: [applicationName("wiki")],
      },
    ],
    [
      "not-allowed-to-unlock",
      {
        reason: "not-allowed",
        command: "unlock",
        login: "ana",
        applications: [{ application: web, allowed: [{ users: ["bo"], teams: [] }], problem: undefined }],
        others: [],
      },
    ],
    [
      "not-allowed-by-several-lists",
      {
        reason: "not-allowed",
        command: "sync",
        login: "ana",
        applications: [
          {
            application: web,
            allowed: [
              { users: ["bo"], teams: ["acme/platform"] },
              { users: ["carol"], teams: [] },
            ],
            problem: undefined,
          },
          { application: applicationName("api"), allowed: [{ users: [], teams: [] }], problem: undefined },
        ],
        others: [],
      },
    ],
    ["superseded-by-close", { reason: "superseded", by: "closed" }],
    ["failure", { reason: "failure", message: "failed to connect to Argo CD: connection refused" }],
  ])("%s", (name, refusal) => {
    const state = refusal.reason === "closed" ? refusal.state : "open";
    const asked = { change: { ...change, state } } as const;
    expectGolden(`refusal-${name}`, (host) => answered({ kind: "refused", refusal }, asked, host));
  });

  const SYNC = { kind: "command", command: "sync", applications: [web], by: [] } as const;
  const APPROVE: NextStep = { kind: "approve", known: true, commit: change.headRevision, author: "ana", then: SYNC };

  test.each<[string, Refusal, NextStep, string]>([
    [
      "an approval",
      { reason: "not-approved", applications: [web], missing: "", others: [] },
      APPROVE,
      `Needs an approval of [\`c0ffee00\`](<${LINKS.head}>) by somebody other than ana, then \`svc sync -a web\`.`,
    ],
    [
      "a push",
      { reason: "stale", applications: [{ application: web, planFailure: "helm failed" }], others: [] },
      { kind: "push", because: "unevaluated", applications: [web], baseBranch: "main" },
      "Fix what keeps `web` from being evaluated, then push or comment `svc plan`.",
    ],
  ])("end with the next step: %s", (_what, refusal, next, text) => {
    expect(answered({ kind: "refused", refusal, next }).join("").trimEnd()).toMatch(new RegExp(`${escaped(text)}$`));
  });

  test.each<[Refusal, NextStep]>([
    [{ reason: "conflicts" }, { kind: "push", because: "conflicts", applications: [], baseBranch: "main" }],
    [{ reason: "head-moved" }, { kind: "command", command: "plan", applications: [], by: [] }],
    [
      { reason: "locked-by-other", locks: [] },
      { kind: "wait", locks: [] },
    ],
    [
      { reason: "cannot-tell", doubts: ["it"] },
      { kind: "later", because: "it" },
    ],
  ])("%j says its next step itself", (refusal, next) => {
    expect(answered({ kind: "refused", refusal, next })).toEqual(answered({ kind: "refused", refusal }));
  });

  test.each([
    ["open", true],
    ["closed", false],
  ] as const)("a rollback that leaves a lock says so while its change request is open: %s", (state, isKept) => {
    const result = {
      kind: "rolled-back",
      dryRun: false,
      applications: [succeeded],
      takenOver: [],
      kept: [api],
    } as const;
    const text = answered(result, { change: { ...change, state } }).join("");
    expect(text.includes("the lock is kept: `api`")).toBe(isKept);
  });

  test.each<Refusal>([
    { reason: "not-deployable", applications: [{ application: web, reason: "no right" }], others: [api] },
    {
      reason: "stale",
      applications: [{ application: web, planFailure: undefined, differs: "it moved" }],
      others: [api],
    },
  ])("%j says once that nothing was deployed", (refusal) => {
    const text = answered({ kind: "refused", refusal }).join("");
    expect(text).toContain("To continue with the others");
    expect(text.match(/Nothing was deployed/g)).toHaveLength(1);
  });

  test.each<[Refusal, string]>([
    [
      { reason: "stale", applications: [{ application: web, planFailure: undefined, moved: undefined }], others: [] },
      "Plan for web is stale. Please run the plan command again.",
    ],
    [{ reason: "not-approved", applications: [web], missing: "", others: [] }, "PR must be approved before sync"],
    [
      { reason: "auto-sync", applications: [web], others: [] },
      "Application web has auto-sync enabled. Disable auto-sync before using the service to prevent conflicts.",
    ],
    [{ reason: "nothing-locked" }, "No applications are locked by this PR. Run the plan command first."],
    [{ reason: "conflicts" }, "PR has merge conflicts, please resolve before syncing"],
    [{ reason: "not-a-command" }, "not a svc command"],
    [{ reason: "unknown-applications", applications: ["nope"] }, "application not found"],
    [{ reason: "store-unavailable" }, "failed to acquire lock"],
    [{ reason: "locked-by-other", locks: [sampleLock("web", 3, "bo")] }, "Locked by PR #3 (bo)"],
  ])("%j has the specification's words", (refusal, text) => {
    expect(renderResult({ kind: "refused", refusal }, facts).join("")).toContain(text);
  });
});
