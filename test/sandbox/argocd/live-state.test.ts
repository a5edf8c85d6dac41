import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { listAt, objectAt, stringAt, type JsonObject } from "../../../sandbox/argocd/json.js";
import { startConversation, type Conversation } from "./conversation.js";

let c: Conversation;
beforeEach(async () => {
  c = await startConversation();
});
afterEach(() => c.stop());

async function managed(name: string, query = ""): Promise<JsonObject[]> {
  const answer = await c.ok("GET", `/api/v1/applications/${name}/managed-resources${query}`);
  return listAt(answer, "items").map((item) => objectAt(item));
}

const state = (item: JsonObject | undefined, member: string): JsonObject =>
  JSON.parse(stringAt(item, member) ?? "null") as JsonObject;

describe("managed resources", () => {
  test("a Secret whose value differs: target and live are masked together", async () => {
    c.add("plain", "apps/plain");
    await c.sync("plain", { revision: "{secret}" });
    const [secret] = await managed("plain", "?kind=Secret");
    expect(secret?.modified).toBe(true);
    expect(state(secret, "targetState").data).toEqual({ password: "++++++++", user: "++++++++" });
    expect(state(secret, "liveState").data).toEqual({ password: "++++++++++++", user: "++++++++" });
    expect(state(secret, "predictedLiveState").data).toEqual({ password: "++++++++", user: "++++++++" });
    expect(JSON.stringify(secret)).not.toContain(Buffer.from("other").toString("base64"));
  });

  test("what is not there yet has a live state null, what is gone from git a target null", async () => {
    c.add("plain", "apps/plain");
    await c.sync("plain", { revision: "{main}" });
    c.argocd.setManifests("plain", "*", [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "new" } }]);
    const items = await managed("plain", "?kind=ConfigMap");
    expect(
      items.map(({ name, targetState, liveState, modified }) => [
        name,
        targetState === "null",
        liveState === "null",
        modified,
      ]),
    ).toEqual([
      ["new", false, true, true],
      ["old", true, false, undefined],
      ["plain", true, false, undefined],
    ]);
  });

  test("unchanged objects are not modified, ignored differences do not count, changes by hand do", async () => {
    c.add("plain", "apps/plain", {
      spec: { ignoreDifferences: [{ kind: "ConfigMap", name: "old", jsonPointers: ["/data/x"] }] },
    });
    await c.argocd.deploy("plain");
    const change = (name: string, data: JsonObject): void => {
      c.argocd.putLiveObject({ ...c.argocd.liveObject("ConfigMap", "guestbook", name), data });
    };
    change("old", { x: "by hand" });
    expect((await managed("plain")).filter(({ modified }) => modified === true)).toEqual([]);
    change("plain", { a: "by hand", app: "x" });
    expect((await managed("plain")).filter(({ modified }) => modified === true).map(({ name }) => name)).toEqual([
      "plain",
    ]);
  });

  test("hooks are left out; nothing at all is an empty object", async () => {
    c.add("hooks", "apps/hooks");
    await c.argocd.deploy("hooks");
    expect((await managed("hooks")).map(({ name }) => name)).toEqual(["normal"]);
    expect(await c.ok("GET", "/api/v1/applications/hooks/managed-resources?name=none")).toEqual({});
  });

  test("an application that cannot be compared: code 2 with its condition", async () => {
    c.add("broken", "none");
    const { answer } = await c.call("GET", "/api/v1/applications/broken/managed-resources");
    expect(answer).toMatchObject({
      code: 2,
      message:
        "error getting cached app managed resources: ComparisonError: Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = none: app path does not exist",
    });
    expect(c.argocd.application("broken")?.status).toMatchObject({
      sync: { status: "Unknown" },
      conditions: [{ type: "ComparisonError" }],
    });
  });
});

describe("refresh", () => {
  test("shows what git says now and leaves an annotation behind", async () => {
    c.add("plain", "apps/plain");
    await c.argocd.deploy("plain");
    expect(await c.finished("plain")).toMatchObject({ status: { sync: { status: "Synced" } } });
    await c.commit("main", { "apps/plain/b.yaml": null });
    expect(await c.finished("plain")).toMatchObject({ status: { sync: { status: "Synced" } } });
    const refreshed = await c.ok("GET", "/api/v1/applications/plain?refresh=normal");
    expect(refreshed).toMatchObject({
      metadata: { annotations: { "argocd.argoproj.io/hydrate": "normal" } },
      status: { sync: { status: "OutOfSync", revision: await c.resolve("main") } },
    });
  });
});

describe("tracking", () => {
  test.each([
    ["annotation", { "argocd.argoproj.io/tracking-id": "plain:/ConfigMap:guestbook/plain" }, undefined],
    ["label", undefined, { "app.kubernetes.io/instance": "plain" }],
    [
      "annotation+label",
      { "argocd.argoproj.io/tracking-id": "plain:/ConfigMap:guestbook/plain" },
      { "app.kubernetes.io/instance": "plain" },
    ],
  ] as const)("%s: renders follow the setting at once", async (method, annotations, labels) => {
    c.add("plain", "apps/plain");
    await c.manifests("plain");
    c.argocd.setTracking(method);
    const [manifest] = await c.manifests("plain");
    expect(objectAt(manifest, "metadata").annotations).toEqual(annotations);
    expect(objectAt(manifest, "metadata").labels).toEqual(labels);
    expect((await c.ok("GET", "/api/v1/settings")).trackingMethod).toBe(method);
    await c.argocd.deploy("plain");
    expect((await managed("plain")).every(({ modified }) => modified === undefined)).toBe(true);
  });

  test("outside of the control-plane namespace the instance carries the namespace", async () => {
    c.add("outer", "apps/plain", { metadata: { namespace: "team-a" } });
    const [manifest] = await c.manifests("outer", "?appNamespace=team-a&project=default");
    expect(stringAt(manifest, "metadata", "annotations", "argocd.argoproj.io/tracking-id")).toBe(
      "team-a_outer:/ConfigMap:guestbook/plain",
    );
  });
});
