import { describe, expect, test } from "@jest/globals";
import { single, touched, wholeReason } from "../read-inputs.js";

describe("override files", () => {
  const overriding = (text: string) => ({
    "apps/web/.argocd-source-web.yaml": text,
    "apps/web/.argocd-source.yaml": "{}",
  });

  test("what they add to a source is read as well", async () => {
    const files = overriding("helm: {valueFiles: [../../envs/prod.yaml]}\nkustomize: {components: [../../comp]}");
    expect(await touched(files, single("apps/web"), ["envs/prod.yaml", "comp/x.yaml", "y"])).toEqual([
      "envs/prod.yaml",
      "comp/x.yaml",
    ]);
  });

  test("a text that no path can be takes no time, and makes the whole repository an input", async () => {
    const before = process.cpuUsage();
    const long = "${".repeat(100_000);
    const files = overriding(JSON.stringify({ helm: { valueFiles: [long] } }));
    const reason = await wholeReason(files, single("apps/web"));
    expect(reason).toContain("cannot be told before rendering");
    expect(reason?.length).toBeLessThan(300);
    const tlas = [{ name: "a", code: true, value: `import 'a.libsonnet' + '${long}'` }];
    const jsonnet = {
      "apps/web/x.jsonnet": "",
      "apps/web/.argocd-source.yaml": JSON.stringify({ directory: { jsonnet: { tlas } } }),
    };
    expect(await touched(jsonnet, single("apps/web"), ["apps/web/a.libsonnet"])).toHaveLength(1);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
  });

  test.each([["directory: {}"], ["directory: {recurse: true}"]])(
    "%s makes a directory of a kustomization",
    async (text) => {
      const files = {
        ...overriding(text),
        "apps/web/kustomization.yaml": "",
        "apps/web/x.jsonnet": "import '../../lib/a.libsonnet'",
      };
      expect(await touched(files, single("apps/web"), ["lib/a.libsonnet"])).toEqual(["lib/a.libsonnet"]);
    },
  );

  test("those of other applications are not", async () => {
    const files = { "apps/web/.argocd-source-shop.yaml": "helm: {valueFiles: [../../envs/prod.yaml]}" };
    expect(await touched(files, single("apps/web"), ["envs/prod.yaml"])).toEqual([]);
  });

  test.each([
    ["helm: {fileParameters: [{name: ca, path: ../../certs/ca.pem}]}", "certs/ca.pem"],
    ["helm: {valueFiles: [/envs/*.yaml]}", "envs/eu.yaml"],
    ["kustomize: {patches: [{path: ../../patches/p.yaml}]}", "patches/p.yaml"],
    ["directory: {jsonnet: {libs: [vendor]}}", "vendor/k.libsonnet"],
  ])("%s reads %s as well", async (text, path) => {
    const files = { ...overriding(text), "apps/web/main.jsonnet": "{}" };
    for (const name of [".argocd-source.yaml", ".argocd-source-web.yaml"]) {
      const only = { "apps/web/main.jsonnet": "{}", [`apps/web/${name}`]: text };
      expect(await touched(only, single("apps/web"), [path, "other/file"])).toEqual([path]);
    }
    expect(await touched(files, single("apps/shop"), [path])).toEqual([]);
  });

  test("a file that is added, changed or removed is in the path itself", async () => {
    const paths = ["apps/web/.argocd-source.yaml", "apps/web/.argocd-source-web.yaml", ".argocd-source.yaml"];
    expect(await touched({}, single("apps/web"), paths)).toEqual(paths.slice(0, 2));
  });

  test("one that is a link is read where it leads to", async () => {
    const files = {
      "apps/web/.argocd-source-web.yaml": { kind: "symlink", target: "../../common/source.yaml" } as const,
      "common/source.yaml": "helm: {valueFiles: [../../envs/prod.yaml]}",
    };
    expect(await touched(files, single("apps/web"), ["envs/prod.yaml", "common/source.yaml", "common/x"])).toEqual([
      "envs/prod.yaml",
      "common/source.yaml",
    ]);
  });

  test("a key that only Argo CD takes for a member makes the whole repository an input", async () => {
    const spelled = "Helm: {valueFiles: [../../envs/prod.yaml]}";
    for (const name of [".argocd-source.yaml", ".argocd-source-web.yaml"]) {
      expect(await wholeReason({ [`apps/web/${name}`]: spelled }, single("apps/web"))).toBe(
        `apps/web/${name} has the key Helm, which Argo CD reads as helm`,
      );
    }
  });

  test("one that cannot be read makes the whole repository an input", async () => {
    expect(await wholeReason(overriding("helm: ["), single("apps/web"))).toBe(
      "apps/web/.argocd-source-web.yaml cannot be read",
    );
    expect(await wholeReason(overriding("plugin: {name: cue}"), single("apps/web"))).toContain("plugin");
  });
});
