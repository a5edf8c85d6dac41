import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { objectAt, type JsonObject } from "../../../sandbox/argocd/json.js";
import { multiSources, refusal, startConversation, type Conversation } from "./conversation.js";

let c: Conversation;
beforeEach(async () => {
  c = await startConversation();
  c.add("plain", "apps/plain");
});
afterEach(() => c.stop());

const post = (name: string, body: JsonObject) => c.call("POST", `/api/v1/applications/${name}/sync`, { body });
const read = (name: string) => c.ok("GET", `/api/v1/applications/${name}`);

describe("the course of a sync", () => {
  test("a second sync meanwhile, and four at once: exactly one is accepted", async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => post("plain", { revision: "{head}" })));
    const busy = refusal(400, 9, "another operation is already in progress");
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([busy, busy, busy]);
    await read("plain");
    expect(await post("plain", {})).toEqual(busy);
  });

  test("auto-sync that is switched off is no obstacle; one of several sources is named in the refusal", async () => {
    c.add("off", "apps/plain", { spec: { syncPolicy: { automated: { enabled: false } } } });
    expect((await post("off", { revision: "{head}" })).status).toBe(200);
    c.add("autos", "", { spec: { sources: multiSources, syncPolicy: { automated: {} } } });
    const { answer } = await post("autos", { sourcePositions: [3], revisions: ["{head}"] });
    expect(objectAt(answer).message).toMatch(
      /^Cannot sync source https:\S+ to [0-9a-f]{40}: auto-sync currently set to main$/,
    );
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
});

describe("what is written", () => {
  test("hooks run in their phases and are reported as hooks", async () => {
    c.add("hooks", "apps/hooks");
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
