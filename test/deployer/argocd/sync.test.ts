import { expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import type { SyncRequest } from "../../../src/core/ports/deployer.js";
import { ofRun, recorded, waiting } from "./recorded-sync.js";
import { argocd, withArgoCd } from "./scripted-argocd.js";
import { failureOf, live, MULTI_SPEC, OTHER_SHA, SHA, syncRequest, underTest } from "./under-test.js";

withArgoCd();

const INFOS = [
  { name: "svc-run", value: "run-1" },
  { name: "svc-change-request", value: "hosta/acme/deploy/7" },
];
const COMMON = { dryRun: false, prune: false, infos: INFOS, retryStrategy: { limit: 0 } };
const PATH = "/api/v1/applications/plain";

function post(status = 200, answer: object = {}, body?: object) {
  return argocd.post(`${PATH}/sync`, body).matchHeader("content-type", "application/json").reply(status, answer);
}
const poll = (answer: object, status = 200) => argocd.get(`${PATH}?project=default`).reply(status, answer);

test("a recorded sync from its start to its end", async () => {
  const plain = recorded("plain");
  post(200, plain.started, { ...COMMON, project: "default", revision: SHA });
  poll(ofRun(plain.recorded));
  poll(ofRun(plain.done));
  const { deployer, clock } = underTest({ pollIntervalMs: 2_000 });
  expect(await deployer.sync(syncRequest())).toEqual({
    kind: "succeeded",
    message: "successfully synced (all tasks run)",
    pruneSkipped: 1,
    unhealthy: [],
    health: "Healthy",
    revisions: [SHA],
    resources: expect.arrayContaining([
      { title: "ConfigMap guestbook/old", status: "PruneSkipped", message: "ignored (requires pruning)" },
    ]),
  });
  expect(clock.slept).toEqual([2_000, 2_500]);
});

const MULTI = live({ spec: MULTI_SPEC });
const TWO = [
  { position: 2, revision: SHA },
  { position: 3, revision: OTHER_SHA },
];

test.each<[string, Partial<SyncRequest>, object]>([
  ["the target revision", { at: "target" }, { project: "default" }],
  ["the target of several sources", { at: "target", application: MULTI }, { project: "default" }],
  [
    "several sources",
    { at: TWO, application: MULTI },
    { project: "default", sourcePositions: [2, 3], revisions: [SHA, OTHER_SHA] },
  ],
  [
    "a list of one source",
    { application: live({ spec: { sources: [{ path: "a" }] } }) },
    { project: "default", sourcePositions: [1], revisions: [SHA] },
  ],
  [
    "a dry run that prunes",
    { dryRun: true, prune: true },
    { project: "default", revision: SHA, dryRun: true, prune: true },
  ],
  [
    "a spec that moves to another project",
    { application: live({ spec: { project: "fin", source: {} } }) },
    { project: "fin", revision: SHA },
  ],
])("the body for %s", async (_title, changes, members) => {
  post(403, { code: 7, message: "cannot sync: blocked by sync window" }, { ...COMMON, ...members });
  expect((await failureOf(underTest().deployer.sync(syncRequest(changes)))).message).toMatch(/sync window/);
});

test("another namespace stands in the body and in the polls", async () => {
  const outer = live({ namespace: "team-a", resourceName: "outer", name: applicationName("team-a/outer") });
  argocd
    .post("/api/v1/applications/outer/sync", { ...COMMON, project: "default", appNamespace: "team-a", revision: SHA })
    .reply(200, {});
  argocd
    .get("/api/v1/applications/outer?project=default&appNamespace=team-a")
    .reply(200, ofRun(recorded("plain").done));
  expect((await underTest().deployer.sync(syncRequest({ application: outer }))).kind).toBe("succeeded");
});

test.each<[string, Partial<SyncRequest>]>([
  ["no pins", { at: [] }],
  ["a second pin on a single source", { at: TWO }],
  ["a pin behind the last source", { at: [{ position: 4, revision: SHA }], application: MULTI }],
  [
    "the same source twice",
    {
      at: [
        { position: 1, revision: SHA },
        { position: 1, revision: SHA },
      ],
    },
  ],
  ["a hydrated application", { application: live({ spec: { sourceHydrator: { drySource: {} } } }) }],
])("%s never reaches Argo CD, which would deploy something else", async (_title, changes) => {
  expect((await failureOf(underTest().deployer.sync(syncRequest(changes)))).reason).toBe("refused");
});

test.each([
  [
    403,
    { code: 7, message: "permission denied: applications, sync, fin/billing, sub: svc" },
    "forbidden",
    "permission denied: applications, sync",
  ],
  [403, { code: 7, message: "cannot sync: blocked by sync window" }, "refused", "cannot sync: blocked by sync window"],
  [
    400,
    { code: 9, message: `Cannot sync to ${SHA}: auto-sync currently set to main` },
    "refused",
    `Cannot sync to ${SHA}: auto-sync currently set to main`,
  ],
  [404, { code: 5, message: "not found" }, "not-found", "not found"],
])("HTTP %d %j refuses the start", async (status, answer, reason, message) => {
  post(status, answer);
  expect(await failureOf(underTest().deployer.sync(syncRequest()))).toMatchObject({ reason, message });
});

test("a sync that does not end in time goes on", async () => {
  post();
  argocd.get(`${PATH}?project=default`).persist().reply(200, ofRun(waiting));
  const { deployer, clock } = underTest({ syncTimeoutMs: 60_000, pollIntervalMs: 2_000 });
  const outcome = await deployer.sync(syncRequest());
  expect(outcome).toMatchObject({ kind: "running", message: expect.stringContaining("Retrying attempt #1") });
  expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBe(60_000);
  expect(Math.max(...clock.slept)).toBeLessThanOrEqual(8_000);
});

test("Argo CD may be away for a while, and an operation may not show yet", async () => {
  post();
  poll({ code: 2, message: "boom" }, 500);
  poll({ metadata: { name: "plain" }, spec: {} });
  poll(ofRun(recorded("plain").done));
  expect((await underTest().deployer.sync(syncRequest())).kind).toBe("succeeded");
});

test.each([
  [404, { code: 5, message: "not found" }],
  [401, { code: 16, message: "invalid session: token expired" }],
])("HTTP %d while following leaves the outcome unknown", async (status, answer) => {
  post();
  poll(answer, status);
  const outcome = await underTest().deployer.sync(syncRequest());
  expect(outcome).toMatchObject({ kind: "unknown", message: expect.stringContaining("can no longer follow the sync") });
});

const DENIED = { code: 7, message: "permission denied" };

test("Argo CD may refuse to show the application while its Kubernetes is away", async () => {
  post();
  poll(DENIED, 403);
  poll(DENIED, 403);
  poll(ofRun(recorded("plain").done));
  const { deployer, clock } = underTest();
  expect((await deployer.sync(syncRequest())).kind).toBe("succeeded");
  expect(clock.slept).toEqual([2_000, 1_000, 2_000]);
});

test("a refusal that lasts for a minute leaves the outcome unknown", async () => {
  post();
  argocd.get(`${PATH}?project=default`).persist().reply(403, DENIED);
  const { deployer, clock } = underTest();
  expect(await deployer.sync(syncRequest())).toEqual({
    kind: "unknown",
    message: "svc can no longer follow the sync: permission denied: applications, get",
  });
  expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBe(62_000);
});

test("a start without an answer is found again by its correlation id, and never sent twice", async () => {
  post(504, { code: 4, message: "deadline" });
  poll({ code: 2, message: "boom" }, 500);
  poll(ofRun(recorded("plain").recorded));
  poll(ofRun(recorded("plain").done));
  const { deployer, lines } = underTest();
  expect((await deployer.sync(syncRequest())).kind).toBe("succeeded");
  expect(lines.filter((line) => line.level === "warn")).toHaveLength(1);
});

const ETCD = { code: 2, message: 'error updating application "plain": etcdserver: request timed out' };

test("an operation that Argo CD recorded although it reports an error of its own is followed", async () => {
  post(500, ETCD);
  poll(ofRun(recorded("plain").recorded));
  poll(ofRun(recorded("plain").done));
  expect((await underTest().deployer.sync(syncRequest())).kind).toBe("succeeded");
});

const BUSY = { code: 9, message: "another operation is already in progress" };

test("somebody else's operation in progress refuses the start", async () => {
  post(400, BUSY);
  poll(ofRun(recorded("plain").recorded, "somebody-else"));
  const failure = await failureOf(underTest().deployer.sync(syncRequest()));
  expect(failure).toMatchObject({ reason: "busy", message: BUSY.message });
});

test("an operation in progress that an earlier attempt of the same run started is followed", async () => {
  post(400, BUSY);
  poll(ofRun(recorded("plain").recorded));
  poll(ofRun(recorded("plain").done));
  expect((await underTest().deployer.sync(syncRequest())).kind).toBe("succeeded");
});

test("an error of Argo CD's own after which no operation is to be seen refuses the start", async () => {
  post(500, ETCD);
  for (let looks = 0; looks < 5; looks += 1) poll(ofRun(recorded("plain").done, "an-earlier-run"));
  const failure = await failureOf(underTest().deployer.sync(syncRequest()));
  expect(failure).toMatchObject({ reason: "failed", message: ETCD.message });
});

test("half an answer to the start is no failure of the sync", async () => {
  argocd.post(`${PATH}/sync`).reply(200, '{"metadata":');
  poll(ofRun(recorded("plain").done));
  poll(ofRun(recorded("plain").done));
  expect((await underTest().deployer.sync(syncRequest())).kind).toBe("succeeded");
});

test("a start that is nowhere to be seen failed", async () => {
  post(502, {});
  for (let looks = 0; looks < 5; looks += 1) poll(ofRun(recorded("plain").done, "an-earlier-run"));
  const failure = await failureOf(underTest().deployer.sync(syncRequest()));
  expect(failure).toMatchObject({ name: "DeployerFailure", reason: "unreachable" });
});

test.each([
  ["the look fails too", { code: 2, message: "boom" }, 500],
  ["another operation runs", ofRun(recorded("plain").recorded, "somebody-else"), 200],
])("when %s, nobody knows whether it started", async (_title, answer, status) => {
  post(502, {});
  for (let looks = 0; looks < 5; looks += 1) poll(answer, status);
  expect(await underTest().deployer.sync(syncRequest())).toMatchObject({
    kind: "unknown",
    message: expect.stringContaining("could not find out whether the sync was started"),
  });
});
