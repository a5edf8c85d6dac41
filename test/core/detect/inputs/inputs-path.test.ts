import { describe, expect, test } from "@jest/globals";
import { touches } from "../../../../src/core/detect/inputs/input-set.js";
import type { Application } from "../../../../src/core/model/application.js";
import { ChangedPaths } from "../../../../src/core/model/collections.js";
import { type Files, OWN_URL } from "../memory-snapshot.js";
import { application, inputs, single, touched, wholeReason } from "../read-inputs.js";

describe("the source's path", () => {
  test.each([
    ["apps/web", ["apps/web/cm.yaml", "apps/web/deep/x"], ["apps/webshop/cm.yaml", "apps", "README.md"]],
    ["./apps//web/", ["apps/web/cm.yaml"], ["apps/webshop/cm.yaml"]],
    ["apps/x/../web", ["apps/web/cm.yaml"], ["apps/x/cm.yaml"]],
    [".", ["README.md", "apps/web/cm.yaml"], []],
    ["", ["README.md"], []],
    ["/", ["README.md"], []],
  ])("%j", async (path, inside, outside) => {
    const files = { "apps/web/cm.yaml": "a: 1", "apps/webshop/cm.yaml": "a: 1" };
    const paths = [...inside, ...outside.filter((one) => one !== "apps")];
    expect(await touched(files, single(path), paths)).toEqual(inside);
  });

  test("a changed entry above it changes it: a submodule or link that holds it", async () => {
    expect(await touched({}, single("vendor/lib/app"), ["vendor/lib", "vendor/other", "vendor/lib/app"])).toEqual([
      "vendor/lib",
      "vendor/lib/app",
    ]);
  });

  test.each<[string, Files, Application]>([
    ["of the source", {}, single("a/".repeat(101))],
    ["of a value file", {}, single("web", { helm: { valueFiles: ["a/".repeat(101)] } })],
    ["of a base", { "web/kustomization.yaml": `resources: [../${"a/".repeat(101)}]` }, single("web")],
    [
      "of a chart",
      { "web/Chart.yaml": `dependencies: [{repository: "file://../${"a/".repeat(101)}"}]` },
      single("web"),
    ],
  ])("the path %s that is below more folders than any is the whole repository", async (_, files, of) => {
    expect(await wholeReason(files, of)).toBe("a path that it reads is below more folders than svc looks at");
  });

  test("no positions, no inputs; no changes, nothing touched", async () => {
    expect(await inputs({}, single("."), [])).toEqual([]);
    expect(touches(await inputs({}, single(".")), new ChangedPaths([]))).toBe(false);
  });

  test("sources at other positions do not count", async () => {
    const of = application({
      sources: [
        { repoURL: OWN_URL, path: "a" },
        { repoURL: "https://x.example/y", path: "b" },
      ],
    });
    expect(await touched({}, of, ["a/x", "b/x"])).toEqual(["a/x"]);
  });

  test("a source that is only a reference reads nothing by itself", async () => {
    const of = application({
      sources: [
        { repoURL: OWN_URL, ref: "values" },
        { repoURL: OWN_URL, ref: "v2", path: "a" },
      ],
    });
    expect(await touched({}, of, ["a/x", "b/x"], [1, 2])).toEqual(["a/x"]);
  });
});

test("entries of manifest-generate-paths widen what counts", async () => {
  const of = {
    ...single("apps/web"),
    annotations: { "argocd.argoproj.io/manifest-generate-paths": ".;../base; /lib/*.yaml ;;" },
  };
  const paths = ["apps/web/x", "apps/base/x", "lib/a.yaml", "lib/deep/a.yaml", "other"];
  expect(await touched({}, of, paths)).toEqual(paths.slice(0, 3));
});

test("both halves of a source hydrator count", async () => {
  const of = application({
    sourceHydrator: { drySource: { repoURL: OWN_URL, path: "dry" }, syncSource: { targetBranch: "e", path: "wet" } },
  });
  expect(await touched({}, of, ["dry/x", "wet/x", "x"])).toEqual(["dry/x", "wet/x"]);
});

test("thousands of sources of one application take no time, and count as the whole repository", async () => {
  const files = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`d${at}/x.yaml`, "a: 1"]));
  const sources = Array.from({ length: 3000 }, () => ({ repoURL: OWN_URL, path: "." }));
  const positions = sources.map((_, at) => at + 1);
  const before = process.cpuUsage();
  expect(await wholeReason(files, application({ sources }), positions)).toBe("it has more than 100 sources");
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(3); // seconds of our own, however busy the machine is
});
