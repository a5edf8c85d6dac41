import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { objectAt, stringAt, type JsonObject } from "../../../sandbox/argocd/json.js";
import { refusal, startConversation, type Conversation } from "./conversation.js";

let c: Conversation;
beforeEach(async () => {
  c = await startConversation();
  c.add("plain", "apps/plain");
});
afterEach(() => c.stop());

const post = (name: string, body: JsonObject, who: "svc" | "readonly" = "svc") =>
  c.call("POST", `/api/v1/applications/${name}/sync`, { who, body });
const read = (name: string) => c.ok("GET", `/api/v1/applications/${name}`);
const commit = (name: string): string => c.commits.get(name) ?? "";
const elsewhere = { destination: { server: "https://kubernetes.default.svc", namespace: "does-not-exist" } };
const noNamespace = 'one or more objects failed to apply, reason: namespaces "does-not-exist" not found';
const results = (
  application: { status: { operationState?: { syncResult?: { resources?: { name: string }[] } } } },
  name: string,
) => application.status.operationState?.syncResult?.resources?.find((resource) => resource.name === name);

describe("the course of a sync", () => {
  test("recorded: operation and no state; running: both; done: state only, with a finish", async () => {
    await c.sync("plain", { revision: "{main}" });
    const { answer: recorded } = await post("plain", {
      revision: "{head}",
      infos: [{ name: "svc-run", value: "abc" }],
      retryStrategy: { limit: 0 },
    });
    const stages = [objectAt(recorded), await read("plain"), await read("plain"), await read("plain")];
    const seen = stages.map((one) => [one.operation !== undefined, stringAt(one, "status", "operationState", "phase")]);
    expect(seen).toEqual([
      [true, undefined],
      [true, undefined],
      [true, "Running"],
      [false, "Succeeded"],
    ]);
    expect(objectAt(stages[0], "operation")).toMatchObject({
      info: [{ name: "svc-run", value: "abc" }],
      retry: {},
      initiatedBy: { username: "svc" },
    });
    expect(objectAt(stages[3], "status", "operationState")).toMatchObject({
      message: "successfully synced (all tasks run)",
      finishedAt: expect.any(String),
      operation: { info: [{ name: "svc-run", value: "abc" }] },
      syncResult: { revision: commit("head") },
    });
  });

  test("after a sync by commit: an entry in the history, and OutOfSync against the target branch", async () => {
    await c.sync("plain");
    const done = await c.sync("plain", { revision: "{head}" });
    expect(done.status.history?.map(({ id, revision }) => [id, revision])).toEqual([
      [0, commit("main")],
      [1, commit("head")],
    ]);
    expect(done.status.sync).toMatchObject({ status: "OutOfSync", revision: commit("main") });
    expect(objectAt(c.argocd.liveObject("ConfigMap", "guestbook", "plain")).data).toEqual({ a: "2", app: "x" });
  });

  test("a second sync meanwhile, and four at once: exactly one is accepted", async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => post("plain", { revision: "{head}" })));
    const busy = refusal(400, 9, "another operation is already in progress");
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([busy, busy, busy]);
    await read("plain");
    expect(await post("plain", {})).toEqual(busy);
  });

  test("a held sync stays Running until it is let go", async () => {
    const release = c.argocd.holdSync("plain");
    await post("plain", { revision: "{head}" });
    for (let poll = 0; poll < 6; poll += 1) await read("plain");
    expect(c.argocd.application("plain")?.status.operationState?.phase).toBe("Running");
    expect(c.argocd.live()).toEqual([]);
    release();
    expect((await c.finished("plain")).status.operationState?.phase).toBe("Succeeded");
  });

  test("terminate: nothing runs, not picked up yet, running", async () => {
    const terminate = () => c.call("DELETE", "/api/v1/applications/plain/operation?project=default");
    const nothing = refusal(400, 3, "Unable to terminate operation. No operation is in progress");
    expect(await terminate()).toEqual(nothing);
    c.argocd.holdSync("plain");
    await post("plain", { revision: "{head}" });
    expect(await terminate()).toEqual(nothing);
    await read("plain");
    await read("plain");
    expect(await terminate()).toEqual({ status: 200, answer: {} });
    expect(stringAt(await read("plain"), "status", "operationState", "phase")).toBe("Terminating");
    expect((await c.finished("plain")).status.operationState).toMatchObject({
      phase: "Failed",
      message: "Operation terminated",
    });
  });
});

describe("what is written", () => {
  test("a removed resource without prune stays and is told, with prune it goes", async () => {
    await c.sync("plain", { revision: "{main}" });
    const kept = await c.sync("plain", { revision: "{head}" });
    expect(results(kept, "old")).toMatchObject({ status: "PruneSkipped", message: "ignored (requires pruning)" });
    expect(kept.status.operationState?.phase).toBe("Succeeded");
    expect(c.argocd.liveObject("ConfigMap", "guestbook", "old")).toBeDefined();
    const pruned = await c.sync("plain", { revision: "{head}", prune: true });
    expect(results(pruned, "old")).toMatchObject({ status: "Pruned", message: "pruned" });
    expect(c.argocd.liveObject("ConfigMap", "guestbook", "old")).toBeUndefined();
  });

  test("a dry run says what it would do, and changes nothing: no history, no live object", async () => {
    await c.sync("plain", { revision: "{main}" });
    const before = c.argocd.live();
    const dry = await c.sync("plain", { revision: "{head}", dryRun: true });
    expect(results(dry, "plain")).toMatchObject({
      message: "configmap/plain configured (dry run)",
      hookPhase: "Succeeded",
    });
    expect(dry.status.operationState).toMatchObject({
      message: "successfully synced (no more tasks)",
      operation: { sync: { dryRun: true } },
    });
    expect(dry.status.history).toHaveLength(1);
    expect(c.argocd.live()).toEqual(before);
    expect(c.argocd.changes.map(({ verb }) => verb)).toEqual(["sync", "dry-run"]);
  });

  test("hooks run in their phases and are told as such; a sync that only applies leaves them out", async () => {
    c.add("hooks", "apps/hooks");
    const applied = await c.sync("hooks", { strategy: { apply: {} } });
    expect(applied.status.operationState?.syncResult?.resources?.map(({ name }) => name)).toEqual(["normal"]);
    const done = await c.sync("hooks");
    expect(done.status.operationState?.syncResult?.resources).toEqual([
      expect.objectContaining({
        name: "h2",
        hookType: "PreSync",
        hookPhase: "Succeeded",
        syncPhase: "PreSync",
        message: "configmap/h2 created",
      }),
      expect.objectContaining({ name: "normal", status: "Synced", hookPhase: "Running", syncPhase: "Sync" }),
    ]);
  });

  test("a destination namespace that is missing: Failed, each resource SyncFailed", async () => {
    c.add("nons", "apps/plain", { spec: elsewhere });
    const done = await c.sync("nons", { retryStrategy: { limit: 0 } });
    expect(done.status.operationState).toMatchObject({ phase: "Failed", message: noNamespace });
    const resources = done.status.operationState?.syncResult?.resources ?? [];
    expect(resources.map(({ status, message }) => [status, message])).toEqual(
      [1, 2, 3].map(() => ["SyncFailed", 'namespaces "does-not-exist" not found']),
    );
    c.add("creates", "apps/plain", { spec: { ...elsewhere, syncPolicy: { syncOptions: ["CreateNamespace=true"] } } });
    expect((await c.sync("creates")).status.operationState?.phase).toBe("Succeeded");
  });

  test("a failure made to order, and the next sync is as ever", async () => {
    c.argocd.failNextSync("plain", {
      phase: "Failed",
      message: "one or more objects failed to apply, reason: no",
      resources: [{ kind: "ConfigMap", name: "plain" }],
    });
    const failed = await c.sync("plain");
    expect(failed.status.operationState).toMatchObject({
      phase: "Failed",
      syncResult: { resources: [{ name: "plain", status: "SyncFailed" }] },
    });
    expect(c.argocd.live()).toEqual([]);
    expect((await c.sync("plain")).status.operationState?.phase).toBe("Succeeded");
  });
});
