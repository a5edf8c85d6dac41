import { expect, test } from "@jest/globals";
import { compareGenerated } from "../../../src/core/detect/scan/application-sets.js";
import type { ApplicationSet } from "../../../src/core/model/application.js";
import { fixture } from "./fixture.js";
import { argocd, settings, withArgoCd } from "./scripted-argocd.js";
import { CHANGE, failureOf, underTest } from "./under-test.js";

withArgoCd();

test("the check tells version and account", async () => {
  argocd.get("/api/version").reply(200, { Version: "v3.5.1+abc" });
  argocd.get("/api/v1/session/userinfo").reply(200, { loggedIn: true, username: "proj:win:r1", iss: "argocd" });
  expect(await underTest().deployer.check()).toEqual({ version: "v3.5.1+abc", account: "proj:win:r1" });
});

test.each([{}, { loggedIn: false }, { loggedIn: null }])(
  "a token that is not logged in is refused: %j",
  async (user) => {
    argocd.get("/api/version").reply(200, {});
    argocd.get("/api/v1/session/userinfo").reply(200, user);
    const failure = await failureOf(underTest().deployer.check());
    expect(failure).toMatchObject({
      reason: "unauthenticated",
      message: expect.stringContaining("argocd.token"),
    });
  },
);

const generated = fixture("generate") as Record<string, object>;
const SET: ApplicationSet = {
  name: "set1",
  namespace: undefined,
  resource: {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "ApplicationSet",
    metadata: { name: "set1" },
    spec: { generators: [] },
    status: { conditions: [] },
  },
};

function generate(status: number, answer: object | string) {
  settings();
  return argocd
    .post("/api/v1/applicationsets/generate", {
      applicationSet: { metadata: { name: "set1" }, spec: { generators: [] } },
    })
    .matchHeader("content-type", "application/json")
    .reply(status, answer);
}

test("a set is sent without its status, and its Applications come with the finalizers that it gives them", async () => {
  generate(200, generated.list ?? {});
  const found = await underTest().deployer.expandApplicationSet(SET, CHANGE);
  expect(found.map((one) => one.name)).toEqual(["s-plain", "s-kust"]);
  expect(found[0]).toEqual({
    name: "s-plain",
    resourceName: "s-plain",
    namespace: undefined,
    project: "default",
    labels: {},
    annotations: {},
    spec: expect.objectContaining({ project: "default" }),
    alsoGiven: { finalizers: ["resources-finalizer.argocd.argoproj.io"], operation: null },
  });
});

test("the operation that the template patch of a set gives to an application counts as a change of it", async () => {
  const metadata = { name: "a" };
  generate(200, { applications: [{ metadata, spec: {}, operation: { sync: { revision: "main" } } }] });
  generate(200, { applications: [{ metadata, spec: {} }] });
  const { deployer } = underTest();
  const head = await deployer.expandApplicationSet(SET, CHANGE);
  const base = await deployer.expandApplicationSet(SET, CHANGE);
  expect(compareGenerated(base, head).changed).toEqual(["a"]);
});

test.each([
  ["nothing", undefined, []],
  ["namespaced", undefined, ["s-plain"]],
  ["list", "team-a", ["team-a/s-plain", "team-a/s-kust"]],
])("the answer %s for a set in %s names %j", async (answer, namespace, names) => {
  generate(200, generated[answer] ?? {});
  const found = await underTest().deployer.expandApplicationSet({ ...SET, namespace }, CHANGE);
  expect(found.map((one) => one.name)).toEqual(names);
});

test("a problem is its first line, without the lines of the server's log", async () => {
  const recorded = fixture("errors") as { path: string; status: number; answer: { message: string } }[];
  const broken = recorded.find((one) => one.path.endsWith("generate") && one.answer.message.includes("\n"));
  generate(broken?.status ?? 0, broken?.answer ?? {});
  const failure = await failureOf(underTest().deployer.expandApplicationSet(SET, CHANGE));
  expect(failure).toMatchObject({ name: "DeployerFailure", reason: "ungenerated" });
  expect(failure.message).toMatch(/^(?!unable to generate).* map has no entry for key "env"$/);
});

test.each([
  [
    403,
    { code: 7, message: "permission denied: applicationsets, create, default/set1, sub: svc" },
    "forbidden",
    /^permission denied: applicationsets, create$/,
  ],
  [404, "Not Found", "unsupported", /2\.13 or newer/],
  [
    500,
    { code: 2, message: "error validating ApplicationSets: ApplicationSet s contains unrecognized generators: gitt" },
    "failed",
    /unrecognized generators: gitt\. Its controller takes them for empty, and deletes the applications/,
  ],
])("HTTP %d of the generate call", async (status, answer, reason, message) => {
  generate(status, answer);
  const failure = await failureOf(underTest().deployer.expandApplicationSet(SET, CHANGE));
  expect(failure.reason).toBe(reason);
  expect(failure.message).toMatch(message);
});

test("an answer of more applications than svc reads says how many there are", async () => {
  const one = { metadata: { name: "a" }, spec: {} };
  generate(200, { applications: Array.from({ length: 20_001 }, () => one) });
  const failure = await failureOf(underTest().deployer.expandApplicationSet(SET, CHANGE));
  expect(failure.message).toBe(
    "it generates 20001 applications, and svc reads at most 20000: check what its generators yield",
  );
});

test("the call has no effect and is tried again; a set without metadata is called by its name", async () => {
  generate(503, "busy");
  generate(200, {});
  const { deployer } = underTest();
  expect(await deployer.expandApplicationSet({ ...SET, resource: { spec: { generators: [] } } }, CHANGE)).toEqual([]);
});

test.each([
  [undefined, {}, undefined],
  ["argocd", {}, undefined],
  ["team-a", { appsetNamespace: "team-a" }, "team-a"],
])("a set in %s is read with its namespace, unless it is Argo CD's own", async (namespace, query, own) => {
  settings();
  const answer = { metadata: { name: "set1" }, spec: { generators: [] }, status: {} };
  argocd.get("/api/v1/applicationsets/set1").query(query).reply(200, answer);
  const { metadata, spec } = answer;
  expect(await underTest().deployer.findApplicationSet({ name: "set1", namespace })).toEqual({
    name: "set1",
    namespace: own,
    resource: { metadata, spec },
  });
});

const listSets = (answer: object, status = 200) =>
  argocd.get("/api/v1/applicationsets").query({}).reply(status, answer);

test("all sets are read, without what Kubernetes notes in their metadata; one that cannot be read hides none", async () => {
  settings();
  const spec = { generators: [{ list: { elements: [] } }], template: {} };
  const item = (name: string, namespace: string) => ({
    metadata: { name, namespace, uid: "1", managedFields: [{ manager: "argocd" }] },
    spec,
    status: { resources: [] },
  });
  listSets({ metadata: {}, items: [item("set1", "argocd"), { metadata: {}, spec }, item("set2", "team-a")] });
  expect(await underTest().deployer.listApplicationSets()).toEqual([
    { name: "set1", namespace: undefined, resource: { metadata: { name: "set1", namespace: "argocd" }, spec } },
    { name: "set2", namespace: "team-a", resource: { metadata: { name: "set2", namespace: "team-a" }, spec } },
  ]);
});

test("a set that is nested too deep is listed, and svc does not ask what a part of it generates", async () => {
  settings();
  const values = JSON.parse(`${'{"a":'.repeat(1000)}1${"}".repeat(1000)}`) as object;
  const generators = [{ git: { repoURL: "https://git.example.com/acme/deploy", files: [{ path: "a.yaml" }] } }];
  listSets({ items: [{ metadata: { name: "deep" }, spec: { generators, template: { values } } }] });
  const { deployer } = underTest();
  const [set] = await deployer.listApplicationSets();
  expect(set).toMatchObject({ name: "deep", resource: { spec: { generators } } });
  const failure = await failureOf(deployer.expandApplicationSet(set ?? SET, CHANGE));
  expect(failure.message).toBe("the definition is nested deeper than 200 levels");
});

test.each([
  ["null, as Argo CD answers to a token that may see none", { metadata: { resourceVersion: "509" }, items: null }],
  ["missing", {}],
])("a list of sets that is %s is empty", async (_title, answer) => {
  settings();
  listSets(answer);
  expect(await underTest().deployer.listApplicationSets()).toEqual([]);
});

test("the sets are asked for once in ten seconds, and again after a failure", async () => {
  settings();
  const { deployer, clock } = underTest();
  listSets({ code: 2, message: "boom" }, 500);
  expect((await failureOf(deployer.listApplicationSets())).message).toBe("boom");
  listSets({ items: null });
  await Promise.all([deployer.listApplicationSets(), deployer.listApplicationSets()]);
  clock.forward(9_999);
  await deployer.listApplicationSets();
  clock.forward(1);
  listSets({ items: null });
  await deployer.listApplicationSets();
});

test.each([
  [404, { code: 5, message: 'error getting ApplicationSet: applicationset.argoproj.io "set1" not found' }],
  [403, { code: 7, message: "permission denied" }],
])("a set that is not there, or not for this token, is undefined: HTTP %d", async (status, answer) => {
  settings();
  argocd.get("/api/v1/applicationsets/set1").reply(status, answer);
  expect(await underTest().deployer.findApplicationSet(SET)).toBeUndefined();
});

test("what a set owns is told by the owners in the whole list, by kind, name and namespace", async () => {
  settings();
  const owner = (kind: string, name: string) => ({ apiVersion: "argoproj.io/v1alpha1", kind, name });
  const item = (name: string, namespace: string, ...ownerReferences: object[]) => ({
    metadata: { name, namespace, ownerReferences },
    spec: {},
  });
  argocd.get("/api/v1/applications").reply(200, {
    items: [
      item("b", "argocd", owner("ApplicationSet", "set1")),
      item("a", "argocd", owner("ApplicationSet", "set1")),
      item("c", "argocd", owner("ApplicationSet", "other")),
      item("d", "argocd", owner("Job", "set1")),
      item("e", "team-a", owner("ApplicationSet", "set1")),
      { metadata: { name: "f", ownerReferences: null }, spec: {} },
      { strange: true },
    ],
  });
  const { deployer, clock } = underTest();
  const asked = [SET, { name: "other" }, { name: "set1", namespace: "team-a" }].map((set) =>
    deployer.applicationsOfSet({ namespace: undefined, ...set }),
  );
  // Sets that are asked for at once cost one list.
  expect(await Promise.all(asked)).toEqual([["a", "b"], ["c"], ["team-a/e"]]);
  clock.forward(1);
  argocd.get("/api/v1/applications").reply(200, { items: null });
  expect(await deployer.applicationsOfSet({ name: "set1", namespace: "team-a" })).toEqual([]);
});

test("an abort reaches the call", async () => {
  settings();
  const { deployer } = underTest();
  await expect(deployer.expandApplicationSet(SET, CHANGE, AbortSignal.abort(new Error("stop")))).rejects.toThrow(
    "stop",
  );
});
