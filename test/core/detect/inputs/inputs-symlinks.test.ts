import { describe, expect, test } from "@jest/globals";
import type { Files } from "../memory-snapshot.js";
import { single, touched, wholeReason } from "../read-inputs.js";

const to = (target: string) => ({ kind: "symlink", target }) as const;
const helm = (...valueFiles: string[]) => single("charts/web", { helm: { valueFiles } });

describe("symbolic links", () => {
  test.each<[string, Files, readonly string[], readonly string[]]>([
    ["to a file", { "apps/web/cm.yaml": to("../../common/cm.yaml") }, ["common/cm.yaml"], ["common/x"]],
    ["to a directory", { "apps/web/lib": to("../../common/lib") }, ["common/lib/a", "common/lib/b/c"], ["common/x"]],
    ["to a link", { "apps/web/a": to("../b"), "apps/b": to("../c"), "c/x": "" }, ["apps/b", "c", "c/x"], ["apps/c"]],
    [
      "in a directory that a link leads to",
      { "apps/web/a": to("../../b"), "b/deep/l": to("../../c/d"), "c/d": "" },
      ["b/deep/l", "c/d"],
      ["c/e", "d"],
    ],
    ["above the path", { apps: to("real"), "real/web/cm.yaml": "" }, ["apps", "real/web/cm.yaml"], ["real/shop/x"]],
    ["that the path itself is", { "apps/web": to("../v2"), "v2/x.yaml": "" }, ["apps/web", "v2/x"], ["apps/x", "v1/x"]],
    ["to what is not there yet", { "apps/web/cm.yaml": to("../later.yaml") }, ["apps/later.yaml"], ["apps/x"]],
    ["out of the repository", { "apps/web/x": to("../../../etc/passwd") }, [], ["etc/passwd", "x"]],
    ["to an absolute path", { "apps/web/x": to("/common/cm.yaml") }, [], ["common/cm.yaml"]],
    ["to itself", { "apps/web/x": to("x") }, [], ["x", "apps/x"]],
    ["in a circle", { "apps/web/x": to("../y"), "apps/y": to("web/x") }, ["apps/y"], ["apps/z"]],
    ["to the root", { "apps/web/all": to("../..") }, ["anything", "apps/shop/x"], []],
    ["elsewhere", { "docs/link": to("../common"), "common/x": "" }, [], ["docs/link", "common/x"]],
    ["with broken target through a file", { "apps/web/x": to("cm.yaml/y"), "apps/web/cm.yaml": "" }, [], ["y"]],
  ])("one %s", async (_, files, inside, outside) => {
    expect(await wholeReason(files, single("apps/web"))).toBeUndefined();
    expect(await touched(files, single("apps/web"), [...inside, ...outside])).toEqual(inside);
  });

  test.each<[string, Files, string, string]>([
    ["a value file", { "envs/prod.yaml": to("../real/p.yaml") }, "/envs/prod.yaml", "real/p.yaml"],
    ["above a value file", { envs: to("real/envs") }, "/envs/prod.yaml", "real/envs/prod.yaml"],
    ["among the files of a glob", { "envs/eu.yaml": to("../real/eu.yaml") }, "/envs/*.yaml", "real/eu.yaml"],
    ["above the files of a glob", { "envs/eu": to("../real/eu") }, "/envs/*/v.yaml", "real/eu/v.yaml"],
    ["at the root of a glob", { envs: to("real/envs") }, "/envs/*.yaml", "real/envs/eu.yaml"],
  ])("one that is %s", async (_, files, valueFile, path) => {
    expect(await touched(files, helm(valueFile), [path, "real/other"])).toEqual([path]);
  });

  test("a chart behind a linked path has its dependencies where the link stands and where it leads", async () => {
    const files = {
      "apps/web": to("../charts/v2/web"),
      "charts/v2/web/Chart.yaml": "dependencies: [{name: l, repository: 'file://../lib'}]",
    };
    const paths = ["apps/lib/x", "charts/v2/lib/x"];
    expect(await touched(files, single("apps/web"), [...paths, "charts/lib/x"])).toEqual(paths);
  });

  test.each<[string, Files]>([
    ["inside", { "apps/web/link": { kind: "symlink" } }],
    ["above", { apps: { kind: "symlink" } }],
    ["behind another", { "apps/web/link": to("../other"), "apps/other": { kind: "symlink" } }],
  ])("one that cannot be read, %s: the whole repository", async (_, files) => {
    expect(await wholeReason(files, single("apps/web"))).toMatch(/^the symbolic link apps\S* cannot be read$/);
  });

  test("a link that cannot be read elsewhere does not matter", async () => {
    expect(await wholeReason({ "docs/link": { kind: "symlink" } }, single("apps/web"))).toBeUndefined();
  });

  test("thousands of links to one place take no time", async () => {
    const many = Array.from({ length: 6000 }, (_, at) => at);
    const files: Files = Object.fromEntries<Files[string]>([
      ...many.map((at) => [`apps/web/l${at}`, to("../..")] as const),
      ...many.map((at) => [`d/x${at}`, ""] as const),
    ]);
    const before = process.cpuUsage();
    expect(await touched(files, single("apps/web"), ["d/x1"])).toEqual(["d/x1"]);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
  });

  test("links whose long targets are links in turn take no time", async () => {
    const long = "./".repeat(2000);
    const files: Files = Object.fromEntries<Files[string]>([
      ...Array.from({ length: 39 }, (_, at) => [`l${at}`, to(`${long}l${at + 1}`)] as const),
      ["l39", ""],
      ...Array.from({ length: 200 }, (_, at) => [`apps/web/m${at}`, to("../../l0")] as const),
    ]);
    const before = process.cpuUsage();
    expect(await touched(files, single("apps/web"), ["l39"])).toEqual(["l39"]);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(15); // seconds of our own, however busy the machine is
  });
});

test.each<[string, string, Files]>([
  ["deep folders", `${"x/".repeat(105)}x`, {}],
  ["a link to deep folders", `l/${"x/".repeat(50)}x`, { "apps/web/l": to(`../../${"x/".repeat(55)}x`) }],
])("what a base below %s reads is not known, and so may be any file", async (_, base, links) => {
  const place = base.startsWith("l") ? "x/".repeat(106) : `apps/web/${base}/`;
  const files: Files = {
    link: to("apps"),
    "apps/web/kustomization.yaml": `resources: [${base}]`,
    [`${place}kustomization.yaml`]: `resources: [${"../".repeat(108)}common]`,
    "common/kustomization.yaml": "resources: [cm.yaml]",
    ...links,
  };
  expect(await wholeReason(files, single("apps/web"))).toBeDefined();
});
