import { describe, expect, test } from "@jest/globals";
import { uncoveredByGeneratePaths } from "../../../../src/core/detect/inputs/generate-paths.js";
import { generatePathEntries } from "../../../../src/core/detect/inputs/input-set.js";
import { inputsOf } from "../../../../src/core/detect/inputs/inputs.js";
import type { Application } from "../../../../src/core/model/application.js";
import { applicationName } from "../../../../src/core/model/brand.js";
import type { JsonObject } from "../../../../src/core/model/json.js";
import { HEAD, memorySnapshot, OWN_URL } from "../memory-snapshot.js";

const ANNOTATION = "argocd.argoproj.io/manifest-generate-paths";

test.each([
  [".", "apps/web", [["apps/web", "/apps/web"]]],
  [
    ".;../common",
    "apps/web",
    [
      ["apps/web", "/apps/web"],
      ["apps/common", "/apps/common"],
    ],
  ],
  [
    " /x/y/ ; ;./z",
    "apps/web",
    [
      ["x/y", "/x/y/"],
      ["apps/web/z", "/apps/web/z"],
    ],
  ],
  ["../../../x", "apps/web", [["x", "/../x"]]],
  ["//x", "apps/web", [["x", "//x"]]],
  ["*.yaml", "apps/web", [["apps/web/*.yaml", "/apps/web/*.yaml"]]],
  [".", "", [["", "/"]]],
  ["/", "apps/web", [["", "/"]]],
  ["", "apps/web", undefined],
  [" ; ", "apps/web", undefined],
])("the entries of %j for a source with the path %j", (annotation, path, entries) => {
  const found = generatePathEntries({ [ANNOTATION]: annotation }, path);
  expect(found?.map(({ directory, pattern }) => [directory, pattern])).toEqual(entries);
});

test("of more entries than anybody writes the first ones count", () => {
  const annotation = Array.from({ length: 1500 }, (_, at) => `/${at}`).join(";");
  const found = generatePathEntries({ [ANNOTATION]: annotation }, "");
  expect([found?.length, found?.at(-1)?.pattern]).toEqual([1000, "/999"]);
});

test.each<[string, readonly string[], number]>([
  ["patterns", Array.from({ length: 1000 }, (_, at) => `/q${at}${"[a-z]".repeat(45)}`), 3000],
  ["folders", Array.from({ length: 1000 }, (_, at) => `/q${at}`), 30_000],
])("a thousand %s are compared with the files of a very large change in no time", async (_, entries, count) => {
  const annotations = { [ANNOTATION]: entries.join(";") };
  const part = {
    position: 1,
    sourcePath: "apps/web",
    whole: undefined,
    paths: ["apps/web"],
    patterns: [],
    remote: false,
  };
  const paths = Array.from({ length: count }, (_one, at) => `apps/web/${at}/x.yaml`);
  const before = performance.now();
  const found = await uncoveredByGeneratePaths({ annotations }, [part], () => changesOf(paths));
  expect(performance.now() - before).toBeLessThan(10_000);
  expect(found?.missingEntry).toBe("/apps/web");
});

test("patterns of folders that do not change leave the last one enough steps for a very large change", async () => {
  const others = Array.from({ length: 100 }, (_, at) => `/other/${at}/*.yaml`);
  const annotations = { [ANNOTATION]: [...others, "/apps/*/x.yaml"].join(";") };
  const part = { position: 1, sourcePath: "apps", whole: undefined, paths: ["apps"], patterns: [], remote: false };
  const paths = Array.from({ length: 10_000 }, (_one, at) => `apps/${at}/x.yaml`);
  expect(await uncoveredByGeneratePaths({ annotations }, [part], () => changesOf(paths))).toBeUndefined();
});

/** Changes that git prints as they are. */
const changesOf = (paths: readonly string[]) => ({ paths, plain: paths, printed: () => Promise.resolve(paths) });

describe("changed inputs that the annotation does not cover", () => {
  const FILES = {
    "apps/web/kustomization.yaml": "resources: [../base, ../../lib/a/x.yaml, ../../lib/b/y.yaml, ../../top.yaml]",
    "apps/base/kustomization.yaml": "resources: [cm.yaml]",
  };
  const single = { source: { repoURL: OWN_URL, path: "apps/web" } };

  async function uncovered(
    annotation: string | undefined,
    changed: readonly string[],
    spec: JsonObject = single,
    positions = [1],
  ) {
    const application: Application = {
      name: applicationName("web"),
      resourceName: "web",
      namespace: undefined,
      project: "default",
      labels: {},
      annotations: annotation === undefined ? {} : { [ANNOTATION]: annotation },
      spec,
    };
    const inputs = await inputsOf(application, positions, memorySnapshot(FILES), HEAD);
    return uncoveredByGeneratePaths(application, inputs, () => changesOf(changed));
  }

  test.each<[string | undefined, readonly string[], readonly string[] | undefined, string]>([
    [".", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    [".", ["apps/base/cm.yaml", "lib/a/x.yaml", "docs/z"], ["apps/base/cm.yaml", "lib/a/x.yaml"], "/apps/base;/lib/a"],
    [".", ["top.yaml"], ["top.yaml"], "/top.yaml"],
    // One file that matches is enough to have everything rendered anew.
    [".", ["apps/base/cm.yaml", "apps/web/x"], undefined, ""],
    ["/docs", ["apps/base/cm.yaml", "docs/z"], undefined, ""],
    [".;../base", ["apps/base/cm.yaml"], undefined, ""],
    ["/apps/*/cm.yaml", ["apps/base/cm.yaml"], undefined, ""],
    // `**` is no more than `*` here, and braces are letters.
    ["/apps/**", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    ["/apps/{base,x}", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    // A file is matched by its own name, by a directory above it, or by a pattern of the whole path.
    ["/apps/base/cm.yaml", ["apps/base/cm.yaml"], undefined, ""],
    ["/apps/base/", ["apps/base/cm.yaml"], undefined, ""],
    ["/./apps/../apps/base", ["apps/base/cm.yaml"], undefined, ""],
    ["../base/*.yaml", ["apps/base/cm.yaml"], undefined, ""],
    ["../../../../apps/base", ["apps/base/cm.yaml"], undefined, ""],
    // An entry that climbs above the root stops there for what is below a directory, and matches no file itself.
    ["../../../top.yaml", ["top.yaml"], ["top.yaml"], "/top.yaml"],
    ["../../../*.yaml", ["top.yaml"], ["top.yaml"], "/top.yaml"],
    ["/", ["apps/base/cm.yaml"], undefined, ""],
    ["../..", ["apps/base/cm.yaml"], undefined, ""],
    ["/apps/b?se/c[lm].yaml", ["apps/base/cm.yaml"], undefined, ""],
    // Argo CD matches a pattern that begins with a slash as it stands, and a bad one never.
    ["/apps/../apps/base/*.yaml", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    ["/apps/base/*.yaml/", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    ["//apps/base/*.yaml", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    ["/apps/base/[m-]m.yaml", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    ["/apps/*", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    ["/apps/base/cm", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    ["base", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    ["/apps/ba", ["apps/base/cm.yaml"], ["apps/base/cm.yaml"], "/apps/base"],
    [".", ["docs/z"], undefined, ""],
    [".", [], undefined, ""],
    [undefined, ["apps/base/cm.yaml"], undefined, ""],
  ])("%j, changed %j", async (annotation, changed, files, missingEntry) => {
    expect(await uncovered(annotation, changed)).toEqual(files === undefined ? undefined : { files, missingEntry });
  });

  test("git is asked only where no file that is there by its name matches, and something that is read changed", async () => {
    const application = { annotations: { [ANNOTATION]: "." } };
    const part = { position: 1, sourcePath: "apps/web", whole: undefined, paths: ["apps/web"], patterns: [] };
    const found = async (
      paths: readonly string[],
      plain: readonly string[],
      printed: readonly string[] | undefined,
    ) => {
      const ask = () => (printed === undefined ? Promise.reject(new Error("asked")) : Promise.resolve(printed));
      return uncoveredByGeneratePaths(application, [{ ...part, remote: false }], () => ({
        paths,
        plain,
        printed: ask,
      }));
    };
    expect(await found(["apps/web/x", "docs/z"], ["apps/web/x"], undefined)).toBeUndefined();
    expect(await found(["docs/z"], [], undefined)).toBeUndefined();
    expect(await found(["apps/web/x"], [], ["apps/web/x"])).toBeUndefined();
    expect(await found(["apps/web/x"], [], [])).toEqual({
      files: ["apps/web/x"],
      missingEntry: undefined,
      unnamed: true,
    });
    await expect(found(["apps/web/x"], [], undefined)).rejects.toThrow("asked");
  });

  // Argo CD before v3.4 takes the spaces around an entry for part of its path (`GetSourceRefreshPaths`, v3.3).
  test.each([
    [".; ../base", undefined],
    [".; /apps/base", undefined],
    ["/apps/base ;.", undefined],
    [".; /docs", "/apps/base"],
  ])("%j covers it for some versions of Argo CD at most", async (annotation, missingEntry) => {
    const files = ["apps/base/cm.yaml"];
    expect(await uncovered(annotation, files)).toEqual({ files, missingEntry });
    expect(await uncovered(annotation, [...files, "apps/web/x"])).toBeUndefined();
    expect(await uncovered(`${annotation};/apps/base`, files)).toBeUndefined();
  });

  test("many directories are named by what they have in common", async () => {
    const plugin = { source: { repoURL: OWN_URL, path: "apps/web", plugin: { name: "cue" } } };
    const changed = Array.from({ length: 7 }, (_, index) => `lib/${index}/x`);
    expect(await uncovered(".", changed, plugin)).toEqual({ files: changed, missingEntry: "/lib" });
  });

  test("each source is judged by itself, with what it reads through a reference", async () => {
    const spec = {
      sources: [
        { repoURL: OWN_URL, path: "charts/web", helm: { valueFiles: ["$values/envs/web.yaml"] } },
        { repoURL: OWN_URL, ref: "values" },
        { repoURL: OWN_URL, path: "extra" },
      ],
    };
    const positions = [1, 2, 3];
    expect(await uncovered(".", ["envs/web.yaml"], spec, positions)).toEqual({
      files: ["envs/web.yaml"],
      missingEntry: "/envs",
    });
    expect(await uncovered(".", ["envs/web.yaml", "extra/x"], spec, positions)).toEqual({
      files: ["envs/web.yaml"],
      missingEntry: "/envs",
    });
    expect(await uncovered(".", ["envs/web.yaml", "charts/web/x"], spec, positions)).toBeUndefined();
    expect(await uncovered(".;/envs", ["envs/web.yaml"], spec, positions)).toBeUndefined();
  });

  test("a source that is only a reference has the root as its path", async () => {
    const spec = {
      sources: [
        { repoURL: OWN_URL, path: "charts/web", helm: { valueFiles: ["$values/envs/web.yaml"] } },
        { repoURL: OWN_URL, ref: "values" },
      ],
    };
    // The reference is covered by `.` and renders nothing; what reads through it is not covered.
    expect(await uncovered(".", ["envs/web.yaml"], spec, [1, 2])).toMatchObject({ files: ["envs/web.yaml"] });
    expect(await uncovered("/envs", ["envs/web.yaml"], spec, [1, 2])).toBeUndefined();
  });

  test("each source is judged by what changed since it was compared", async () => {
    const spec = {
      sources: [
        { repoURL: OWN_URL, path: "a" },
        { repoURL: OWN_URL, path: "b" },
      ],
    };
    const application = { ...single, annotations: { [ANNOTATION]: "/docs" } };
    const inputs = await inputsOf(
      {
        ...application,
        spec,
        name: applicationName("web"),
        resourceName: "web",
        namespace: undefined,
        project: "p",
        labels: {},
      },
      [1, 2],
      memorySnapshot(FILES),
      HEAD,
    );
    const since: Readonly<Record<number, readonly string[]>> = { 1: ["a/x", "docs/y"], 2: ["a/x", "b/z"] };
    const changedSince = ({ position }: { position: number }) => {
      const paths = since[position] ?? [];
      return changesOf(paths);
    };
    expect(await uncoveredByGeneratePaths(application, inputs, changedSince)).toEqual({
      files: ["b/z"],
      missingEntry: "/b",
    });
  });
});
