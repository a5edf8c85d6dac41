import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { objectAt } from "../../../sandbox/argocd/json.js";
import { startConversation, type Conversation } from "./conversation.js";

let c: Conversation;
beforeEach(async () => {
  c = await startConversation();
});
afterEach(() => c.stop());

describe("manifest-generate-paths", () => {
  const annotations = { "argocd.argoproj.io/manifest-generate-paths": "." };
  test.each([
    ["one file that it covers has everything rendered anew", annotations, "head", "2"],
    ["without the annotation nothing of the kind happens", {}, "base-only", "5"],
    [
      "an entry for the other folder covers it",
      { "argocd.argoproj.io/manifest-generate-paths": ".;/apps/kust/base" },
      "base-only",
      "5",
    ],
    [
      "an entry relative to the source's path covers it",
      { "argocd.argoproj.io/manifest-generate-paths": "../base" },
      "base-only",
      "5",
    ],
  ])("%s", async (_case, own, commit, expected) => {
    c.add("gp", "apps/kust/overlay", { metadata: { annotations: own } });
    await c.argocd.deploy("gp");
    await c.sync("gp", { revision: `{${commit}}` });
    expect(objectAt(c.argocd.liveObject("ConfigMap", "guestbook", "prod-kbase")).data).toEqual({ v: expected });
  });

  test("a file that moves out of the folder is not noticed", async () => {
    const text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: extra}}";
    await c.commit("main", { "apps/moves/extra.yaml": text });
    c.add("gp", "apps/moves", { metadata: { annotations } });
    await c.argocd.deploy("gp");
    await c.commit("main", { "apps/moves/extra.yaml": null, "old/extra.yaml": text });
    await c.sync("gp", { prune: true });
    expect(c.argocd.liveObject("ConfigMap", "guestbook", "extra")).toBeDefined();
  });

  test("after the merge the target branch is taken for unchanged as well", async () => {
    c.add("gp", "apps/kust/overlay", { metadata: { annotations } });
    await c.argocd.deploy("gp");
    await c.commit("main", {
      "apps/kust/base/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: kbase}, data: {v: '7'}}",
    });
    const refreshed = await c.ok("GET", "/api/v1/applications/gp?refresh=hard");
    expect(objectAt(refreshed, "status", "sync")).toMatchObject({
      status: "Synced",
      revision: await c.resolve("main"),
    });
  });
});
