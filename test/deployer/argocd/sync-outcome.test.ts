import { expect, test } from "@jest/globals";
import type { LiveApplication } from "../../../src/core/model/application.js";
import type { Json, JsonObject } from "../../../src/core/model/json.js";
import type { SyncRequest } from "../../../src/core/ports/deployer.js";
import type { Recorded } from "./fixture.js";
import { ofRun, recorded, refreshed, waiting } from "./recorded-sync.js";
import { argocd, withArgoCd } from "./scripted-argocd.js";
import { live, MULTI_SPEC, OTHER_SHA, SHA, syncRequest, underTest } from "./under-test.js";

withArgoCd();

const PATH = "/api/v1/applications/plain";
const MULTI = live({ spec: recorded("multi").done.spec as LiveApplication["spec"] });
const post = () => argocd.post(`${PATH}/sync`).reply(200, {});
const poll = (answer: object) => argocd.get(`${PATH}?project=default`).reply(200, answer);

async function outcomeOf(last: Recorded, request: SyncRequest = syncRequest()) {
  post();
  poll(last);
  return underTest().deployer.sync(request);
}

test("waiting for a retry is not the end, although a finish time is there", async () => {
  post();
  poll(ofRun(waiting));
  poll(ofRun(recorded("missingNamespace").done));
  const outcome = await underTest().deployer.sync(syncRequest());
  expect(outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("does-not-exist") });
  expect(outcome.kind === "failed" && outcome.resources[0]).toMatchObject({ status: "SyncFailed" });
});

test("a commit that cannot be fetched", async () => {
  expect(await outcomeOf(ofRun(recorded("unknownCommit").done))).toEqual({
    kind: "failed",
    message: expect.stringMatching(/^ComparisonError: Failed to load target state: .*not our ref f{40}$/),
    resources: [],
  });
});

test("a dry run", async () => {
  const done = ofRun(recorded("dryRun").done);
  const outcome = await outcomeOf(done, syncRequest({ dryRun: true, at: [{ position: 1, revision: OTHER_SHA }] }));
  expect(outcome).toMatchObject({ kind: "succeeded", pruneSkipped: 0 });
});

test("all sources of a multi-source application are verified", async () => {
  const done = ofRun(recorded("multi").done);
  const at = (last: typeof SHA) => [
    { position: 1, revision: SHA },
    { position: 3, revision: last },
  ];
  expect((await outcomeOf(done, syncRequest({ application: MULTI, at: at(SHA) }))).kind).toBe("succeeded");
  const other = await outcomeOf(done, syncRequest({ application: MULTI, at: at(OTHER_SHA) }));
  expect(other).toMatchObject({
    kind: "unknown",
    message: expect.stringContaining(`instead of ${OTHER_SHA}`),
  });
});

test("a success without the revision of a source that nothing pins is none", async () => {
  const done = ofRun(recorded("multi").done);
  const { sources } = done.status.operationState?.syncResult as { sources: { targetRevision?: string }[] };
  delete sources[1]?.targetRevision;
  const at = [1, 3].map((position) => ({ position, revision: SHA }));
  const outcome = await outcomeOf(done, syncRequest({ application: MULTI, at }));
  expect(outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("not from the sources") });
});

test("a success for another revision is none", async () => {
  const drifted = ofRun(refreshed);
  const state = drifted.status.operationState ?? {};
  state.phase = "Succeeded";
  expect(await outcomeOf(drifted)).toMatchObject({
    kind: "unknown",
    message: expect.stringContaining(`instead of ${SHA}`),
  });
});

test.each<[string, Partial<LiveApplication>, string, number]>([
  ["a path", { spec: { source: { repoURL: "https://git.example.com/acme/deploy.git", path: "other" } } }, "plain", 1],
  ["several sources", { spec: MULTI_SPEC }, "multi", 3],
])("a success from %s that was not asked for is none", async (_title, changes, name, position) => {
  const at = [{ position, revision: SHA }];
  const outcome = await outcomeOf(ofRun(recorded(name).done), syncRequest({ application: live(changes), at }));
  expect(outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("not from the sources") });
});

const SOURCE = recorded("plain").done.spec.source as Readonly<Record<string, Json>>;
const OPTIONS: Readonly<Record<string, Json>> = {
  helm: {
    parameters: [{ name: "tag", value: "1" }],
    valuesObject: { replicas: 1, extra: null, nested: [{ probe: null }, null] },
    values: "a: b\n",
  },
  kustomize: {
    images: ["web:1"],
    commonLabels: { team: "shop" },
    namespace: "shop",
    patches: [{ patch: "[]", target: { kind: "Deployment", name: "web" } }],
  },
};
const kustomizeWith = (more: object) => ({ ...OPTIONS, kustomize: { ...(OPTIONS.kustomize as object), ...more } });

test.each<[string, object, string]>([
  ["the same options", OPTIONS, "succeeded"],
  [
    "values without the null that a merge patch does not store",
    { ...OPTIONS, helm: { ...(OPTIONS.helm as object), valuesObject: { replicas: 1, nested: [{}, null] } } },
    "succeeded",
  ],
  ["other parameters of Helm", { ...OPTIONS, helm: { parameters: [{ name: "tag", value: "2" }] } }, "failed"],
  ["more values", { ...OPTIONS, helm: { ...(OPTIONS.helm as object), valuesObject: { replicas: 9 } } }, "failed"],
  ["fewer labels", kustomizeWith({ commonLabels: {} }), "failed"],
  ["other images of Kustomize", kustomizeWith({ images: ["evil:1"] }), "failed"],
  ["no namespace of Kustomize", kustomizeWith({ namespace: undefined }), "failed"],
  ["a patch of more objects", kustomizeWith({ patches: [{ patch: "[]", target: { kind: "Deployment" } }] }), "failed"],
  ["no options", {}, "failed"],
  ["options that were not planned", { ...OPTIONS, directory: { jsonnet: { libs: ["evil"] } } }, "failed"],
])("a success with %s: it counts only with what was planned", async (_title, options, kind) => {
  const done = ofRun(recorded("plain").done);
  const result = done.status.operationState?.syncResult as { source: object };
  result.source = { ...SOURCE, ...options };
  const helm = { ...(OPTIONS.helm as JsonObject), namespace: "unknown to old ones" };
  const source = { ...SOURCE, ...OPTIONS, helm, unknownToArgoCd: true };
  const request = syncRequest({ application: live({ spec: { ...live().spec, source } }) });
  expect(await outcomeOf(done, request)).toMatchObject({ kind });
  poll(done);
  // What was read later may have other options by then.
  expect(await underTest().deployer.findOutcome({ ...request, readLater: true })).toMatchObject({ kind: "succeeded" });
});

test("a success without a result is none; a target sync needs no revision", async () => {
  const done = ofRun(recorded("plain").done);
  done.status.operationState = { ...done.status.operationState, syncResult: null };
  expect(await outcomeOf(done)).toMatchObject({
    kind: "unknown",
    message: expect.stringContaining("no known commit"),
  });
  expect(await outcomeOf(done, syncRequest({ at: "target" }))).toMatchObject({ kind: "succeeded", resources: [] });
});

test.each([
  ["is there", recorded("plain").recorded],
  ["was the last one", recorded("plain").done],
])("another operation that %s leaves the outcome unknown", async (_title, application) => {
  expect(await outcomeOf(ofRun(application, "somebody-else"))).toMatchObject({
    kind: "unknown",
    message: expect.stringContaining("another operation"),
  });
});

test("what was deployed last is told with an unknown outcome", async () => {
  const messageWith = async (history: object[] | null) => {
    const last = ofRun(recorded("plain").done, "somebody-else");
    last.status.history = history;
    return (await outcomeOf(last)).message;
  };
  expect(await messageWith(null)).toContain("its history is empty");
  expect(await messageWith([{ revisions: [SHA, "4.2.1"] }])).toContain(`${SHA}, 4.2.1 at an unknown time`);
  const recordedHistory = await outcomeOf(ofRun(recorded("plain").done, "somebody-else"));
  expect(recordedHistory.message).toContain(`its history ends with ${SHA} at 2026-11-21T08:00:49Z`);
});

test("progress is told after each poll: what was done of what Argo CD manages, never that of another operation", async () => {
  const managed = ["web", "api", "db"].map((name) => ({ kind: "ConfigMap", name, status: "OutOfSync" }));
  const begun = ofRun(waiting);
  begun.status.resources = managed;
  const before = ofRun(recorded("plain").recorded);
  before.status.resources = managed;
  before.status.operationState = {
    ...ofRun(recorded("plain").done, "somebody-else").status.operationState,
    message: "not ours",
  };
  post();
  poll(before);
  poll(begun);
  poll(ofRun(recorded("plain").done));
  const told: object[] = [];
  await underTest().deployer.sync(syncRequest({ onProgress: (progress) => told.push(progress) }));
  expect(told).toEqual([
    { done: 0, total: 3, message: "waiting for Argo CD to start" },
    { done: 2, total: 3, message: expect.stringContaining("Retrying attempt #1") },
  ]);
});

test("a success names what is not healthy yet, with Argo CD's reason", async () => {
  const done = ofRun(recorded("plain").done);
  done.status.health = { status: "Progressing" };
  const deployment = { group: "apps", kind: "Deployment", namespace: "guestbook", name: "web" };
  done.status.resources = [
    { ...deployment, health: { status: "Progressing", message: "Waiting for rollout to finish" } },
    { kind: "Service", namespace: "guestbook", name: "web", health: { status: "Healthy" } },
    { kind: "ConfigMap", namespace: "guestbook", name: "web" },
    { kind: "PersistentVolumeClaim", namespace: "guestbook", name: "data", health: { status: "Missing" } },
  ];
  expect(await outcomeOf(done)).toMatchObject({
    kind: "succeeded",
    unhealthy: [
      { title: "apps/Deployment guestbook/web", status: "Progressing", message: "Waiting for rollout to finish" },
      { title: "PersistentVolumeClaim guestbook/data", status: "Missing", message: "" },
    ],
  });
});

// Seen with Argo CD 3.2.6 after a sync with --prune.
test("a success of a healthy application does not name the child that it has just deleted", async () => {
  const done = ofRun(recorded("plain").done);
  const child = { group: "argoproj.io", kind: "Application", namespace: "argocd", name: "web" };
  done.status.health = { status: "Healthy" };
  done.status.resources = [{ ...child, health: { status: "Missing" } }];
  expect(await outcomeOf(done)).toMatchObject({ kind: "succeeded", health: "Healthy", unhealthy: [] });
});
