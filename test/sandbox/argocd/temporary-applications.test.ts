import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { objectAt, type JsonObject } from "../../../sandbox/argocd/json.js";
import { startConversation, type Conversation } from "./conversation.js";
import { repositoryUrl } from "./recorded-world.js";

let c: Conversation;
beforeAll(async () => {
  c = await startConversation();
  c.add("web", "charts/web");
});
afterAll(() => c.stop());

const skip = { "argocd.argoproj.io/skip-reconcile": "true" };

function body(name: string, source: JsonObject, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name, ...metadata },
    spec: {
      project: "default",
      destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
      source: { repoURL: repositoryUrl, targetRevision: "{head}", ...source },
    },
  };
}

const create = (name: string, source: JsonObject, metadata: JsonObject = {}) =>
  c.ok("POST", "/api/v1/applications?validate=false", body(name, source, metadata));

const remove = (name: string, query = "cascade=false&project=default") =>
  c.call("DELETE", `/api/v1/applications/${name}?${query}`);

describe("life of a temporary Application", () => {
  test("a posted status is stored, a posted operation is dropped, posted finalizers are kept", async () => {
    const finalizers = ["resources-finalizer.argocd.argoproj.io"];
    const posted = {
      ...body("tmp-3", { path: "charts/web" }, { annotations: skip, finalizers }),
      status: { sync: { status: "Synced" } },
      operation: { sync: { revision: "{head}" } },
    };
    const stored = await c.ok("POST", "/api/v1/applications?validate=false", posted);
    expect(objectAt(stored, "metadata").finalizers).toEqual(finalizers);
    expect(objectAt(stored, "status").sync).toMatchObject({ status: "Synced" });
    expect(stored).not.toHaveProperty("operation");
  });

  test("a repository and a destination that the project does not permit", async () => {
    c.argocd.addProject("narrow", {
      sourceRepos: ["https://git.example.com/other*"],
      destinations: [{ server: "*", namespace: "prod-*" }],
    });
    const posted = body("tmp-7", { path: "extra" });
    const { answer } = await c.call("POST", "/api/v1/applications?validate=false", {
      body: { ...posted, spec: { ...objectAt(posted, "spec"), project: "narrow" } },
    });
    expect(objectAt(answer).message).toBe(
      `application spec for tmp-7 is invalid: InvalidSpecError: application repo ${repositoryUrl} is not permitted in project 'narrow';` +
        "InvalidSpecError: application destination server 'https://kubernetes.default.svc' and namespace 'guestbook' do not match any of the allowed destinations in project 'narrow'",
    );
  });
});

describe("skip-reconcile", () => {
  test("the controller leaves it alone: only the zero status that was stored", async () => {
    await create("left-alone", { path: "apps/hooks" }, { annotations: skip });
    await c.argocd.pollGit();
    const seen = await c.ok("GET", "/api/v1/applications/left-alone");
    expect(objectAt(seen, "status")).toEqual({
      sync: { status: "", comparedTo: { source: { repoURL: "" }, destination: {} } },
      health: {},
      summary: {},
      sourceHydrator: {},
    });
    expect(objectAt(seen, "metadata")).not.toHaveProperty("finalizers");
  });

  test("without it the status appears, PostDelete hooks add finalizers, and its deletion runs them in the cluster", async () => {
    await create("looked-at", { path: "apps/hooks" });
    const seen = await c.ok("GET", "/api/v1/applications/looked-at");
    expect(objectAt(seen, "status").reconciledAt).toEqual(expect.any(String));
    const name = "post-delete-finalizer.argocd.argoproj.io";
    expect(objectAt(seen, "metadata").finalizers).toEqual([name, `${name}/cleanup`]);
    expect(c.argocd.liveObject("ConfigMap", "guestbook", "h1")).toBeUndefined();
    await remove("looked-at");
    expect(c.argocd.liveObject("ConfigMap", "guestbook", "h1")).toBeDefined();
  });

  test.each(["managed-resources", "?refresh=normal"])("%s of it is never answered", async (what) => {
    await create("hanging", { path: "extra" }, { annotations: skip });
    const path = `/api/v1/applications/hanging${what.startsWith("?") ? "" : "/"}${what}`;
    const asked = fetch(c.argocd.url + path, {
      headers: { authorization: `Bearer ${c.tokens.svc}` },
      signal: AbortSignal.timeout(300),
    });
    await expect(asked).rejects.toThrow("timeout");
  });
});

describe("deleting", () => {
  test("cascading takes along what was deployed, otherwise it stays", async () => {
    c.add("stays", "extra", { spec: { destination: { server: "https://kubernetes.default.svc", namespace: "one" } } });
    c.add("goes", "extra", { spec: { destination: { server: "https://kubernetes.default.svc", namespace: "two" } } });
    await Promise.all([c.argocd.deploy("stays"), c.argocd.deploy("goes")]);
    await remove("stays");
    await remove("goes", "project=default");
    expect(c.argocd.liveObject("ConfigMap", "one", "extra")).toBeDefined();
    expect(c.argocd.liveObject("ConfigMap", "two", "extra")).toBeUndefined();
  });

  test("with a finalizer and nobody to work it off, it stays in deletion for ever", async () => {
    const finalizers = ["resources-finalizer.argocd.argoproj.io"];
    await create("stuck", { path: "extra" }, { annotations: skip, finalizers });
    await remove("stuck", "cascade=true&project=default");
    expect(c.argocd.application("stuck")?.metadata.deletionTimestamp).toEqual(expect.any(String));
    const { answer } = await c.call("POST", "/api/v1/applications/stuck/sync", { body: {} });
    expect(answer).toMatchObject({ code: 9, message: "application is deleting" });
  });

  test("one that calls an ApplicationSet its owner is taken for a leftover and deleted", async () => {
    c.argocd.addApplicationSet({
      metadata: { name: "shops" },
      spec: {
        generators: [{ list: { elements: [] } }],
        template: { metadata: { name: "x" }, spec: { project: "default", destination: {} } },
      },
    });
    const ownerReferences = [{ apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "shops", uid: "1" }];
    await create("owned", { path: "extra" }, { annotations: skip, ownerReferences });
    expect((await c.call("GET", "/api/v1/applications/owned")).status).toBe(403);
  });
});
