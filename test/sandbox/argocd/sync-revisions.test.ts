import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { objectAt, type JsonObject } from "../../../sandbox/argocd/json.js";
import { multiSources, refusal, startConversation, type Conversation } from "./conversation.js";

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

describe("revisions", () => {
  test("an unknown branch is refused at once, an unknown commit fails later", async () => {
    const message =
      "error resolving repo revision: rpc error: code = Unknown desc = unable to resolve 'none' to a commit SHA";
    expect(await post("plain", { revision: "none" })).toEqual(refusal(400, 9, message));
    const done = await c.sync("plain", { revision: "f".repeat(40) });
    expect(done.status.operationState).toMatchObject({
      phase: "Error",
      message: expect.stringMatching(/^ComparisonError: Failed to load target state: /),
    });
    expect(done.status.operationState?.syncResult).not.toHaveProperty("resources");
  });

  test("revision is ignored on several sources: the target branches are deployed, with success", async () => {
    c.add("multi", "", { spec: { sources: multiSources } });
    const done = await c.sync("multi", { revision: "{head}" });
    expect(done.status.operationState).toMatchObject({
      phase: "Succeeded",
      syncResult: { revision: "", revisions: [1, 2, 3].map(() => commit("main")) },
    });
  });

  test("positions are ignored on a single source", async () => {
    const done = await c.sync("plain", { sourcePositions: [1], revisions: ["{head}"] });
    expect(done.status.operationState?.syncResult?.revision).toBe(commit("main"));
  });

  test("positions on several sources deploy those commits", async () => {
    c.add("multi", "", { spec: { sources: multiSources } });
    const done = await c.sync("multi", { sourcePositions: [1, 2], revisions: ["{head}", "{head}"] });
    expect(done.status.operationState?.syncResult?.revisions).toEqual([commit("head"), commit("head"), commit("main")]);
    expect(done.status.history).toEqual([
      expect.objectContaining({ id: 0, source: { repoURL: "" }, sources: expect.any(Array) }),
    ]);
    expect(done.status.history?.[0]).not.toHaveProperty("revision");
  });

  test("positions that leave out the reference: accepted, then Error", async () => {
    c.add("multi", "", { spec: { sources: multiSources } });
    const done = await c.sync("multi", { sourcePositions: [1], revisions: ["{head}"] });
    expect(done.status.operationState).toMatchObject({
      phase: "Error",
      message: expect.stringContaining("cannot reference a different revision"),
    });
  });

  test.each([
    [
      "more positions than revisions",
      { sourcePositions: [1, 2], revisions: ["{head}"] },
      refusal(500, 13, "runtime error: index out of range [1] with length 1"),
    ],
    [
      "a position out of range",
      { sourcePositions: [9], revisions: ["{head}"] },
      refusal(500, 2, "source position is out of range"),
    ],
    [
      "positions as texts",
      { sourcePositions: ["1"], revisions: ["{head}"] },
      refusal(
        400,
        3,
        "json: cannot unmarshal string into Go struct field ApplicationSyncRequest.sourcePositions of type int64",
      ),
    ],
  ])("%s", async (_case, body, expected) => {
    c.add("multi", "", { spec: { sources: multiSources } });
    expect(await post("multi", body)).toEqual(expected);
  });
});

describe("refusals", () => {
  test("auto-sync and a commit; empty revision and dry run are accepted", async () => {
    c.add("auto", "apps/plain", { spec: { syncPolicy: { automated: {} } } });
    const message = `Cannot sync to ${commit("head")}: auto-sync currently set to main`;
    expect(await post("auto", { revision: "{head}" })).toEqual(refusal(400, 9, message));
    expect((await c.sync("auto")).status.operationState?.phase).toBe("Succeeded");
    expect((await c.sync("auto", { revision: "{head}", dryRun: true })).status.operationState?.phase).toBe("Succeeded");
    c.add("off", "apps/plain", { spec: { syncPolicy: { automated: { enabled: false } } } });
    expect((await post("off", { revision: "{head}" })).status).toBe(200);
    c.add("autos", "", { spec: { sources: multiSources, syncPolicy: { automated: {} } } });
    const { answer } = await post("autos", { sourcePositions: [3], revisions: ["{head}"] });
    expect(objectAt(answer).message).toMatch(
      /^Cannot sync source https:\S+ to [0-9a-f]{40}: auto-sync currently set to main$/,
    );
  });

  test("a closed sync window, for dry runs too; what syncwindows says", async () => {
    c.add("winapp", "apps/plain", { spec: { project: "win" } });
    const blocked = refusal(403, 7, "cannot sync: blocked by sync window");
    expect(await post("winapp", { revision: "{head}" })).toEqual(blocked);
    expect(await post("winapp", { revision: "{head}", dryRun: true })).toEqual(blocked);
    const window = { kind: "deny", schedule: "* * * * *", duration: "24h", manualSync: false };
    expect(await c.ok("GET", "/api/v1/applications/winapp/syncwindows")).toEqual({
      activeWindows: [window],
      assignedWindows: [window],
      canSync: false,
    });
    expect(await c.ok("GET", "/api/v1/applications/plain/syncwindows")).toEqual({ canSync: true });
  });

  test("without the right to sync: the long form", async () => {
    const { answer } = await post("plain", {}, "readonly");
    expect(objectAt(answer).message).toMatch(
      /^permission denied: applications, sync, default\/plain, sub: readonly, iat: /,
    );
    expect(await c.call("POST", "/api/v1/applications/nope/sync", { body: {} })).toEqual(
      refusal(403, 7, "permission denied"),
    );
  });
});

describe("retries", () => {
  const retry = { limit: 2, refresh: true, backoff: { duration: "1s", factor: 1, maxDuration: "2s" } };

  test("waiting for a retry: operation, phase Running, and a finish all the same", async () => {
    c.add("nons", "apps/plain", { spec: elsewhere });
    await post("nons", { revision: "{head}", retryStrategy: { limit: 1, backoff: { duration: "1s", factor: 1 } } });
    for (let poll = 0; poll < 3; poll += 1) await read("nons");
    const waiting = c.argocd.application("nons");
    expect(waiting?.operation).toBeDefined();
    expect(waiting?.status.operationState).toMatchObject({
      phase: "Running",
      finishedAt: expect.any(String),
      retryCount: 1,
    });
    expect(waiting?.status.operationState?.message).toMatch(/not found\. Retrying attempt #1 at \d{1,2}:\d\d[AP]M\.$/);
    expect((await c.finished("nons")).status.operationState).toMatchObject({
      phase: "Failed",
      message: `${noNamespace} (retried 1 times).`,
    });
  });

  test("retry.refresh forgets the commit that was asked for: the target branch is deployed, with success", async () => {
    c.add("rr", "apps/plain", { spec: { syncPolicy: { retry } } });
    c.argocd.failNextSync("rr", { phase: "Failed", message: "one or more objects failed to apply, reason: busy" });
    const done = await c.sync("rr", { revision: "{head}" });
    expect(done.status.operationState).toMatchObject({
      phase: "Succeeded",
      operation: { sync: { revision: commit("head") } },
      syncResult: { revision: commit("main") },
    });
  });

  test("with retryStrategy limit 0 it stays ours and is not tried again", async () => {
    c.add("rr", "apps/plain", { spec: { syncPolicy: { retry } } });
    c.argocd.failNextSync("rr", { phase: "Failed", message: "one or more objects failed to apply, reason: busy" });
    const done = await c.sync("rr", { revision: "{head}", retryStrategy: { limit: 0 } });
    expect(done.status.operationState).toMatchObject({ phase: "Failed", syncResult: { revision: commit("head") } });
  });
});
