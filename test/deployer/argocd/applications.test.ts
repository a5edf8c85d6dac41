import { expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import { isNestedDeeper } from "../../../src/core/model/json.js";
import { fixture, recordedApplication } from "./fixture.js";
import { argocd, settings, withArgoCd } from "./scripted-argocd.js";
import { failureOf, underTest } from "./under-test.js";

withArgoCd();

const FIELDS =
  "items.metadata.name,items.metadata.namespace,items.metadata.labels,items.metadata.annotations," +
  "items.metadata.deletionTimestamp,items.spec,items.status.sync.status,items.status.health";
const DENIED = { code: 7, message: "permission denied", error: "permission denied" };

function list(answer: unknown) {
  return argocd
    .get("/api/v1/applications")
    .query({ fields: FIELDS })
    .reply(200, answer as object);
}

test("the recorded list, with its null members, is read with few fields", async () => {
  settings();
  list(fixture("list"));
  const { deployer } = underTest();
  const found = await deployer.listApplications();
  expect(found.map((one) => one.name)).toEqual([
    "auto",
    "hooks",
    "kust",
    "multi",
    "one",
    "team-a/outer",
    "plain",
    "web",
  ]);
  expect(found[0]).toMatchObject({
    resourceName: "auto",
    namespace: undefined,
    project: "default",
    labels: {},
    annotations: {},
  });
  expect(found.find((one) => one.name === "team-a/outer")?.namespace).toBe("team-a");
});

test("the list says how healthy each is and whether it is in sync; what cannot be read is unknown and hides nothing", async () => {
  settings();
  const item = (name: string, status: unknown) => ({ metadata: { name }, spec: {}, status });
  const standing = (health: unknown, sync: unknown) => ({ health: { status: health }, sync: { status: sync } });
  const items = [
    item("web", standing("Degraded", "OutOfSync")),
    item("new", { health: {}, sync: null }),
    item("odd", standing(7, ["Synced"])),
    item("none", null),
    item("text", "Healthy"),
  ];
  list({ items });
  const found = await underTest().deployer.listApplications();
  const unknown = { health: "", sync: "" };
  expect(found.map(({ name, listed }) => [name, listed])).toEqual([
    ["web", { health: "Degraded", sync: "OutOfSync" }],
    ["new", unknown],
    ["odd", unknown],
    ["none", unknown],
    ["text", unknown],
  ]);
});

test("a definition that is nested too deep is listed as far as it can be read, and read whole only with a failure", async () => {
  settings();
  const valuesObject = JSON.parse(`${'{"a":'.repeat(1000)}1${"}".repeat(1000)}`) as object;
  const source = { repoURL: "https://git.example.com/acme/deploy", path: "apps/web", helm: { valuesObject } };
  const destination = { namespace: "shop" };
  const item = { metadata: { name: "deep" }, spec: { source, destination, project: "team" } };
  list({ items: [item, { metadata: { name: "web" }, spec: {} }] });
  argocd.get("/api/v1/applications/deep").query({ project: "team" }).reply(200, item);
  const { deployer } = underTest();
  const found = await deployer.listApplications();
  expect(found.map(({ name }) => name)).toEqual(["deep", "web"]);
  expect(found[0]?.spec).toMatchObject({ source: { path: "apps/web", repoURL: source.repoURL }, destination });
  expect(isNestedDeeper(201, found[0]?.spec)).toBe(false);
  const failure = await failureOf(deployer.findApplication(applicationName("deep")));
  expect(failure.message).toContain("the application deep is not as expected (spec)");
});

test.each([
  ["null", fixture("list-nothing-visible")],
  ["missing", {}],
])("items that are %s are an empty list", async (_title, answer) => {
  settings();
  list(answer);
  expect(await underTest().deployer.listApplications()).toEqual([]);
});

test("the list is asked for once in ten seconds, by however many, and again after a failure", async () => {
  settings();
  const { deployer, clock } = underTest();
  argocd.get("/api/v1/applications").query(true).reply(500, { code: 2, message: "boom" });
  expect((await failureOf(deployer.listApplications())).message).toBe("boom");
  list(fixture("list"));
  await Promise.all([deployer.listApplications(), deployer.listApplications()]);
  clock.forward(9_999);
  await deployer.listApplications();
  list({ items: [] });
  clock.forward(1);
  expect(await deployer.listApplications()).toEqual([]);
});

test("the abort of one caller does not spoil the shared list", async () => {
  settings();
  list(fixture("list"));
  const { deployer } = underTest();
  const stop = new AbortController();
  const first = deployer.listApplications(stop.signal);
  const second = deployer.listApplications(new AbortController().signal);
  stop.abort(new Error("superseded"));
  await expect(first).rejects.toThrow("superseded");
  expect(await second).toHaveLength(8);
  await expect(deployer.listApplications(AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
});

test("our own temporary Applications are not listed; what only looks like one is", async () => {
  settings();
  const item = (name: string, labels: object) => ({ metadata: { name, labels }, spec: { project: "" } });
  const marked = { "svc.dev/temporary": "true" };
  list({ items: [item("svc-tmp-7-1c9e", marked), item("svc-tmp-real", {}), item("web", marked), { metadata: {} }] });
  const { deployer, lines } = underTest();
  expect((await deployer.listApplications()).map((one) => one.name)).toEqual(["svc-tmp-real", "web"]);
  expect(lines.filter((line) => line.level === "warn")).toHaveLength(1);
});

test("names follow Argo CD's own namespace", async () => {
  settings({ controllerNamespace: "gitops" });
  const name = await underTest().deployer.naming();
  expect([name(undefined, "a"), name("", "a"), name("gitops", "a"), name("argocd", "a")]).toEqual([
    "a",
    "a",
    "a",
    "argocd/a",
  ]);
});

test("a namespace that was told once is kept when Argo CD is away, or no longer tells it", async () => {
  const { deployer, clock } = underTest();
  argocd.get("/api/v1/settings").reply(200, { controllerNamespace: "gitops", appLabelKey: null });
  await deployer.naming();
  clock.forward(300_000);
  argocd.get("/api/v1/settings").reply(500, {});
  expect((await deployer.naming())("gitops", "a")).toBe("a");
  argocd.get("/api/v1/settings").reply(200, {});
  expect((await deployer.naming())("gitops", "a")).toBe("a");
});

test("without any answer, and without a namespace, which only a valid token is told, nothing has a name", async () => {
  argocd.get("/api/v1/settings").reply(500, { code: 2, message: "away" });
  const { deployer } = underTest();
  expect((await failureOf(deployer.naming())).message).toBe("away");
  argocd.get("/api/v1/settings").reply(200, { trackingMethod: "of the future" });
  expect(await failureOf(deployer.naming())).toMatchObject({ reason: "unauthenticated" });
  argocd.get("/api/v1/settings").reply(200, { trackingMethod: "of the future", controllerNamespace: "gitops" });
  expect((await deployer.naming())("gitops", "a")).toBe("a");
});

test("an application is read whole and fresh, under its project once that is known", async () => {
  settings();
  const { deployer } = underTest();
  argocd.get("/api/v1/applications/plain").reply(200, recordedApplication("plain"));
  const first = await deployer.findApplication(applicationName("plain"));
  expect(first).toMatchObject({
    name: "plain",
    project: "default",
    sourceTypes: ["Directory"],
    comparedRevisions: ["07e4369645ca62b9be151959580504ac34876bcd"],
    outdated: false,
    owningSet: undefined,
    parent: undefined,
    deleting: false,
  });
  argocd.get("/api/v1/applications/plain").query({ project: "default" }).reply(200, recordedApplication("plain"));
  expect((await deployer.findApplication(applicationName("plain")))?.name).toBe("plain");
});

test("an application in another namespace is asked for there", async () => {
  settings();
  argocd.get("/api/v1/applications/outer").query({ appNamespace: "team-a" }).reply(200, recordedApplication("outer"));
  const found = await underTest().deployer.findApplication(applicationName("team-a/outer"));
  expect(found).toMatchObject({ name: "team-a/outer", namespace: "team-a", resourceName: "outer" });
});

test("a refusal without a project means: not there, or not for this token, if it is not listed either", async () => {
  settings();
  argocd.get("/api/v1/applications/nope").reply(403, DENIED);
  list({ items: [] });
  expect(await underTest().deployer.findApplication(applicationName("nope"))).toBeUndefined();
});

test.each([
  ["before the first list", false],
  ["after it", true],
])("%s, what is listed and refused is not absent: Argo CD cannot read it from Kubernetes", async (_title, isKnown) => {
  settings();
  list(fixture("list"));
  const { deployer } = underTest();
  if (isKnown) await deployer.listApplications();
  argocd.get("/api/v1/applications/plain").query(true).persist().reply(403, DENIED);
  const failure = await failureOf(deployer.findApplication(applicationName("plain")));
  expect(failure).toMatchObject({ reason: "unreachable", message: expect.stringContaining("refuses to show it") });
});

test("an application that is gone is not found, although it was listed some seconds ago", async () => {
  settings();
  list(fixture("list"));
  const { deployer } = underTest();
  argocd.get("/api/v1/applications/plain").reply(403, DENIED);
  argocd.get("/api/v1/applications/plain?project=default").reply(404, { code: 5, message: "not found" });
  expect(await deployer.findApplication(applicationName("plain"))).toBeUndefined();
});

test("an application that moved to another project is still found", async () => {
  settings();
  list(fixture("list"));
  const { deployer } = underTest();
  await deployer.listApplications();
  argocd.get("/api/v1/applications/plain").query({ project: "default" }).reply(404, { code: 5, message: "not found" });
  const moved = recordedApplication("plain");
  moved.spec.project = "fin";
  argocd.get("/api/v1/applications/plain").query({}).reply(200, moved);
  expect((await deployer.findApplication(applicationName("plain")))?.project).toBe("fin");
});

test.each(["..", "Bad_Name", "a/../b", "team-a/", "/x", "x y", "a".repeat(254)])(
  "%s is no name to ask for",
  async (name) => {
    settings();
    expect(await underTest().deployer.findApplication(applicationName(name))).toBeUndefined();
  },
);

test("a temporary Application is none to plan for", async () => {
  settings();
  const answer = { metadata: { name: "svc-tmp-1-a", labels: { "svc.dev/temporary": "true" } }, spec: {} };
  argocd.get("/api/v1/applications/svc-tmp-1-a").reply(200, answer);
  expect(await underTest().deployer.findApplication(applicationName("svc-tmp-1-a"))).toBeUndefined();
});

test("another failure of the look is one", async () => {
  settings();
  argocd.get("/api/v1/applications/plain").reply(401, { code: 16, message: "invalid session: token expired" });
  expect((await failureOf(underTest().deployer.findApplication(applicationName("plain")))).reason).toBe(
    "unauthenticated",
  );
});

async function found(changes: { metadata?: object; status?: object; spec?: object }, told: object = {}) {
  settings(told);
  const base = recordedApplication("child");
  const answer = {
    metadata: { ...base.metadata, ...changes.metadata },
    spec: changes.spec ?? base.spec,
    status: { ...base.status, ...changes.status },
  };
  argocd.get("/api/v1/applications/child").reply(200, answer);
  return underTest().deployer.findApplication(applicationName("child"));
}

const LABEL = { labels: { "app.kubernetes.io/instance": "by-label" } };
const tracked = (instance: string, object = "argocd/child") => ({
  annotations: { "argocd.argoproj.io/tracking-id": `${instance}:argoproj.io/Application:${object}` },
});

test.each([
  ["the recorded child", "annotation", {}, "parent"],
  ["a parent in another namespace", "annotation", tracked("team-a_root"), "team-a/root"],
  ["a parent written with Argo CD's own namespace", "annotation+label", tracked("argocd_root"), "root"],
  ["a copied annotation", "annotation", tracked("parent", "argocd/other"), undefined],
  ["the chart's label", "annotation", { annotations: null, ...LABEL }, undefined],
  ["the label", "label", { ...tracked("parent"), ...LABEL }, "by-label"],
  ["an empty label", "label", { labels: { "app.kubernetes.io/instance": "" } }, undefined],
  ["an untold method and the annotation", "", { ...tracked("parent"), ...LABEL }, "parent"],
  ["an untold method and the label", "", { annotations: {}, ...LABEL }, "by-label"],
])("the parent by %s", async (_title, trackingMethod, metadata, parent) => {
  expect((await found({ metadata }, { trackingMethod }))?.parent).toBe(parent);
});

test("owner, deletion and sources of several kinds", async () => {
  sets("AllAtOnce");
  const owned = await found({
    metadata: {
      deletionTimestamp: "2026-06-01T00:00:00Z",
      ownerReferences: [
        { kind: "Job", name: "x" },
        { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "shops" },
      ],
    },
    spec: { sources: [{ chart: "a" }, { ref: "b" }, { path: "c" }] },
    status: { sourceTypes: ["Helm"], sync: { revisions: ["4.2.1", "x", "y"] } },
  });
  expect(owned).toMatchObject({
    owningSet: "shops",
    setStrategy: "other",
    deleting: true,
    sourceTypes: ["Helm", "", ""],
    comparedRevisions: ["4.2.1", "x", "y"],
  });
});

test.each([
  ["syncs in steps", "RollingSync", {}, "rolling"],
  ["has a strategy of another spelling", "rollingsync", {}, "other"],
  ["is in another namespace", "RollingSync", { namespace: "team-a" }, "unread"],
  ["is not shown", "RollingSync", { name: "others" }, "unread"],
])("the set of an application that %s", async (_title, strategy, metadata, setStrategy) => {
  sets(strategy, metadata);
  const ownerReferences = [{ apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "shops" }];
  expect(await found({ metadata: { ownerReferences } })).toMatchObject({ owningSet: "shops", setStrategy });
});

test("an application without a set costs no call for sets", async () => {
  expect((await found({}))?.setStrategy).toBeUndefined();
});

function sets(type: string, metadata: object = {}): void {
  const item = { metadata: { name: "shops", namespace: "argocd", ...metadata }, spec: { strategy: { type } } };
  argocd.get("/api/v1/applicationsets").reply(200, { items: [item] });
}

const SOURCES = [{ chart: "shop", targetRevision: "4.2.1" }, { ref: "values" }];

test.each([
  ["the same sources", { sources: SOURCES }, { source: { repoURL: "" }, sources: SOURCES }, false],
  [
    "another version",
    { sources: SOURCES },
    { sources: [{ ...SOURCES[0], targetRevision: "4.2.0" }, SOURCES[1]] },
    true,
  ],
  ["one source before", { sources: SOURCES }, { source: SOURCES[0] }, true],
  ["another path", { source: { path: "b" } }, { source: { path: "a" } }, true],
  ["what a hydrator made", { sourceHydrator: { drySource: { path: "a" } } }, { source: { path: "b" } }, false],
  ["nothing that is told", { source: { path: "b" } }, undefined, false],
])("an application that was compared with %s", async (_title, spec, comparedTo, outdated) => {
  expect(await found({ spec, status: { sync: { comparedTo } } })).toMatchObject({ outdated });
});

test("a hook's object, which no sync prunes, is not left over", async () => {
  const job = { group: "batch", kind: "Job", namespace: "n", requiresPruning: true };
  const resources = [
    { ...job, name: "migrate", hook: true },
    { ...job, name: "old", status: "OutOfSync" },
  ];
  expect(await found({ status: { resources } })).toMatchObject({ leftOver: ["batch/Job n/old"] });
});

test("an application that was never compared", async () => {
  const one = await found({ status: { sync: null, sourceType: null } });
  expect(one).toMatchObject({ sourceTypes: [""], comparedRevisions: [] });
  const several = await found({ spec: { sources: [{ path: "a" }] }, status: { sync: {}, sourceTypes: null } });
  expect(several).toMatchObject({ sourceTypes: [""], comparedRevisions: [] });
});
