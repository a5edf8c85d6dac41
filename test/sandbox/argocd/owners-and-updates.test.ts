import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { objectAt, type Json, type JsonObject } from "../../../sandbox/argocd/json.js";
import { startConversation, type Conversation } from "./conversation.js";
import { repositoryUrl } from "./recorded-world.js";

let c: Conversation;
beforeEach(async () => {
  c = await startConversation();
});
afterEach(() => c.stop());

const spec = (path: string, more: JsonObject = {}): JsonObject => ({
  project: "default",
  destination: { server: "https://kubernetes.default.svc", namespace: "other" },
  source: { repoURL: repositoryUrl, path, targetRevision: "main" },
  ...more,
});

const put = (name: string, body: Json, query = "?validate=false", who: "svc" | "readonly" = "svc") =>
  c.call("PUT", `/api/v1/applications/${name}/spec${query}`, { who, body });

const parentSync = async (): Promise<unknown> =>
  objectAt(await c.ok("GET", "/api/v1/applications/parent"), "status", "sync").status;
const childPath = (): unknown => c.argocd.application("child")?.spec.source?.path;

/** An app of apps that deployed its child. */
async function family(syncPolicy?: JsonObject): Promise<void> {
  c.add("parent", "aoa", {
    source: { targetRevision: "aoa" },
    spec: {
      destination: { server: "https://kubernetes.default.svc", namespace: "argocd" },
      ...(syncPolicy === undefined ? {} : { syncPolicy }),
    },
  });
  await c.argocd.deploy("parent");
}

describe("a parent application", () => {
  test("marks its child, and is OutOfSync at once when the child's spec is changed through the API", async () => {
    await family();
    const child = await c.ok("GET", "/api/v1/applications/child");
    expect(objectAt(child, "metadata", "annotations")["argocd.argoproj.io/tracking-id"]).toBe(
      "parent:argoproj.io/Application:argocd/child",
    );
    expect(await parentSync()).toBe("Synced");
    await put("child", spec("apps/kust/overlay"));
    expect(await parentSync()).toBe("OutOfSync");
  });

  test.each([
    ["without auto-sync: the changed spec stays", undefined, "apps/kust/overlay", "OutOfSync"],
    ["with auto-sync: it stays", { automated: {} }, "apps/kust/overlay", "OutOfSync"],
    [
      "with self-heal: it is reverted, after the sync had applied it",
      { automated: { selfHeal: true } },
      "apps/plain",
      "Synced",
    ],
  ])("%s", async (_case, syncPolicy, path, status) => {
    await family(syncPolicy);
    await put("child", spec("apps/kust/overlay"));
    const done = await c.sync("child", { revision: "{main}" });
    expect(done.status.operationState).toMatchObject({
      phase: "Succeeded",
      operation: { sync: { source: { path: "apps/kust/overlay" } } },
    });
    expect(c.argocd.liveObject("ConfigMap", "other", "prod-kbase")).toBeDefined();
    expect(await parentSync()).toBe(status);
    expect(childPath()).toBe(path);
  });

  test("that prunes takes its child away", async () => {
    await family({ automated: { prune: true } });
    expect(c.argocd.application("child")).toBeDefined();
    await c.commit("aoa", {
      "aoa/child.yaml": null,
      "aoa/other.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: rest}}",
    });
    await c.argocd.pollGit();
    expect(c.argocd.application("child")).toBeUndefined();
  });
});

describe("an ApplicationSet", () => {
  test("puts back the spec of an Application that it owns", async () => {
    c.argocd.addApplicationSet({
      metadata: { name: "shops" },
      spec: {
        generators: [{ list: { elements: [] } }],
        template: { metadata: { name: "x" }, spec: { project: "default", destination: {} } },
      },
    });
    const ownerReferences = [
      { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "shops", uid: "1", controller: true },
    ];
    c.add("owned", "apps/plain", { metadata: { ownerReferences } });
    expect((await put("owned", spec("extra"))).status).toBe(200);
    expect(objectAt(await c.ok("GET", "/api/v1/applications/owned"), "spec", "source").path).toBe("apps/plain");
  });
});

describe("an ApplicationSet with RollingSync", () => {
  test("takes auto-sync out of its Applications, and syncs them once the target branch moves", async () => {
    c.argocd.addApplicationSet({
      metadata: { name: "shops" },
      spec: {
        generators: [{ list: { elements: [] } }],
        strategy: { type: "RollingSync", rollingSync: { steps: [] } },
        template: { metadata: { name: "x" }, spec: { project: "default", destination: {} } },
      },
    });
    const ownerReferences = [
      { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "shops", uid: "1", controller: true },
    ];
    c.add("owned", "apps/plain", { metadata: { ownerReferences }, spec: { syncPolicy: { automated: {} } } });
    expect(c.argocd.application("owned")?.spec.syncPolicy?.automated).toBeUndefined();
    await c.argocd.pollGit();
    expect(c.argocd.application("owned")?.status.history).toBeUndefined();
    await c.commit("main", { "unrelated.txt": "1" });
    await c.argocd.pollGit();
    expect(c.argocd.application("owned")?.status.history?.map(({ initiatedBy }) => initiatedBy)).toEqual([
      { username: "applicationset-controller", automated: true },
    ]);
  });
});

describe("auto-sync", () => {
  test("deploys what the target branch says when Argo CD looks again", async () => {
    c.add("auto", "apps/plain", { spec: { syncPolicy: { automated: { prune: true } } } });
    await c.argocd.pollGit();
    expect(c.argocd.liveObject("ConfigMap", "guestbook", "old")).toBeDefined();
    await c.commit("main", { "apps/plain/b.yaml": null });
    await c.argocd.pollGit();
    expect(c.argocd.liveObject("ConfigMap", "guestbook", "old")).toBeUndefined();
    expect(c.argocd.application("auto")?.status.history?.map(({ initiatedBy }) => initiatedBy)).toEqual([
      { automated: true },
      { automated: true },
    ]);
    expect(c.argocd.changes).toEqual([]);
  });

  test("switched on by a changed spec, it deploys the target branch by itself", async () => {
    c.add("plain", "apps/plain");
    await put("plain", spec("apps/plain", { syncPolicy: { automated: {} } }));
    await c.ok("GET", "/api/v1/applications/plain");
    expect(c.argocd.liveObject("ConfigMap", "other", "plain")).toBeDefined();
  });
});

test("an automatic sync that cannot succeed is tried once per commit, not for ever", async () => {
  c.argocd.removeNamespace("nowhere");
  const destination = { server: "https://kubernetes.default.svc", namespace: "nowhere" };
  c.add("healing", "extra", { spec: { destination, syncPolicy: { automated: { selfHeal: true } } } });
  await c.argocd.pollGit();
  await c.argocd.pollGit();
  expect(c.argocd.application("healing")?.status.operationState).toMatchObject({ phase: "Failed" });
  await c.commit("main", {
    "extra/cm.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: nowhere}}",
  });
  await c.argocd.pollGit();
  expect(c.argocd.application("healing")?.status.operationState).toMatchObject({ phase: "Succeeded" });
});
