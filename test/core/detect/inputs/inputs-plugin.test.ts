import { describe, expect, test } from "@jest/globals";
import type { LiveApplication } from "../../../../src/core/model/application.js";
import type { JsonObject } from "../../../../src/core/model/json.js";
import type { Files } from "../memory-snapshot.js";
import { single, touched, wholeReason } from "../read-inputs.js";

describe("a plugin may read the whole repository", () => {
  test("one that the definition names", async () => {
    expect(await wholeReason({}, single("apps/web", { plugin: { name: "cue" } }))).toContain("plugin");
    expect(await touched({}, single("apps/web", { plugin: { name: "cue" } }), ["any/file"])).toEqual(["any/file"]);
  });

  // `plugin: {}` means the plugin that finds itself responsible (operator-manual/config-management-plugins.md of Argo CD).
  test.each<[string, Files, JsonObject]>([
    ["the definition", {}, { plugin: {} }],
    ["the definition, with members that say nothing", {}, { plugin: { name: "" } }],
    ["an override", { "apps/web/.argocd-source.yaml": "plugin: {}" }, {}],
  ])("one without a name in %s", async (_, files, options) => {
    const all = { "apps/web/cm.yaml": "kind: ConfigMap", ...files };
    expect(await wholeReason(all, single("apps/web", options))).toBe("a plugin renders it and may read any file");
  });

  test("none where the block is null", async () => {
    expect(await wholeReason({}, single("apps/web", { plugin: null }))).toBeUndefined();
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

  // The list of applications, which is all that detection asks for, does not tell what renders them.
  test.each<[string, Files]>([
    ["holds nothing that Argo CD renders", { "apps/web/main.cue": 'import "acme.dev/lib"' }],
    ["holds nothing that Argo CD renders", { "apps/web/deep/a.cue": "", "apps/web/run.sh": "" }],
    ["holds nothing that Argo CD renders", { "apps/web": { kind: "symlink", target: "../cue" }, "cue/a.cue": "" }],
    ["is for helmfile", { "apps/web/helmfile.yaml": "releases: []" }],
    ["is for helmfile", { "apps/web/helmfile.yaml.gotmpl": "", "apps/web/values.yaml": "a: 1" }],
    ["is for helmfile", { "apps/web/helmfile.d/web.yaml": "releases: []", "apps/web/values.yaml": "a: 1" }],
  ])("one that Argo CD finds by itself, since the directory %s", async (why, files) => {
    expect(await wholeReason(files, single("apps/web"))).toBe(
      `a plugin renders it and may read any file (its directory ${why})`,
    );
  });

  test.each<[string, Files, JsonObject]>([
    ["manifests", { "apps/web/cm.yaml": "kind: ConfigMap", "apps/web/a.cue": "" }, {}],
    ["a chart", { "apps/web/Chart.yaml": "name: web", "apps/web/helmfile.yaml": "" }, {}],
    ["Jsonnet", { "apps/web/main.jsonnet": "{}", "apps/web/a.cue": "" }, {}],
    ["a link", { "apps/web/cm.yml": { kind: "symlink", target: "../cm.yaml" }, "apps/web/a.cue": "" }, {}],
    ["directory options", { "apps/web/a.cue": "" }, { directory: { recurse: true } }],
    ["Helm options", { "apps/web/a.cue": "" }, { helm: { releaseName: "x" } }],
    ["options in an override", { "apps/web/a.cue": "", "apps/web/.argocd-source.yaml": "helm: {version: v3}" }, {}],
    ["nothing but overrides", { "apps/web/.argocd-source-shop.yaml": "helm: {version: v3}" }, {}],
    ["nothing any more", { "apps/web/.gitkeep": "", "apps/web/old/README.md": "gone" }, {}],
    ["nothing", {}, {}],
  ])("none where Argo CD itself renders %s", async (_, files, options) => {
    expect(await wholeReason(files, single("apps/web", options))).toBeUndefined();
  });
});
