import { describe, expect, test } from "@jest/globals";
import type { LiveApplication } from "../../../../src/core/model/application.js";
import { single, touched, wholeReason } from "../read-inputs.js";

describe("a plugin may read the whole repository", () => {
  test("one that the definition names", async () => {
    expect(await wholeReason({}, single("apps/web", { plugin: { name: "cue" } }))).toContain("plugin");
    expect(await touched({}, single("apps/web", { plugin: { name: "cue" } }), ["any/file"])).toEqual(["any/file"]);
    expect(await wholeReason({}, single("apps/web", { plugin: {} }))).toBeUndefined();
  });

  test("a plugin that Argo CD found by itself, as the live object tells", async () => {
    const rendered = (sourceType: string): LiveApplication => ({
      ...single("apps/web"),
      sourceTypes: [sourceType],
      owningSet: undefined,
      parent: undefined,
      comparedRevisions: [],
      deleting: false,
      cascades: false,
    });
    expect(await wholeReason({}, rendered("Plugin"))).toContain("plugin");
    expect(await wholeReason({}, rendered("Helm"))).toBeUndefined();
  });
});
