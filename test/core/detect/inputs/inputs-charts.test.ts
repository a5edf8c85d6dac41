import { describe, expect, test } from "@jest/globals";
import type { Files } from "../memory-snapshot.js";
import { inputs, single, touched, wholeReason } from "../read-inputs.js";

describe("chart dependencies", () => {
  const chart = (...repositories: string[]) =>
    `name: c\ndependencies:\n${repositories.map((one) => `- {name: d, repository: "${one}"}\n`).join("")}`;

  test.each([
    ["beside", "file://../lib", "charts/lib/x", "charts/other/x"],
    ["inside", "file://sub/lib", "charts/web/sub/lib/x", "charts/lib/x"],
    ["above the repository's root: it stops there", "file://../../../../lib", "lib/x", "charts/lib/x"],
    ["not there yet", "file://../missing", "charts/missing/Chart.yaml", "charts/x"],
  ])("a local dependency %s: %s", async (_, repository, inside, outside) => {
    // `helm dependency build` (3.15, 3.18 and 4.2) took the dependencies of a lock file with a fitting digest, whatever Chart.yaml says.
    for (const name of [
      "Chart.yaml",
      "requirements.yaml",
      "charts/sub/Chart.yaml",
      "Chart.lock",
      "requirements.lock",
    ]) {
      const up = name.startsWith("charts/") ? repository.replace("file://", "file://../../") : repository;
      const files = { "charts/web/Chart.yaml": "name: web", [`charts/web/${name}`]: chart(up) };
      expect(await touched(files, single("charts/web"), [inside, outside])).toEqual([inside]);
    }
  });

  test.each<[string, Files]>([
    ["plain manifests", { "apps/cm.yaml": "a: 1" }],
    ["a kustomization", { "apps/kustomization.yaml": "resources: [cm.yaml]" }],
  ])("Helm builds no chart in a folder below %s, such as a template for new ones", async (_, files) => {
    const all = {
      ...files,
      "apps/_new/Chart.yaml": "name: {{ name }}-x",
      "apps/a/Chart.yaml": chart("file://../../lib"),
    };
    expect(await wholeReason(all, single("apps"))).toBeUndefined();
    expect(await touched(all, single("apps"), ["apps/_new/x", "lib/x"])).toEqual(["apps/_new/x"]);
    expect(await wholeReason({ ...all, "apps/Chart.yaml": "name: apps" }, single("apps"))).toContain("cannot be read");
  });

  test("an alias or a condition changes nothing of what is read", async () => {
    const text = "dependencies: [{name: db, alias: cache, condition: db.on, repository: 'file://../db'}]";
    expect(await touched({ "charts/web/Chart.yaml": text }, single("charts/web"), ["charts/db/x"])).toEqual([
      "charts/db/x",
    ]);
  });

  // Helm decodes its files with Go's `encoding/json`, which ignores upper and lower case.
  test.each([
    "Dependencies: [{name: lib, repository: 'file://../lib'}]",
    "dependencies: [{Name: lib, Repository: 'file://../lib'}]",
  ])("%s is a local dependency", async (text) => {
    const files = { "charts/web/Chart.yaml": text };
    expect(await touched(files, single("charts/web"), ["charts/lib/x", "charts/z"])).toEqual(["charts/lib/x"]);
  });

  test("a subchart in a linked directory brings its own dependencies", async () => {
    const files = {
      "charts/web/Chart.yaml": "name: web",
      "charts/web/charts/db": { kind: "symlink", target: "../../../common/db" } as const,
      "common/db/Chart.yaml": chart("file://../deep"),
    };
    expect(await touched(files, single("charts/web"), ["common/db/x", "common/deep/x", "common/z"])).toEqual([
      "common/db/x",
      "common/deep/x",
    ]);
  });

  test.each([
    ["", "", false],
    ["file://../lib", "", false],
    ["https://charts.example.com", "1.2.3", false],
    ["oci://registry.example.com/charts", "v1.2.3-rc.1+b", false],
    ["https://charts.example.com", "^1.2.3", true],
    ["https://charts.example.com", "1.x", true],
    ["https://charts.example.com", "", true],
    ["@alias", "~1", true],
  ])("a dependency from %j at %j is fetched from elsewhere: %s", async (repository, version, remote) => {
    const text = `dependencies: [{name: d, repository: "${repository}", version: "${version}"}]`;
    expect(await inputs({ "charts/web/Chart.yaml": text }, single("charts/web"))).toMatchObject([{ remote }]);
  });

  test("local dependencies of a chart, of its subcharts and of those in turn", async () => {
    const files = {
      "charts/web/Chart.yaml": chart("file://../lib", "https://charts.example.com"),
      "charts/web/charts/sub/Chart.yaml": chart("file://../../../sublib"),
      "charts/lib/Chart.yaml": chart("file://../deep", "file://../web"),
      "charts/deep/requirements.yaml": "dependencies: [{repository: file://../old}]",
      "charts/unused/Chart.yaml": "name: unused",
    };
    const paths = ["charts/lib/x", "charts/sublib/x", "charts/deep/x", "charts/old/x", "charts/unused/x"];
    expect(await touched(files, single("charts/web"), paths)).toEqual(paths.slice(0, 4));
  });

  test.each([
    ["name: {{ .Values.x }}-y\n", "cannot be read"],
    ["dependencies: text\n", "cannot be read"],
    ["- list\n", "cannot be read"],
    [{ kind: "binary" } as const, "cannot be read"],
  ])("a Chart.yaml like %j makes the whole repository an input", async (text, reason) => {
    expect(await wholeReason({ "charts/web/Chart.yaml": text }, single("charts/web"))).toContain(reason);
  });

  test.each(["", "name: c\ndependencies: null\n", "name: c\ndependencies: [null, {name: x}, 4]\n"])(
    "a Chart.yaml %j has no dependencies",
    async (text) => {
      expect(await wholeReason({ "charts/web/Chart.yaml": text }, single("charts/web"))).toBeUndefined();
    },
  );

  test("too many charts are the whole repository", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 210 }, (_, index) => [`c/${index}/Chart.yaml`, chart(`file://../${index + 1}`)]),
    );
    expect(await wholeReason(files, single("c/0"))).toContain("more than 200 charts");
  });

  test("thousands of dependencies in each of hundreds of charts take no time, and are the whole repository", async () => {
    const names = Array.from({ length: 3000 }, (_, at) => `file://../lib${at}`);
    const charts = Array.from({ length: 300 }, (_, at) => [`c/d${at}/Chart.yaml`, chart(...names)] as const);
    const before = process.cpuUsage();
    const files = { ...Object.fromEntries(charts), "c/Chart.yaml": "name: c" };
    expect(await wholeReason(files, single("c"))).toBe("its charts depend on too much");
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(3); // seconds of our own, however busy the machine is
  });
});
