import type { ServerResponse } from "node:http";
import { expect, test } from "@jest/globals";
import type { RenderRequest } from "../../../src/core/ports/deployer.js";
import { localServer } from "../../local-server.js";
import { fixture } from "./fixture.js";
import { argocd, settings, withArgoCd } from "./scripted-argocd.js";
import { application, failureOf, MULTI_SPEC, OTHER_SHA, renderRequest, SHA, underTest } from "./under-test.js";

withArgoCd();

const recorded = fixture("manifests") as Record<string, { manifests: string[] }>;

function manifests(query: string, answer: unknown = { manifests: [] }, status = 200) {
  settings();
  return argocd.get(`/api/v1/applications/plain/manifests${query}`).reply(status, answer as object);
}

test("a single source is rendered at `revision`", async () => {
  manifests(`?project=default&revision=${SHA}`, recorded.plain);
  const rendered = await underTest().deployer.renderManifests(renderRequest());
  expect(rendered[0]).toEqual({
    apiVersion: "v1",
    kind: "ConfigMap",
    data: { a: "2", app: "x" },
    metadata: { name: "plain" },
  });
  expect(JSON.stringify(rendered)).not.toContain("tracking-id");
});

test("a definition of custom resources keeps its annotations, which Argo CD does not write", async () => {
  const annotations = {
    "argocd.argoproj.io/tracking-id": "other:apiextensions.k8s.io/CustomResourceDefinition:x/a.b.c",
  };
  const metadata = { name: "a.b.c", annotations };
  const definition = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata };
  manifests(`?project=default&revision=${SHA}`, { manifests: [JSON.stringify(definition)] });
  expect(await underTest().deployer.renderManifests(renderRequest())).toEqual([definition]);
});

test("the values of Secrets stay masked", async () => {
  manifests(`?project=default&revision=${SHA}`, recorded.plain);
  const rendered = await underTest().deployer.renderManifests(renderRequest());
  const secret = rendered.find((one) => one.kind === "Secret");
  expect(Object.values((secret?.data ?? {}) as object)).toEqual(["++++++++", "++++++++"]);
});

const pins = [
  { position: 2, revision: SHA },
  { position: 3, revision: OTHER_SHA },
];

test.each<[string, Partial<RenderRequest>, string]>([
  [
    "several sources",
    { application: application({ spec: MULTI_SPEC }), pins },
    `?project=default&sourcePositions=2&sourcePositions=3&revisions=${SHA}&revisions=${OTHER_SHA}`,
  ],
  [
    "a list of one source",
    { application: application({ spec: { sources: [{ path: "a" }] } }) },
    `?project=default&sourcePositions=1&revisions=${SHA}`,
  ],
  [
    "a hydrated application",
    { application: application({ spec: { sourceHydrator: { drySource: {} }, sources: [{}] } }) },
    `?project=default&revision=${SHA}`,
  ],
  [
    "another namespace",
    { application: application({ namespace: "team-a", project: "fin" }) },
    `?project=fin&appNamespace=team-a&revision=${SHA}`,
  ],
  ["a fresh render", { fresh: true }, `?project=default&revision=${SHA}&noCache=true`],
  ["no pin", { pins: [] }, "?project=default"],
])("%s", async (_title, changes, query) => {
  manifests(query);
  expect(await underTest().deployer.renderManifests(renderRequest(changes))).toEqual([]);
});

test.each([0, 2])("a pin of source %d that is not there never reaches Argo CD", async (position) => {
  settings();
  const request = renderRequest({ pins: [{ position, revision: SHA }] });
  expect((await failureOf(underTest().deployer.renderManifests(request))).message).toContain(`no source ${position}`);
});

test.each([
  ["null is left out", ["null"], []],
  ["an empty List is left out", ['{"apiVersion":"v1","kind":"List","items":null}'], []],
  ["a List is its items", ['{"apiVersion":"v1","kind":"List","items":[{"kind":"A"},null]}'], [{ kind: "A" }]],
  ["an object without metadata", ['{"kind":"A","metadata":null}'], [{ kind: "A", metadata: null }]],
  [
    "other annotations stay",
    ['{"metadata":{"annotations":{"a":"b","argocd.argoproj.io/installation-id":"i"}}}'],
    [{ metadata: { annotations: { a: "b" } } }],
  ],
])("%s", async (_title, texts, expected) => {
  manifests(`?project=default&revision=${SHA}`, { manifests: texts });
  expect(await underTest().deployer.renderManifests(renderRequest())).toEqual(expected);
});

test.each([
  ["not JSON", ["{"]],
  ["not an object", ["7"]],
  ["nested too deep", [`${'{"a":'.repeat(1000)}1${"}".repeat(1000)}`]],
])("a manifest that is %s fails the render instead of hiding a change", async (_title, texts) => {
  manifests(`?project=default&revision=${SHA}`, { manifests: texts });
  expect((await failureOf(underTest().deployer.renderManifests(renderRequest()))).reason).toBe("failed");
});

test.each([
  [404, { code: 5, message: "repository not found" }, "failed", "repository not found"],
  [400, { code: 9, message: 'Failed to unmarshal "x.yaml": boom' }, "failed", 'Failed to unmarshal "x.yaml": boom'],
  [500, { code: 2, message: "charts/x: app path does not exist" }, "failed", "charts/x: app path does not exist"],
  [403, { code: 7, message: "permission denied" }, "forbidden", "permission denied: applications, get"],
  [
    401,
    { code: 16, message: "no session information" },
    "unauthenticated",
    "Argo CD does not accept argocd.token: no session information",
  ],
])("HTTP %d %j while rendering in place", async (status, answer, reason, message) => {
  manifests(`?project=default&revision=${SHA}`, answer, status);
  expect(await failureOf(underTest().deployer.renderManifests(renderRequest()))).toMatchObject({ reason, message });
});

test("integers of 64 bits are not taken for one another", async () => {
  const texts = [9007199254740992n, 9007199254740993n].map((id) => `{"kind":"Account","spec":{"id":${id}}}`);
  manifests(`?project=default&revision=${SHA}`, { manifests: texts });
  const [one, other] = await underTest().deployer.renderManifests(renderRequest());
  expect(one).toEqual({ kind: "Account", spec: { id: 9007199254740992 } });
  expect(other).toEqual({ kind: "Account", spec: { id: "9007199254740993 (a number)" } });
});

test("a definition with such an integer is not rendered, since it could not be compared with the one in Argo CD", async () => {
  const text = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","spec":{"source":{"helm":{"valuesObject":{"id":9007199254740993}}}}}`;
  manifests(`?project=default&revision=${SHA}`, { manifests: [text] });
  expect((await failureOf(underTest().deployer.renderManifests(renderRequest()))).message).toContain(
    "an integer of more than 53 bits, which svc cannot compare: write it as text, in quotes",
  );
});

test("no more renders run at a time than configured, and they begin in order", async () => {
  const begun: string[] = [];
  const open: ServerResponse[] = [];
  let most = 0;
  const server = await localServer((request, response) => {
    if (request.url === "/api/v1/settings") return void response.end('{"controllerNamespace":"argocd"}');
    begun.push(/applications\/(\w+)/.exec(request.url ?? "")?.[1] ?? "");
    open.push(response);
    most = Math.max(most, open.length);
    // Answers come in pairs: one render at a time would wait for ever.
    if (open.length === 2) setImmediate(() => open.splice(0).forEach((one) => one.end("{}")));
  });
  const { deployer } = underTest({ renderConcurrency: 2, serverUrl: server.url });
  const names = ["a", "b", "c", "d", "e", "f"];
  try {
    await deployer.naming();
    await Promise.all(
      names.map((name) =>
        deployer.renderManifests(renderRequest({ application: application({ resourceName: name }) })),
      ),
    );
  } finally {
    await deployer.close();
    await server.stop();
  }
  expect(begun.toSorted()).toEqual(names);
  expect(begun.slice(0, 2).toSorted()).toEqual(["a", "b"]);
  expect(most).toBe(2);
});
