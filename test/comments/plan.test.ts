import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readMarker } from "../../src/comments/marker.js";
import { type PlanOptions, renderPlan } from "../../src/comments/plan.js";
import type { Present } from "../../src/comments/present.js";
import { markStale } from "../../src/comments/publish.js";
import { applicationName } from "../../src/core/model/brand.js";
import type { NextStep } from "../../src/core/model/next-step.js";
import type { Plan } from "../../src/core/model/plan/plan.js";
import { nextStep } from "../../src/core/policy/next-step.js";
import type { HostId } from "../../src/names.js";
import { expectGolden } from "./golden.js";
import {
  compared,
  evaluated,
  HEAD,
  LINKS,
  preview,
  resource,
  sampleApplication,
  sampleChange,
  sampleCheck,
  sampleLock,
  samplePlan,
  sampleSet,
  sampleFacts,
  WORDS,
} from "./samples.js";

const HUNK = "@@ -4,3 +4,3 @@\n   name: web\n-  replicas: 2\n+  replicas: 3\n";
const SECRET_HUNK =
  "@@ -2,3 +2,3 @@\n data:\n-  password: (hidden, before the change)\n-  user: (hidden)\n+  password: (hidden, after the change)\n+  token: (hidden)\n";
const AGAINST = { approximate: [], alreadyThere: [], kept: [] } as const;
const LIVE = { kind: "live", ...AGAINST, drifted: [] } as const;
const github = { words: WORDS.hosta, pruning: false, links: LINKS, comments: "all" } as const;

/** The comments of a plan on a host. */
function on(host: HostId, plan: Plan, more: Partial<PlanOptions> = {}): readonly string[] {
  return renderPlan({ ...plan, change: sampleChange(host) }, { ...github, words: WORDS[host], ...more });
}

describe("the shapes of a plan comment", () => {
  test.each<[string, Plan]>([
    [
      "changed",
      samplePlan([
        sampleApplication(
          "web",
          evaluated([
            resource("apps/Deployment guestbook/web", "update", HUNK),
            resource("ConfigMap guestbook/new", "create", "@@ -0,0 +1 @@\n+kind: ConfigMap\n"),
          ]),
        ),
      ]),
    ],
    [
      "deletes-and-hooks",
      samplePlan([
        sampleApplication(
          "web",
          evaluated([
            resource("ConfigMap guestbook/old", "delete", "@@ -1 +0,0 @@\n-kind: ConfigMap\n"),
            resource("batch/Job guestbook/migrate", "update", HUNK, true),
          ]),
        ),
      ]),
    ],
    [
      "stages",
      samplePlan(
        ["dev-api", "dev-web", "prod-web"].map((name) =>
          sampleApplication(name, evaluated([resource(`apps/Deployment ${name}/web`, "update", HUNK)])),
        ),
        {
          stages: [
            { name: "dev", wait: "healthy", soak: 0, applications: ["dev-api", "dev-web"].map(applicationName) },
            { name: "qa", wait: "healthy", soak: 600_000, applications: [applicationName("qa-web")] },
            { name: "prod", wait: "manual", soak: 0, applications: [applicationName("prod-web")] },
          ],
        },
      ),
    ],
    ["unchanged", samplePlan([sampleApplication("web", evaluated([]))])],
    [
      "cautions-and-children",
      samplePlan([
        sampleApplication(
          "parent",
          evaluated([resource("argoproj.io/Application argocd/shop", "update", HUNK)], {
            cautions: [
              "pruning PersistentVolumeClaim guestbook/data: its data is lost unless the volume's reclaim policy is Retain",
              "Kubernetes refuses to change spec.selector of apps/Deployment guestbook/@team: the sync will fail unless it is replaced (argocd.argoproj.io/sync-options: Replace=true,Force=true)",
            ],
            children: { created: ["a", "b`c"], changed: ["shop"], deleted: ["d"] },
            sets: { created: [], changed: ["shops"], deleted: [] },
          }),
        ),
      ]),
    ],
    [
      "failed-checks",
      samplePlan([
        sampleApplication("api", {
          ...evaluated([resource("apps/Deployment guestbook/api", "update", HUNK)]),
          checks: [sampleCheck("kubeconform"), sampleCheck("conftest")],
        }),
        sampleApplication("web", {
          ...evaluated([resource("apps/Deployment guestbook/web", "update", HUNK)]),
          checks: [
            sampleCheck("kubeconform", {
              kind: "broken",
              reason: "it was stopped after 60 s",
              output: "",
            }),
            sampleCheck("conftest", {
              kind: "failed",
              reason: "exit code 1",
              output: "FAIL - web - containers must not run as root\n```\n/merge @team\n\n1 test, 0 passed, 1 failure",
            }),
          ],
        }),
      ]),
    ],
    [
      "refused-by-kubernetes",
      samplePlan([
        sampleApplication("web", {
          ...evaluated(
            [
              resource("apps/Deployment guestbook/web", "update", HUNK),
              resource("Service guestbook/web", "update", HUNK),
            ],
            {
              cautions: [
                "Kubernetes will refuse apps/Deployment guestbook/web: spec.selector: field is immutable. Let the sync replace it (argocd.argoproj.io/sync-options: Replace=true,Force=true), delete it first, or give it another name",
                "Kubernetes may refuse Service guestbook/web: spec.ports[1].name: Duplicate value. This cannot be tried just as a sync does it, so the sync may still work",
              ],
              dangers: [{ what: "Kubernetes refuses to change apps/Deployment guestbook/web", pruning: false }],
            },
          ),
          cluster: {
            accepted: 1,
            refused: [
              { title: "apps/Deployment guestbook/web", message: "spec.selector: field is immutable", sure: true },
              { title: "Service guestbook/web", message: "spec.ports[1].name: Duplicate value", sure: false },
            ],
            untried: [{ titles: ["Secret guestbook/login", "Secret guestbook/tls"], reason: "its values are hidden" }],
          },
        }),
        sampleApplication("api", {
          ...evaluated([resource("ConfigMap guestbook/api", "update", HUNK)]),
          cluster: { accepted: 1, refused: [], untried: [] },
        }),
        sampleApplication("old", {
          ...evaluated([resource("ConfigMap guestbook/old", "create", HUNK)]),
          cluster: {
            accepted: 0,
            refused: [],
            untried: [
              { titles: ["ConfigMap guestbook/old"], reason: "Argo CD cannot reach the cluster: dial tcp: @team" },
            ],
          },
        }),
      ]),
    ],
    [
      "asking-kubernetes",
      samplePlan([
        sampleApplication("web", {
          ...evaluated([resource("apps/Deployment guestbook/web", "update", HUNK)]),
          cluster: {
            accepted: 0,
            refused: [],
            untried: [{ titles: ["Secret guestbook/login"], reason: "its values are hidden" }],
            asking: ["apps/Deployment guestbook/web"],
          },
        }),
        sampleApplication("api", {
          ...evaluated([resource("ConfigMap guestbook/api", "update", HUNK)]),
          cluster: { accepted: 0, refused: [], untried: [], asking: ["ConfigMap guestbook/api"] },
        }),
      ]),
    ],
    [
      "left-as-is",
      samplePlan([
        sampleApplication(
          "web",
          evaluated(
            [
              {
                ...resource(
                  "apps/Deployment guestbook/web",
                  "update",
                  `# Ignored by ignoreDifferences: a sync leaves it.\n${HUNK}`,
                ),
                left: true,
              },
              resource(
                "apps/Deployment guestbook/api",
                "update",
                `# Ignored by ignoreDifferences: a sync leaves /spec/replicas.\n${HUNK}`,
              ),
            ],
            { updated: 1 },
          ),
        ),
      ]),
    ],
    [
      "live",
      samplePlan([
        sampleApplication(
          "web",
          evaluated([resource("apps/Deployment guestbook/web", "update", HUNK)], {
            basis: {
              kind: "live",
              approximate: [
                { what: "Argo CD did not refresh the application, so the live state may be out of date", objects: [] },
                {
                  what: "server-side apply removes a field only if nobody else owns it",
                  objects: ["apps/Deployment guestbook/web", "ConfigMap guestbook/@team"],
                },
              ],
              drifted: ["ConfigMap guestbook/web"],
              alreadyThere: ["Service guestbook/web"],
              kept: [{ what: "keys that were written as stringData stay: old", objects: ["Secret guestbook/login"] }],
            },
          }),
        ),
        sampleApplication("kept", {
          ...evaluated([], {
            basis: {
              ...LIVE,
              kept: [
                {
                  what: "RespectIgnoreDifferences leaves /spec/replicas as it is",
                  objects: ["apps/Deployment guestbook/web"],
                },
              ],
            },
          }),
          verdict: "unknown",
        }),
        sampleApplication("same", evaluated([], { basis: LIVE })),
        sampleApplication("there", {
          ...evaluated([], { basis: { ...LIVE, alreadyThere: ["ConfigMap guestbook/there"] } }),
          verdict: "unknown",
        }),
        sampleApplication("both", {
          ...evaluated([], { hiddenSecrets: true, basis: { ...LIVE, alreadyThere: ["ConfigMap guestbook/both"] } }),
          verdict: "unknown",
        }),
      ]),
    ],
    [
      "both",
      samplePlan([
        sampleApplication(
          "web",
          evaluated([resource("apps/Deployment guestbook/web", "update", HUNK)], {
            basis: {
              kind: "both",
              ...AGAINST,
              drift: [
                resource("ConfigMap guestbook/web", "update", "@@ -4,3 +4,3 @@\n data:\n-  a: by hand\n+  a: in git\n"),
                resource("Service guestbook/lost", "create", "@@ -0,0 +1 @@\n+kind: Service\n"),
              ],
            },
          }),
        ),
        sampleApplication("drift-alone", {
          ...evaluated([], {
            basis: { kind: "both", ...AGAINST, drift: [resource("ConfigMap guestbook/web", "update", HUNK)] },
          }),
          verdict: "changed",
        }),
        sampleApplication("same", evaluated([], { basis: { kind: "both", ...AGAINST, drift: [] } })),
      ]),
    ],
    [
      "live-failed",
      samplePlan([
        sampleApplication(
          "web",
          evaluated([resource("ConfigMap guestbook/web", "update", HUNK)], {
            basis: { kind: "live-failed", reason: "permission denied by `@team`: applications, get" },
          }),
        ),
      ]),
    ],
    [
      "hidden-secrets",
      samplePlan([
        sampleApplication("web", {
          ...evaluated([], {
            hiddenSecrets: true,
            secrets: [
              { name: "shop/payments", keys: undefined, files: ["apps/payments/values.yaml"] },
              { name: "shop/_odd`@bo", keys: undefined, files: ["a", "b", "c", "www.example.com"] },
            ],
          }),
          verdict: "unknown",
        }),
        sampleApplication(
          "api",
          evaluated([resource("Secret shop/login", "update", SECRET_HUNK)], {
            hiddenSecrets: true,
            secrets: [
              {
                name: "shop/login",
                keys: { created: ["token"], changed: ["password", "deadbeef"], deleted: ["user"] },
                files: ["apps/api/secret.yaml"],
              },
            ],
          }),
        ),
      ]),
    ],
    [
      "only-commit",
      samplePlan([
        sampleApplication("web", evaluated([], { onlyCommit: ["ConfigMap web-cfg", "apps/Deployment other/web"] })),
        sampleApplication(
          "api",
          evaluated([resource("Service guestbook/api", "update", HUNK)], { onlyCommit: ["ConfigMap api-cfg"] }),
        ),
      ]),
    ],
    [
      "new-and-deleted",
      samplePlan([
        sampleApplication("fresh", {
          kind: "new",
          sourceFile: "apps/fresh.yaml",
          preview: compared(
            [
              resource("Namespace fresh", "create", "@@ -0,0 +1,2 @@\n+apiVersion: v1\n+kind: Namespace\n"),
              resource("ConfigMap fresh/settings", "create", "@@ -0,0 +1,2 @@\n+data:\n+  size: small\n"),
            ],
            { cautions: ["creates Namespace fresh"] },
          ),
        }),
        sampleApplication("gone", {
          kind: "deleted",
          sourceFile: "apps/gone.yaml",
          preview: compared(
            [
              resource("PersistentVolumeClaim gone/data", "delete", "@@ -1,2 +0,0 @@\n-spec:\n-  size: 1Gi\n"),
              resource("ConfigMap gone/settings", "delete", "@@ -1,2 +0,0 @@\n-data:\n-  size: small\n"),
            ],
            {
              cautions: [
                "deletes PersistentVolumeClaim gone/data: its data is lost unless the volume's reclaim policy is Retain",
                "keeps ConfigMap gone/kept in the cluster, because of Delete=false: delete it by hand if it is to go",
              ],
              dangers: [{ what: "deletes PersistentVolumeClaim gone/data", pruning: false }],
            },
          ),
        }),
        sampleApplication("left", {
          kind: "deleted",
          sourceFile: "apps/left.yaml",
          preview: { kind: "left-behind", objects: ["ConfigMap left/settings", "apps/Deployment left/web"] },
        }),
        sampleApplication("private", {
          kind: "new",
          sourceFile: "apps/private.yaml",
          preview: { kind: "failed", reason: "it is not rendered before\n@team has approved", withheld: true },
        }),
        sampleApplication("unlucky", {
          kind: "new",
          sourceFile: "apps/unlucky.yaml",
          preview: { kind: "beyond-limit", limit: 100 },
        }),
      ]),
    ],
    [
      "set-of-a-parent",
      samplePlan(
        [
          sampleApplication(
            "root",
            evaluated([resource("argoproj.io/ApplicationSet argocd/shops", "update", HUNK)], {
              sets: { created: [], changed: ["shops"], deleted: [] },
            }),
          ),
          sampleApplication("shop-fr", {
            ...evaluated([resource("ConfigMap fr/web", "update", HUNK)]),
            warnings: ["planned with the definition that root gives it at this commit: a sync deploys root first"],
          }),
        ],
        {
          applicationSets: [
            sampleSet("shops", {
              sourceFile: "sets/shops.yaml",
              added: [applicationName("shop-it")],
              changed: [applicationName("shop-fr")],
              appliedBy: applicationName("root"),
            }),
          ],
          previews: [preview("shop-it", "added", compared([resource("ConfigMap it/web", "create", HUNK)]))].map(
            (one) => ({ ...one, origin: { ...one.origin, appliedBy: applicationName("root") } }),
          ),
        },
      ),
    ],
    [
      "previews",
      samplePlan([sampleApplication("root", evaluated([resource("ConfigMap guestbook/web", "update", HUNK)]))], {
        applicationSets: [
          sampleSet("shops", {
            sourceFile: "sets/shops.yaml",
            added: [applicationName("shop-it")],
            removed: [applicationName("shop-us")],
            changed: ["shop-at", "shop-be", "shop-ch"].map(applicationName),
          }),
        ],
        previews: [
          preview(
            "shop-it",
            "added",
            compared([resource("ConfigMap it/web", "create", "@@ -0,0 +1 @@\n+kind: ConfigMap\n")]),
          ),
          ...["shop-at", "shop-be", "shop-ch"].map((name) =>
            preview(name, "changed", compared([resource(`ConfigMap ${name}/web`, "update", HUNK)])),
          ),
          preview(
            "shop-de",
            "changed",
            compared([], { hiddenSecrets: true, secrets: [{ name: "de/login", keys: undefined, files: [] }] }),
          ),
          preview("shop-fr", "changed", { kind: "failed", reason: "`helm template` failed: /merge" }),
          preview("shop-gb", "added", { kind: "beyond-limit", limit: 100 }),
          preview("shop-hu", "added", { kind: "beyond-limit", limit: 100 }),
          preview(
            "shop-us",
            "removed",
            compared(
              [resource("PersistentVolumeClaim us/data", "delete", "@@ -1 +0,0 @@\n-kind: PersistentVolumeClaim\n")],
              {
                cautions: ["deletes PersistentVolumeClaim us/data: its data is lost"],
                dangers: [{ what: "deletes PersistentVolumeClaim us/data", pruning: false }],
              },
            ),
          ),
          {
            application: applicationName("leaf"),
            origin: { kind: "child", of: "root", change: "changed" },
            content: compared([]),
          },
        ],
      }),
    ],
    [
      "could-not-be-evaluated",
      samplePlan([
        sampleApplication("web", { kind: "unevaluated", reason: "`helm template` failed: /merge\n```\n@team" }),
      ]),
    ],
    [
      "locked-by-another",
      samplePlan([
        sampleApplication("web", {
          ...evaluated([resource("ConfigMap guestbook/web", "update", HUNK)]),
          lock: { kind: "held", by: sampleLock("web", 1, "ana"), place: 2 },
        }),
        sampleApplication("worker", { ...evaluated([]), lock: { kind: "free" } }),
      ]),
    ],
    [
      "auto-synced-and-warned",
      samplePlan([
        sampleApplication("web", {
          ...evaluated([resource("ConfigMap guestbook/web", "update", HUNK)]),
          atMerge: "auto-sync is enabled: Argo CD deploys it by itself at the merge",
          warnings: ["runs commit abc of change request acme/deploy 3 by @team (#12)"],
        }),
      ]),
    ],
    [
      "no-applications",
      samplePlan([], {
        notDeployed: [{ application: applicationName("api"), reason: "no source of it follows `main`" }],
      }),
    ],
    [
      "sets-and-lists",
      samplePlan([sampleApplication("web", evaluated([])), sampleApplication("left", { kind: "unplanned" })], {
        applicationSets: [
          sampleSet("shops", {
            sourceFile: "sets/shops.yaml",
            added: [applicationName("shop-it")],
            removed: [applicationName("shop-de")],
            changed: [applicationName("shop-fr")],
            notes: ["its policy *create-update* keeps removed applications"],
          }),
          sampleSet("broken", {
            sourceFile: "sets/broken.yaml",
            problem: "permission denied: applicationsets, create",
            owned: [applicationName("one"), applicationName("two")],
          }),
          sampleSet("of-the-platform", { added: [applicationName("team-it")] }),
          sampleSet("ungenerated", {
            sourceFile: "sets/ungenerated.yaml",
            problem: 'failed to execute go template {{ .env }}: map has no entry for key "env"',
            failure: {
              why: 'failed to execute go template {{ .env }}: map has no entry for key "env"',
              then: "its applications stay as they are",
            },
            owned: [applicationName("three")],
          }),
        ],
        notDeployed: [
          { application: applicationName("api"), reason: "its definition belongs to the ApplicationSet apis" },
        ],
        released: [applicationName("old")],
        notes: ["apps/template.yaml: not YAML: @team"],
      }),
    ],
  ])("%s", (name, plan) => {
    expectGolden(`plan-${name}`, (host) => on(host, plan, { next: nextStep(sampleFacts(plan)) }));
  });

  test("your-turn: names what it has the lock of, and not what somebody else took meanwhile", () => {
    const changes = evaluated([resource("ConfigMap guestbook/web", "update", HUNK)]);
    const lock = { kind: "held", by: sampleLock("api", 3, "bo"), place: 1 } as const;
    const planned = [sampleApplication("api", { ...changes, lock }), sampleApplication("web", changes)];
    const applications = [applicationName("api"), applicationName("web")];
    const turn = { applications, after: sampleLock("web", 1, "ana").holder };
    expectGolden("plan-your-turn", (host) => on(host, samplePlan(planned, { turn })));
    const lost = samplePlan([sampleApplication("api", { ...changes, lock })], { turn });
    expect(renderPlan(lost, github).join()).not.toContain("Your turn");
  });

  test("living: who approved it, and what was deployed by whom, when and in how long", () => {
    const changes = evaluated([resource("ConfigMap guestbook/web", "update", HUNK)]);
    const plan = samplePlan([
      sampleApplication("api", changes),
      sampleApplication("web", { ...changes, lock: { kind: "free" } }),
    ]);
    const record = { user: "bo", timestamp: "2026-03-02T10:02:00.000Z" };
    const deployed = [
      { ...record, application: applicationName("api"), outcome: "failed", seconds: 4 } as const,
      { ...record, application: applicationName("web"), outcome: "succeeded", seconds: 12 } as const,
    ];
    const present: Present = { state: "open", approvers: ["bo"], deployed };
    expectGolden("plan-living", (host) => on(host, plan, { present }));
  });

  test("a sync without an end is neither deployed nor failed", () => {
    const plan = samplePlan([sampleApplication("web", evaluated([]))]);
    const record = { application: applicationName("web"), user: "bo", timestamp: "2026-03-02T10:02:00.000Z" };
    const said = (outcome: "started" | "unknown") =>
      renderPlan(plan, {
        ...github,
        present: { state: "open", approvers: [], deployed: [{ ...record, outcome }] },
      }).join();
    expect(said("started")).toContain("⏳ its sync by `bo` began, 2026-03-02 10:02 UTC");
    expect(said("unknown")).toContain("❓ how its sync by `bo` ended is not known, 2026-03-02 10:02 UTC");
  });

  test("of deployments at several times by several people, it says by whom, and drops when and in how long", () => {
    const plan = samplePlan([sampleApplication("api", evaluated([])), sampleApplication("web", evaluated([]))]);
    const record = (name: string, user: string, minute: number, seconds: number) => {
      const timestamp = `2026-03-02T10:0${minute}:00.000Z`;
      return { application: applicationName(name), outcome: "succeeded" as const, user, timestamp, seconds };
    };
    const said = (...deployed: Present["deployed"]) =>
      renderPlan(plan, { ...github, present: { state: "open", approvers: [], deployed } }).join();
    expect(said(record("api", "bo", 2, 12), record("web", "bo", 2, 14))).toContain(
      "\n✅ 2 of 2 applications deployed by `bo`, 2026-03-02 10:02 UTC\n",
    );
    expect(said(record("api", "bo", 2, 12), record("web", "ana", 4, 14))).toContain(
      "\n✅ 2 of 2 applications deployed by `bo`, `ana`\n",
    );
  });

  test("while a sync runs, it says how far that is, and to wait for it", () => {
    const plan = samplePlan([sampleApplication("api", evaluated([])), sampleApplication("web", evaluated([]))]);
    const running = { user: "bo", done: 1, total: 2 };
    const present: Present = { state: "open", approvers: [], deployed: [], running };
    const said = renderPlan(plan, { ...github, present, next: nextStep(sampleFacts(plan)) }).join();
    expect(said).toContain("\n⏳ sync running, 1 of 2 applications done, by `bo`\n");
    expect(said).toContain("---\n`bo` is syncing: wait for the result.");
    expect(said).not.toContain("svc sync\n");
  });

  test("what another application no longer has, and keeps in the cluster, is counted in its preview", () => {
    const pvc = resource("PersistentVolumeClaim fr/data", "delete", "@@ -1 +0,0 @@\n-kind: PersistentVolumeClaim\n");
    const kept = preview("shop-fr", "changed", compared([pvc], { deleted: 0, stay: 1 }));
    expect(renderPlan(samplePlan([], { previews: [kept] }), github).join()).toContain(
      "**Stays:** 1 left in the cluster",
    );
  });

  test("of several comments, the first says the next step, and the last only what stays true", () => {
    const big = Array.from({ length: 40 }, (_, index) =>
      resource(
        `ConfigMap guestbook/${index}`,
        "update",
        `@@ -1 +1 @@\n-a: ${"x".repeat(2000)}\n+a: ${"y".repeat(2000)}\n`,
      ),
    );
    const plan = samplePlan([sampleApplication("api", evaluated(big)), sampleApplication("web", evaluated([]))]);
    const parts = (next: NextStep) => renderPlan(plan, { ...github, comments: "all", next });
    const merge = parts({ kind: "merge", draft: false, by: [] });
    const approve = parts({ kind: "approve-rules", missing: "an approval by the owner is missing" });
    expect(merge.length).toBeGreaterThan(1);
    expect(merge[0]).toContain("Merge this PR.");
    expect(approve[0]).toContain("An approval by the owner is missing");
    expect(merge.at(-1)).toBe(approve.at(-1));
    expect(merge.at(-1)).toContain("comment `svc sync`, once the first comment of this plan says so.");
  });

  test("merged: one application of a merged pull request, which is deployed", () => {
    const changes = evaluated([resource("ConfigMap guestbook/web", "update", HUNK)]);
    const plan = samplePlan([sampleApplication("web", { ...changes, lock: { kind: "free" } })]);
    const application = applicationName("web");
    const record = { user: "bo", timestamp: "2026-03-02T10:02:00.000Z", outcome: "succeeded", seconds: 300 } as const;
    const present: Present = { state: "merged", approvers: ["bo"], deployed: [{ ...record, application }] };
    const next = { kind: "none", because: "merged" } as const;
    expectGolden("plan-merged", (host) => on(host, plan, { present, next }));
  });

  test("with-page", () => {
    const plan = samplePlan([
      sampleApplication("web", evaluated([resource("ConfigMap a/b", "update", "@@ -1 +1 @@\n-a: 1\n+a: 2\n")])),
    ]);
    const page = "https://svc.example.com/changes/github/acme/deploy/7";
    const next = nextStep(sampleFacts(plan));
    expectGolden("plan-with-page", (host) => on(host, plan, { links: { ...LINKS, page }, next }));
  });
});

test("with pruning on, nothing is said of objects that are kept", () => {
  const plan = samplePlan([
    sampleApplication("web", evaluated([resource("ConfigMap a/b", "delete", "@@ -1 +0,0 @@\n-a: 1\n")])),
  ]);
  const [comment] = renderPlan(plan, { ...github, pruning: true });
  expect(comment).toContain("**Deletes:** 1 to delete\n");
});

test("where people can log in, a plan leads to its page, and so does a diff that is left out", () => {
  const page = "https://svc.example.com/changes/github/acme/deploy/7";
  const long = `@@ -0,0 +1,500 @@\n${`+  value: ${"x".repeat(90)}\n`.repeat(500)}`;
  const many = Array.from({ length: 60 }, (_, index) => resource(`ConfigMap ns/c${index}`, "create", long));
  const parts = renderPlan(samplePlan([sampleApplication("web", evaluated(many))]), {
    ...github,
    links: { ...LINKS, page },
  });
  expect(parts.join("\n")).toContain(`too long to show here; log in to read [their diff](<${page}>):`);
  expect(parts[0]).toContain(` · [details](<${page}>)\n`);
});

test("long lists are cut with a visible count", () => {
  const many = Array.from({ length: 30 }, (_, index) => `creates Namespace n${index}`);
  const names = Array.from({ length: 30 }, (_, index) => `n${index}`);
  const [comment = ""] = renderPlan(
    samplePlan([
      sampleApplication(
        "web",
        evaluated([], { cautions: many, children: { created: names, changed: [], deleted: [] } }),
      ),
    ]),
    github,
  );
  expect(comment.match(/^- Creates Namespace/gm)).toHaveLength(15);
  expect(comment).toContain("- and 15 more like these");
  expect(comment).toMatch(/^Applications it would create: `n0`, .*`n19` and 10 more$/m);
});

test("no text from outside breaks out of a comment, and no part is too long", () => {
  const hostile = fc
    .array(
      fc.constantFrom(
        "`",
        "```",
        "\n",
        "/merge",
        "@team",
        "</details>",
        "<!--",
        "-->",
        "|",
        "\u202e",
        "\u2066",
        "x",
        "🚀",
        "\r",
        "#1",
        " ",
      ),
      { maxLength: 60 },
    )
    .map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(hostile, hostile, hostile, (name, reason, diff) => {
      const body = `@@ -1 +1 @@\n${diff
        .split(/\r\n|\r|\n/)
        .map((one) => `+${one}`)
        .join("\n")}`;
      const plan = samplePlan(
        [
          sampleApplication(name === "" ? "x" : name, {
            ...evaluated([resource(`ConfigMap ns/${name}`.replace(/[\r\n]/g, " "), "update", body)], {
              cautions: Array.from({ length: 40 }, () => `pruning ${reason.repeat(30)}`),
              children: {
                created: Array.from({ length: 40 }, () => name.repeat(9)),
                changed: [name],
                deleted: [reason],
              },
              sets: { created: [name], changed: [], deleted: [] },
              basis: {
                kind: "live",
                approximate: [{ what: reason, objects: [name] }],
                drifted: [name],
                alreadyThere: [reason],
                kept: [{ what: reason, objects: [name] }],
              },
            }),
            warnings: [reason],
          }),
          sampleApplication("broken", { kind: "unevaluated", reason }),
          sampleApplication("held", { ...evaluated([]), lock: { kind: "held", by: sampleLock("held", 3, name) } }),
        ],
        { notDeployed: [{ application: applicationName("other"), reason }], notes: [reason] },
      );
      for (const part of renderPlan(plan, github)) {
        expect(part.length).toBeLessThanOrEqual(WORDS.hosta.maxComment);
        expectClosed(part);
        for (const one of part.split("\n")) expect(one).not.toMatch(/^\/\w/);
        expect(part).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
        expect(outsideCode(part)).not.toContain("@team");
        expect(outsideCode(part)).not.toMatch(/<\/details>(?!\n|$)/);
      }
    }),
  );
});

describe("an older plan", () => {
  test("is folded and marked stale once", () => {
    const [body = ""] = renderPlan(samplePlan([sampleApplication("web", evaluated([]))]), github);
    const stale = markStale(body);
    expect(stale).toContain("<details><summary>Outdated plan of commit c0ffee00: a newer one is below</summary>");
    expect(readMarker(stale ?? "")).toMatchObject({ kind: "plan", stale: true, head: HEAD });
    expect(markStale(stale ?? "")).toBeUndefined();
  });

  test.each(["", "hello", "<!-- svc:result head=x -->\nfine", "<!-- svc:plan", "text <!-- svc:plan -->"])(
    "%j is left alone",
    (body) => {
      expect(markStale(body)).toBeUndefined();
    },
  );
});

/** Every fence and collapsible that a part opens is closed in it. */
function expectClosed(part: string): void {
  let open: string | undefined;
  let folds = 0;
  for (const line of part.split("\n")) {
    const fence = /^(`{3,})(\w*)$/.exec(line);
    if (open !== undefined) {
      if (fence?.[1] !== undefined && fence[1].length >= open.length && fence[2] === "") open = undefined;
      continue;
    }
    if (fence?.[1] !== undefined) open = fence[1];
    else {
      const text = line.replace(CODE_SPAN, "");
      folds += (text.match(/<details>/g) ?? []).length - (text.match(/<\/details>/g) ?? []).length;
    }
  }
  expect(open).toBeUndefined();
  expect(folds).toBe(0);
}

const CODE_SPAN = /(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g;

/** What is neither in a fence nor in a code span. */
function outsideCode(part: string): string {
  return part.replace(/^(`{3,})\w*\n[\s\S]*?\n\1$/gm, "").replace(CODE_SPAN, "");
}
