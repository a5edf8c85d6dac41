import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import { fixture } from "./fixture.js";
import { argocd, settings, withArgoCd } from "./scripted-argocd.js";
import { failureOf, live, underTest } from "./under-test.js";

withArgoCd();

const PLAIN = "/api/v1/applications/plain";
const CLUSTER = "https://kubernetes.default.svc";

function clusters(answer: object) {
  return argocd.get("/api/v1/clusters").optionally().reply(200, answer);
}

function refresh(path = PLAIN, query: Record<string, string> = { project: "default" }) {
  settings();
  return argocd.get(path).query({ ...query, refresh: "normal" });
}
function managed(answer: unknown, path = PLAIN, query: Record<string, string> = { project: "default" }) {
  clusters({ items: [] });
  return argocd
    .get(`${path}/managed-resources`)
    .query(query)
    .reply(200, answer as object);
}

test("Argo CD compares anew, and then tells what the cluster has", async () => {
  refresh().reply(200, {});
  managed(fixture("managed-resources"));
  const { resources, stale } = await underTest().deployer.liveResources(live());
  expect(stale).toBeUndefined();
  expect(resources).toHaveLength(1);
  expect(resources[0]).toMatchObject({
    group: "",
    kind: "Secret",
    namespace: "guestbook",
    name: "plain-secret",
    hook: false,
    live: { kind: "Secret", data: { password: "++++++++++++", user: "++++++++" } },
    lastApplied: { kind: "Secret", data: { password: "++++++++++++", user: "++++++++" } },
  });
});

test.each([
  ["by its address", { items: [{ server: CLUSTER, name: "x", info: { serverVersion: "v1.35.1" } }] }, "v1.35.1"],
  ["by the member of older servers", { items: [{ server: CLUSTER, serverVersion: "1.28" }] }, "1.28"],
  ["not by that of another cluster", { items: [{ server: "https://other", serverVersion: "1.28" }] }, undefined],
  ["not where the token may see none", { items: [] }, undefined],
  ["not where the answer is another one", { items: "none" }, undefined],
])("the version of Kubernetes is told %s, and asked for once", async (_, answer, version) => {
  refresh().twice().reply(200, {});
  argocd.get(`${PLAIN}/managed-resources`).query({ project: "default" }).twice().reply(200, {});
  argocd.get("/api/v1/clusters").reply(200, answer);
  const { deployer } = underTest();
  const told = [await deployer.liveResources(live()), await deployer.liveResources(live())];
  expect(told.map(({ kubernetes }) => kubernetes)).toEqual([version, version]);
});

test("the version of Kubernetes is asked for again after Argo CD was unavailable", async () => {
  refresh().twice().reply(200, {});
  argocd.get(`${PLAIN}/managed-resources`).query({ project: "default" }).twice().reply(200, {});
  argocd.get("/api/v1/clusters").twice().reply(503, { code: 14, message: "unavailable" });
  argocd.get("/api/v1/clusters").reply(503, { code: 14, message: "unavailable" });
  argocd.get("/api/v1/clusters").reply(200, { items: [{ server: CLUSTER, serverVersion: "1.28" }] });
  const { deployer } = underTest();
  const told = [await deployer.liveResources(live()), await deployer.liveResources(live())];
  expect(told.map(({ kubernetes }) => kubernetes)).toEqual([undefined, "1.28"]);
});

test("an application outside of Argo CD's own namespace is asked for by both", async () => {
  const path = "/api/v1/applications/outer";
  const query = { project: "apps", appNamespace: "team-a" };
  refresh(path, query).reply(200, {});
  managed({}, path, query);
  const outer = { name: applicationName("team-a/outer"), resourceName: "outer", namespace: "team-a", project: "apps" };
  expect(await underTest().deployer.liveResources(live(outer))).toEqual({ resources: [], stale: undefined });
});

test("what is not in the cluster has no live object, and without the normalised one the plain one counts", async () => {
  refresh().reply(200, {});
  const config = '{"kind":"ConfigMap"}';
  managed({
    items: [
      {
        group: "apps",
        kind: "Deployment",
        name: "new",
        liveState: "null",
        normalizedLiveState: "null",
        targetState: "{}",
      },
      { kind: "ConfigMap", name: "old", namespace: "a", liveState: config },
      { kind: "Job", name: "hook", liveState: config, normalizedLiveState: '{"kind":"Job"}', hook: true },
    ],
  });
  const { resources } = await underTest().deployer.liveResources(live());
  expect(resources).toEqual([
    {
      group: "apps",
      kind: "Deployment",
      namespace: "",
      name: "new",
      live: undefined,
      lastApplied: undefined,
      hook: false,
      copied: false,
    },
    {
      group: "",
      kind: "ConfigMap",
      namespace: "a",
      name: "old",
      live: { kind: "ConfigMap" },
      whole: { kind: "ConfigMap" },
      lastApplied: undefined,
      hook: false,
      copied: false,
    },
    {
      group: "",
      kind: "Job",
      namespace: "",
      name: "hook",
      live: { kind: "Job" },
      whole: { kind: "ConfigMap" },
      lastApplied: undefined,
      hook: true,
      copied: false,
    },
  ]);
});

test.each([
  ["its own id", "plain:/Secret:a/copy", "annotation", false],
  ["the id of the object that it was copied from", "plain:/Secret:a/original", "annotation", true],
  ["the id of one in another namespace", "plain:/Secret:b/copy", "annotation+label", true],
  ["the id of one of another kind", "plain:example.com/Secret:a/copy", "annotation", true],
  ["what is no id", "plain:/Secret:a", "annotation", false],
  ["another id, where labels track", "plain:/Secret:a/original", "label", false],
  ["no id", undefined, "annotation", false],
])("an object with %s", async (_, id, trackingMethod, copied) => {
  settings({ trackingMethod });
  refresh().reply(200, {});
  const metadata = { annotations: id === undefined ? {} : { "argocd.argoproj.io/tracking-id": id } };
  const liveState = JSON.stringify({ kind: "Secret", metadata });
  managed({ items: [{ kind: "Secret", name: "copy", namespace: "a", liveState }] });
  const { resources } = await underTest().deployer.liveResources(live());
  expect(resources).toMatchObject([{ name: "copy", copied }]);
});

test("a cluster-scoped object is tracked with its application's namespace", async () => {
  settings({ trackingMethod: "annotation" });
  refresh().reply(200, {});
  const id = "plain:rbac.authorization.k8s.io/ClusterRole:guestbook/system:web";
  const liveState = JSON.stringify({ metadata: { annotations: { "argocd.argoproj.io/tracking-id": id } } });
  managed({ items: [{ group: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:web", liveState }] });
  const { resources } = await underTest().deployer.liveResources(live());
  expect(resources).toMatchObject([{ name: "system:web", copied: false }]);
});

test("when Argo CD does not compare anew, its last comparison is used and called old", async () => {
  refresh().reply(403, { code: 7, message: "permission denied", error: "permission denied" });
  managed(fixture("managed-resources"));
  const { deployer, lines } = underTest();
  expect(await deployer.liveResources(live())).toMatchObject({
    resources: [{ name: "plain-secret" }],
    stale: "Argo CD did not refresh the application, so the live state may be out of date",
  });
  expect(JSON.stringify(lines)).toContain("Argo CD did not refresh an application");
});

test.each([
  [
    "manages an object",
    200,
    { status: { resources: [{ kind: "Service", name: "web" }] } },
    "returned none of the objects",
  ],
  ["manages hooks alone", 200, { status: { resources: [{ kind: "Job", name: "init", hook: true }] } }, undefined],
  ["was not compared anew", 500, { code: 2, message: "no answer" }, "returned none of the objects"],
])("no objects at all, where the application %s", async (_, status, refreshed, problem) => {
  refresh().reply(status, refreshed);
  managed({});
  const read = underTest().deployer.liveResources(live());
  await (problem === undefined
    ? expect(read).resolves.toMatchObject({ resources: [] })
    : expect(read).rejects.toThrow(problem));
});

test("an abort is no stale state", async () => {
  const stop = new AbortController();
  const reason = new Error("pushed");
  stop.abort(reason);
  await expect(underTest().deployer.liveResources(live(), stop.signal)).rejects.toBe(reason);
});

describe("what cannot be read is no empty cluster", () => {
  test.each<[string, unknown, string]>([
    [
      "not JSON",
      { items: [{ liveState: "{", normalizedLiveState: "{" }] },
      "Argo CD returned a live object that is not JSON",
    ],
    [
      "a list",
      { items: [{ liveState: "[]", normalizedLiveState: "[]" }] },
      "Argo CD returned a live object that is not an object",
    ],
    [
      "nested too deep",
      { items: [{ liveState: `${'{"a":'.repeat(1000)}1${"}".repeat(1000)}` }] },
      "Argo CD returned a live object that is nested deeper than 200 levels",
    ],
    [
      "another answer",
      { items: "x" },
      "Argo CD's answer about the live resources of plain is not as expected (items): check argocd.server_url",
    ],
  ])("%s", async (_, answer, message) => {
    refresh().reply(200, {});
    managed(answer);
    expect((await failureOf(underTest().deployer.liveResources(live()))).message).toBe(message);
  });

  test("an error", async () => {
    refresh().reply(200, {});
    const text = "error getting cached app managed resources: ComparisonError: boom";
    argocd.get(`${PLAIN}/managed-resources`).query(true).reply(500, { code: 2, message: text, error: text });
    expect((await failureOf(underTest().deployer.liveResources(live()))).message).toBe(text);
  });
});

test("an annotation that cannot be read is as good as none", async () => {
  refresh().reply(200, {});
  const note = (text: string) =>
    JSON.stringify({ metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": text } } });
  managed({
    items: [
      { kind: "A", liveState: note("{") },
      { kind: "B", liveState: note("[]") },
      { kind: "C", liveState: note('{"a":1}') },
    ],
  });
  const { resources } = await underTest().deployer.liveResources(live());
  expect(resources.map(({ lastApplied }) => lastApplied)).toEqual([undefined, undefined, { a: 1 }]);
});
