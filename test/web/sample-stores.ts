import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import type { Plan } from "../../src/core/model/plan/plan.js";
import type { AuditEntry } from "../../src/core/ports/audit.js";
import type { Stores } from "../../src/store/stores.js";
import {
  compared,
  evaluated,
  preview,
  resource,
  sampleApplication,
  sampleLock,
  sampleSet,
} from "../comments/samples.js";
import type { JumpClock } from "../jump-clock.js";

export const HEAD = revision("c0ffee00".repeat(5));
const EARLIER = revision("ba5eba11".repeat(5));

export const PULL: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 };
export const MERGE: ChangeRequestRef = { host: "hostb", repository: repositoryName("acme/shop/deploy"), number: 3 };

/** A sync of `web` by `bo` that failed just now. */
export function failedSync(clock: JumpClock, message: string): AuditEntry {
  return {
    at: clock.now().toISOString(),
    runId: "run-d",
    delivery: "d-2",
    who: { host: "hosta", id: "12", login: "bo" },
    change: PULL,
    head: HEAD,
    action: "synced",
    command: "sync",
    applications: [{ application: applicationName("web"), outcome: "failed", detail: undefined, message }],
    reason: undefined,
  };
}

/** A diff of a ConfigMap with this many changed lines. */
export function longDiff(lines: number): string {
  const body = Array.from({ length: lines }, (_, index) => `+  key-${index}: "value ${index}"`);
  return ["@@ -1,3 +1,3 @@", " apiVersion: v1", " data:", ...body].join("\n");
}

const WEB_DIFF = [
  "@@ -4,5 +4,5 @@",
  " spec:",
  "   # how many",
  "-  replicas: 1",
  "+  replicas: 3",
  '   image: "shop/web:2.0"',
  "   paused: false",
  "",
].join("\n");

export function samplePlanOf(change: ChangeRequestRef, lines: number, plannedAt: string): Plan {
  return {
    change,
    head: HEAD,
    baseBranch: "main",
    plannedAt,
    applications: [
      sampleApplication("api", { kind: "unevaluated", reason: "helm: <values> not found\n  at line 3" }),
      sampleApplication("blog", {
        kind: "new",
        sourceFile: "argocd/blog.yaml",
        preview: compared([resource("ConfigMap blog/settings", "create", "@@ -0,0 +1 @@\n+kind: ConfigMap\n")]),
      }),
      sampleApplication("shop", { ...evaluated([]), lock: { kind: "held", by: sampleLock("shop", 9, "bo") } }),
      sampleApplication("web", {
        ...evaluated(
          [
            resource("apps/Deployment shop/web", "update", WEB_DIFF),
            resource("ConfigMap shop/settings", "create", longDiff(lines)),
            resource("PersistentVolumeClaim shop/data", "delete", "@@ -1,2 +0,0 @@\n-kind: PersistentVolumeClaim\n"),
          ],
          { cautions: ["deletes the PersistentVolumeClaim shop/data with what is stored in it"] },
        ),
        cluster: {
          accepted: 2,
          refused: [],
          untried: [{ titles: ["Secret shop/settings-key"], reason: "its values are hidden" }],
        },
        warnings: ["svc's token may not `get` one of its children"],
      }),
    ],
    applicationSets: [
      sampleSet("tenants", {
        sourceFile: "argocd/tenants.yaml",
        added: [applicationName("tenant-b")],
        notes: ["removed applications stay", "argocd/copy.yaml defines a set of the same name differently"],
      }),
      sampleSet("broken", {
        problem: "map has no entry for key <env>",
        failure: { why: "map has no entry for key <env>", then: "its applications stay as they are" },
      }),
      sampleSet("of-the-platform", { changed: [applicationName("api")] }),
    ],
    notDeployed: [{ application: applicationName("old"), reason: "no source of it follows main" }],
    previews: [
      preview("tenant-b", "added", { kind: "failed", reason: "helm: <values> not found", withheld: true }),
      preview("tenant-a", "removed", { kind: "left-behind", objects: ["ConfigMap tenants/a"] }),
      preview("tenant-c", "changed", { kind: "beyond-limit", limit: 2 }),
      preview("tenant-d", "changed", { kind: "beyond-limit", limit: 2 }),
    ],
    released: [],
    unread: [],
    notes: ["argocd/broken.yaml could not be read"],
  };
}

/** What a service knows some time after it was started: plans, locks, deployments and a trail. */
export async function fillStores(stores: Stores, clock: JumpClock, lines = 40): Promise<void> {
  const at = clock.now().toISOString();
  await stores.plans.save(samplePlanOf(PULL, lines, at));
  await stores.plans.save(samplePlanOf(MERGE, 2, at));
  for (const [application, holder, user] of [
    ["web", PULL, "ana"],
    ["api", PULL, "ana"],
    ["argocd-extra/shop", MERGE, "bo"],
  ] as const) {
    await stores.locks.acquire(
      { application: applicationName(application), holder, user, planRevision: HEAD, sourceFile: undefined },
      clock.now(),
    );
  }
  await stores.deployments.save({
    application: applicationName("web"),
    change: PULL,
    revision: EARLIER,
    outcome: "succeeded",
    pins: [],
    specBefore: { destination: {}, project: "default" },
    specWritten: undefined,
    approvers: ["bo"],
    user: "ana",
    runId: "run-0",
    timestamp: at,
  });
  const common = { at, delivery: "d-1", change: PULL, head: HEAD, reason: undefined };
  const ana = { host: "hosta", id: "11", login: "ana" } as const;
  await stores.audit.record({
    ...common,
    runId: "run-a",
    who: "svc",
    action: "planned",
    command: "plan",
    applications: [{ application: applicationName("web"), outcome: "changed", detail: undefined }],
  });
  await stores.audit.record({
    ...common,
    runId: "run-b",
    who: ana,
    action: "synced",
    command: "sync",
    applications: [
      { application: applicationName("web"), outcome: "succeeded", detail: undefined },
      { application: applicationName("docs"), outcome: "succeeded", detail: undefined },
    ],
  });
  await stores.audit.record({
    ...common,
    runId: "run-c",
    who: ana,
    action: "refused",
    command: "sync",
    applications: [{ application: applicationName("api"), outcome: "refused", detail: "the plan is stale" }],
    reason: "stale",
  });
}
