import { expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import { Stopped } from "../../../src/core/ports/event-queue.js";
import { temporaryName } from "../../../src/deployer/argocd/render.js";
import { fixture } from "./fixture.js";
import { argocd, neverAsked, settings, withArgoCd } from "./scripted-argocd.js";
import { application, failureOf, renderRequest, SHA, underTest } from "./under-test.js";

withArgoCd();

const REQUEST = renderRequest({ mode: "temporary" });
const NAME = temporaryName(REQUEST);
const OURS = { metadata: { name: NAME, labels: { "svc.dev/temporary": "true" } }, spec: {} };
const NOT_FOUND = { code: 5, message: `applications.argoproj.io "${NAME}" not found` };
const DENIED = { code: 7, message: "permission denied" };
const TAKEN = { code: 3, message: "existing application spec is different, use upsert flag to force update" };
const recorded = fixture("manifests") as Record<string, { manifests: string[] }>;

const created: unknown[] = [];
function create(status = 200, answer: object = {}) {
  return argocd
    .post("/api/v1/applications?validate=false", (body) => created.push(body) > 0)
    .matchHeader("content-type", "application/json")
    .reply(status, answer);
}
const rendered = (status = 200, answer: object = { manifests: [] }) =>
  argocd.get(`/api/v1/applications/${NAME}/manifests?project=default`).reply(status, answer);
const look = (status = 200, answer: object = OURS) =>
  argocd.get(`/api/v1/applications/${NAME}?project=default`).reply(status, answer);
const removal = (status = 200, answer: object = {}) =>
  argocd
    .delete(`/api/v1/applications/${NAME}?cascade=false&project=default`)
    .matchHeader("content-type", "application/json")
    .reply(status, answer);

test("it is created, rendered, looked at and deleted", async () => {
  settings();
  created.length = 0;
  create();
  rendered(200, recorded.plain);
  look();
  removal();
  const { deployer } = underTest({ renderTimeoutMs: 120_000 });
  expect(await deployer.renderManifests(REQUEST)).toHaveLength(recorded.plain?.manifests.length ?? -1);
  expect(created).toEqual([
    {
      metadata: {
        name: NAME,
        labels: { "svc.dev/temporary": "true", "svc.dev/change-request": "hosta-7" },
        annotations: {
          "argocd.argoproj.io/skip-reconcile": "true",
          "svc.dev/for": "plain",
          "svc.dev/expires": "2026-06-01T12:04:00.000Z",
        },
      },
      spec: {
        project: "default",
        source: { repoURL: "https://git.example.com/acme/deploy.git", path: "apps/plain", targetRevision: SHA },
        destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
      },
    },
  ]);
  expect(neverAsked()).toEqual([]);
});

test("its name in the manifests becomes the real one, wherever it stands", async () => {
  settings({ trackingMethod: "annotation+label" });
  create();
  const manifest = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: `${NAME}-web`,
      labels: { "app.kubernetes.io/instance": NAME, other: "x" },
      annotations: { "argocd.argoproj.io/tracking-id": `${NAME}:/ConfigMap:guestbook/x` },
    },
    data: { [`${NAME}.conf`]: `name=${NAME}\n${NAME}`, list: [NAME, 1, null], near: `${NAME}0`, before: `x${NAME}` },
  };
  rendered(200, { manifests: [JSON.stringify(manifest)] });
  look();
  removal();
  expect(await underTest().deployer.renderManifests(REQUEST)).toEqual([
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "plain-web", labels: { "app.kubernetes.io/instance": "plain", other: "x" } },
      data: { "plain.conf": "name=plain\nplain", list: ["plain", 1, null], near: `${NAME}0`, before: `x${NAME}` },
    },
  ]);
});

test("a tracking label that was cut at 63 characters is the real one again", async () => {
  const namespace = "n".repeat(40);
  settings({ trackingMethod: "label", appLabelKey: "my/label" });
  const app = application({ namespace, resourceName: "r".repeat(30), name: applicationName(`${namespace}/x`) });
  const request = renderRequest({ mode: "temporary", application: app });
  const name = temporaryName(request);
  const path = `/api/v1/applications/${name}`;
  const value = `${namespace}_${name}`.slice(0, 63).replace(/[^a-z0-9]+$/, "");
  create();
  argocd
    .get(`${path}/manifests?project=default&appNamespace=${namespace}`)
    .reply(200, { manifests: [JSON.stringify({ metadata: { labels: { "my/label": value } } })] });
  argocd
    .get(`${path}?project=default&appNamespace=${namespace}`)
    .reply(200, { metadata: { name, labels: { "svc.dev/temporary": "true" } }, spec: {} });
  argocd.delete(`${path}?cascade=false&project=default&appNamespace=${namespace}`).reply(200, {});
  expect(await underTest().deployer.renderManifests(request)).toEqual([
    { metadata: { labels: { "my/label": `${namespace}_${"r".repeat(22)}` } } },
  ]);
});

test("an API server that does not know it yet is asked again for ten seconds", async () => {
  settings();
  create();
  rendered(403, DENIED);
  rendered(404, NOT_FOUND);
  rendered();
  look();
  removal();
  const { deployer, clock } = underTest();
  expect(await deployer.renderManifests(REQUEST)).toEqual([]);
  expect(clock.slept).toEqual([250, 750]);
});

test("a render that fails is reported as such, and the Application is deleted", async () => {
  settings();
  create();
  for (let times = 0; times < 6; times += 1) rendered(404, { code: 5, message: "repository not found" });
  look();
  removal();
  const failure = await failureOf(underTest().deployer.renderManifests(REQUEST));
  expect(failure).toMatchObject({ reason: "failed", message: "repository not found" });
  expect(neverAsked()).toEqual([]);
});

test("a token that may not create is told which permission is missing, and nothing is deleted that is not there", async () => {
  settings();
  create(403, { code: 7, message: "permission denied: applications, create, default/svc-tmp-3, sub: readonly" });
  const failure = await failureOf(underTest().deployer.renderManifests(REQUEST));
  expect(failure).toMatchObject({ reason: "forbidden", message: "permission denied: applications, create" });
  expect(neverAsked()).toEqual([]);
});

test("an unknown outcome of the creation ends with a look for it", async () => {
  settings();
  create(504, { code: 4, message: "context deadline exceeded" });
  look(404, NOT_FOUND);
  look();
  removal();
  const failure = await failureOf(underTest().deployer.renderManifests(REQUEST));
  expect(failure.reason).toBe("unreachable");
  expect(neverAsked()).toEqual([]);
});

test("the leftover of a killed run is deleted first", async () => {
  settings();
  create(400, TAKEN);
  look();
  removal();
  create();
  rendered();
  look();
  removal();
  expect(await underTest().deployer.renderManifests(REQUEST)).toEqual([]);
  expect(neverAsked()).toEqual([]);
});

test("an invalid spec is no leftover", async () => {
  settings();
  create(400, { code: 3, message: "application destination spec for x is invalid: y" });
  look(404, NOT_FOUND);
  const failure = await failureOf(underTest().deployer.renderManifests(REQUEST));
  expect(failure).toMatchObject({ reason: "failed", message: "application destination spec for x is invalid: y" });
});

test.each([
  ["without the label", { ...OURS, metadata: { name: NAME, labels: null } }],
  ["with another name", { ...OURS, metadata: { ...OURS.metadata, name: "plain" } }],
])("an Application %s is never deleted", async (_title, found) => {
  settings();
  create(400, TAKEN);
  look(200, found);
  const failure = await failureOf(underTest().deployer.renderManifests(REQUEST));
  expect(failure.message).toMatch(/is not deleted$/);
  expect(neverAsked()).toEqual([]);
});

test("an abort during the render deletes it all the same", async () => {
  settings();
  create();
  const stop = new AbortController();
  argocd.get(`/api/v1/applications/${NAME}/manifests?project=default`).replyWith(() => {
    stop.abort(new Stopped("pushed"));
    return [500, { code: 2, message: "late" }];
  });
  look();
  removal();
  await expect(underTest().deployer.renderManifests(REQUEST, stop.signal)).rejects.toThrow("stopped: pushed");
  expect(neverAsked()).toEqual([]);
});

test("an abort before the render began creates nothing", async () => {
  settings();
  const stopped = AbortSignal.abort(new Stopped("closed"));
  await expect(underTest().deployer.renderManifests(REQUEST, stopped)).rejects.toThrow("stopped: closed");
});

test("the deletion is tried again with growing pauses", async () => {
  settings();
  create();
  rendered();
  look(500, { code: 2, message: "boom" });
  look();
  removal(500, { code: 2, message: "boom" });
  look();
  removal(404, NOT_FOUND);
  const { deployer, clock } = underTest();
  expect(await deployer.renderManifests(REQUEST)).toEqual([]);
  expect(clock.slept).toEqual([500, 1000]);
});

test.each([
  ["always fails", 5, 500, { code: 2, message: "boom" }],
  ["is forbidden", 1, 403, { code: 7, message: "permission denied: applications, delete, x/y, sub: z" }],
])("a deletion that %s is logged and does not spoil the render", async (_title, times, status, answer) => {
  settings();
  create();
  rendered();
  for (let each = 0; each < times; each += 1) {
    look();
    removal(status, answer);
  }
  const { deployer, lines } = underTest();
  expect(await deployer.renderManifests(REQUEST)).toEqual([]);
  expect(lines.find((line) => line.level === "error")?.fields).toMatchObject({ application: NAME });
  expect(neverAsked()).toEqual([]);
});
