import { describe, expect, test } from "@jest/globals";
import {
  changedApplicationSets,
  compareGenerated,
  tooManyChanges,
} from "../../../../src/core/detect/scan/application-sets.js";
import { createManifestScanner } from "../../../../src/core/detect/scan/manifests.js";
import type { ApplicationSet } from "../../../../src/core/model/application.js";
import { applicationName } from "../../../../src/core/model/brand.js";
import type { Json, JsonObject } from "../../../../src/core/model/json.js";
import { inlineCompute, TRUSTED_SCAN } from "../../../in-memory/inline-compute.js";
import { sampleApplication } from "../../sample-application.js";
import { CHANGE, HEAD, memorySnapshot, MERGE_BASE, nameOf, OWN_URL, type Files } from "../memory-snapshot.js";

const git = (more: JsonObject = {}): JsonObject => ({ git: { repoURL: OWN_URL, ...more } });

describe("changedApplicationSets", () => {
  async function changed(before: Files, after: Files, liveSets: readonly ApplicationSet[] = []) {
    const snapshot = memorySnapshot(before, after);
    const scanner = createManifestScanner(inlineCompute);
    const request = { ...TRUSTED_SCAN, snapshot, crPaths: [], nameOf };
    const base = await scanner.scan({ ...request, revision: MERGE_BASE });
    const head = await scanner.scan({ ...request, revision: HEAD });
    const changedPaths = await snapshot.changedPaths(MERGE_BASE, HEAD);
    const sets = await changedApplicationSets({
      base,
      head,
      liveSets,
      changedPaths,
      change: CHANGE,
      snapshot,
      nameOf,
    });
    return sets.map(({ name, base: old, head: young, sourceFile, alsoIn, problem }) =>
      [
        `${name} ${old ? "base" : "-"} ${young ? "head" : "-"} ${sourceFile ?? "in no file"}`,
        ...(alsoIn.length === 0 ? [] : [`also in ${alsoIn.join()}`]),
        ...(problem === undefined ? [] : [problem]),
      ].join(" "),
    );
  }
  const file = (name: string, generators: Json, namespace?: string) =>
    JSON.stringify({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name, namespace },
      spec: { generators },
    });

  test("new, deleted and changed resources, not moved ones", async () => {
    const before = { "a.yaml": file("gone", []), "b.yaml": file("same", []), "c.yaml": file("other", []) };
    const after = {
      "b2.yaml": file("same", []),
      "c.yaml": file("other", [git()]),
      "d.yaml": file("new", [], "team-a"),
    };
    expect(await changed(before, after)).toEqual([
      "gone base - a.yaml",
      "other base head c.yaml",
      "team-a/new - head d.yaml",
    ]);
  });

  test("sets of one name in several files are compared file by file, and say so", async () => {
    const before = { "dev.yaml": file("s", []), "prod.yaml": file("s", [{}]) };
    expect(await changed(before, { ...before, "dev.yaml": file("s", [git()]) })).toEqual([
      "s base head dev.yaml also in prod.yaml",
    ]);
    expect(await changed(before, { "prod.yaml": file("s", [{}]) })).toEqual(["s base - dev.yaml also in prod.yaml"]);
    const copies = { "a.yaml": file("s", []), "b.yaml": file("s", []) };
    expect(await changed(copies, { "b.yaml": file("s", []) })).toEqual([]);
  });

  test("a set of thousands of patterns takes no time, and counts as one that reads every file and folder", async () => {
    const lists = ["files", "directories"].map((kind) => {
      return file(kind, [git({ [kind]: Array.from({ length: 3000 }, (_, at) => ({ path: `*a*/x${at}*` })) })]);
    });
    const pathsExist = Array.from({ length: 3000 }, (_, at) => `a{{ .name }}x${at}`);
    const chosen = file("chosen", [{ scmProvider: { github: {}, filters: [{ pathsExist }] } }]);
    const base = { "a.yaml": lists[0] ?? "", "b.yaml": lists[1] ?? "", "c.yaml": chosen };
    const files = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`a${at % 50}/b${at}/c`, "1"]));
    const before = process.cpuUsage();
    expect(await changed(base, { ...base, ...files })).toEqual([
      "chosen base head c.yaml",
      "directories base head b.yaml",
      "files base head a.yaml",
    ]);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
  });

  const named = (many: number) =>
    Object.fromEntries(Array.from({ length: many }, (_, at) => [`a${at % 50}/b/${"b".repeat(60)}${at}x`, "1"]));

  test("a set of many generators with some patterns each takes no time either", async () => {
    const paths = Array.from({ length: 8 }, (_, at) => ({ path: `a*/*/${"*b".repeat(20)}${at}` }));
    const generators = Array.from({ length: 250 }, () => git({ files: paths }));
    const base = { "a.yaml": file("many", generators) };
    const before = process.cpuUsage();
    expect(await changed(base, { ...base, ...named(3000) })).toEqual(["many base head a.yaml"]);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
  });

  test("a set of eighty patterns reads what they match, also if thousands of files change", async () => {
    const paths = Array.from({ length: 80 }, (_, at) => ({ path: `apps/*/env-${at}/config.json` }));
    const base = { "a.yaml": file("many", [git({ files: paths })]) };
    expect(await changed(base, { ...base, ...named(3000) })).toEqual([]);
    const more = { ...base, ...named(3000), "apps/web/env-79/config.json": "{}" };
    expect(await changed(base, more)).toEqual(["many base head a.yaml"]);
  });

  test("a set whose file cannot be read on one side is not taken for removed or new", async () => {
    const text = file("s", []);
    const broken = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: [";
    const why = /^s (- head|base -) s.yaml its resource in s.yaml cannot be read at the (head|merge base): /;
    for (const files of [
      [text, broken],
      [broken, text],
      [text, { kind: "binary" } as const],
    ]) {
      const [one, other] = files.map((content) => ({ "s.yaml": content }));
      const [found = ""] = await changed(one ?? {}, other ?? {});
      expect(found).toMatch(why);
    }
  });

  const reading = (generator: JsonObject) => ({
    "s.yaml": file("s", [{ matrix: { generators: [generator] } }]),
    "envs/a/x.json": "1",
  });

  describe("a set that only Argo CD has", () => {
    const generators = [git({ files: [{ path: "envs/*/x.json" }] })];
    const live = (name: string, namespace?: string): ApplicationSet => ({
      name,
      namespace,
      resource: { metadata: { name }, spec: { generators } },
    });
    const before = { "envs/a/x.json": "1" };
    const after = { "envs/a/x.json": "2" };

    test("is found when its generators read what changes", async () => {
      const sets = [live("s"), live("other", "team-a")];
      expect(await changed(before, after, sets)).toEqual([
        "s base head in no file",
        "team-a/other base head in no file",
      ]);
      expect(await changed(before, { ...before, "docs/x.md": "2" }, sets)).toEqual([]);
    });

    test("is the one of a file that says the same, whatever empty blocks Argo CD answers with", async () => {
      const text = file("s", [{ matrix: { generators: [...generators, { clusters: {} }] } }]);
      const template = { metadata: {}, spec: { destination: {}, project: "" } };
      const [files] = generators.map((one) => ({ git: { revision: "", ...(one.git as JsonObject), template } }));
      const matrix = { generators: [files ?? {}, { clusters: { selector: {}, template } }], template };
      const answered = { ...live("s"), resource: { spec: { generators: [{ matrix }], template } } };
      const found = await changed({ ...before, "s.yaml": text }, { ...after, "s.yaml": text }, [answered]);
      expect(found).toEqual(["s base head s.yaml"]);
    });

    test("is the one of a file whose head a sync of its parent has applied", async () => {
      const one = { ...before, "s.yaml": file("s", [...generators, { list: { elements: [] } }]) };
      const other = { ...after, "s.yaml": file("s", generators) };
      expect(await changed(one, other, [live("s")])).toEqual(["s base head s.yaml"]);
    });

    test.each<[JsonObject, JsonObject]>([
      [{ list: { elements: [{ replicas: 0 }] } }, { list: { elements: [{ replicas: "" }] } }],
      [{ list: { elements: [{ env: "eu", paused: false }] } }, { list: { elements: [{ env: "eu" }] } }],
      [{ clusters: { selector: { matchLabels: { hidden: "" } } } }, { clusters: {} }],
      [{ clusters: { values: { env: "" } } }, { clusters: {} }],
      [{ plugin: { input: { parameters: { every: false } } } }, { plugin: { input: { parameters: {} } } }],
    ])("of %j is not the one of a file with %j", async (runs, written) => {
      const of = (more: JsonObject) => [{ matrix: { generators: [...generators, more] } }];
      const texts = { "s.yaml": file("s", of(written)), "t.yaml": file("t", of(runs)) };
      const sets = ["s", "t"].map((name) => ({ ...live(name), resource: { spec: { generators: of(runs) } } }));
      expect(await changed({ ...before, ...texts }, { ...after, ...texts }, sets)).toEqual([
        "s base head s.yaml",
        "s base head in no file also in s.yaml",
        "t base head t.yaml",
      ]);
    });

    const nothing = { list: { elements: [] } };
    const decoy = { "s.yaml": file("s", [{ matrix: { generators: [...generators, nothing] } }]) };

    test.each<[string, Files, Files, string[]]>([
      ["a new file", {}, { "s.yaml": file("s", generators) }, ["s - head s.yaml"]],
      ["a changed file", { "s.yaml": file("s", []) }, { "s.yaml": file("s", [{}]) }, ["s base head s.yaml"]],
      ["a file that stays", { "s.yaml": file("s", []) }, { "s.yaml": file("s", []) }, []],
      ["a file that reads the same to make nothing of it", decoy, decoy, ["s base head s.yaml"]],
    ])("is hidden by no namesake: %s", async (_, one, other, found) => {
      const also = found.length === 0 ? "" : " also in s.yaml";
      expect(await changed({ ...before, ...one }, { ...after, ...other }, [live("s")])).toEqual([
        ...found,
        `s base head in no file${also}`,
      ]);
    });
  });

  test("a long pattern takes no time for each of many files", async () => {
    const before = process.cpuUsage();
    const [path, paths] = [`${"a".repeat(4000)}*x`, Array.from({ length: 500 }, (_, index) => `docs/${index}.md`)];
    const base = { "s.yaml": file("s", [git({ files: [{ path }] })]) };
    expect(await changed(base, { ...base, ...Object.fromEntries(paths.map((one) => [one, ""])) })).toEqual([]);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5); // seconds of our own, however busy the machine is
  });

  test.each<[string, JsonObject, Files, boolean]>([
    ["a file that it reads", git({ files: [{ path: "envs/*/x.json" }] }), { "envs/a/x.json": "2" }, true],
    ["a new file that it reads", git({ files: [{ path: "envs/**/x.json" }] }), { "envs/b/c/x.json": "2" }, true],
    [
      "a file that git's own patterns match",
      git({ files: [{ path: "envs/*.json" }] }),
      { "envs/b/c/x.json": "2" },
      true,
    ],
    ["a file under a templated path", git({ files: [{ path: "envs/{{ .env }}/x.json" }] }), { "envs/a/y": "2" }, true],
    [
      "a file that it does not read",
      git({ files: [{ path: "envs/*/x.json" }, null, {}] }),
      { "envs/a/y.json": "2", "x.json": "1" },
      false,
    ],
    ["a file in a directory that it names", git({ files: [{ path: "envs/" }] }), { "envs/a/y": "2" }, true],
    ["any file, where it names the root", git({ files: [{ path: "." }] }), { "docs/y": "2" }, true],
    [
      "a file by a rule of git's own",
      git({ files: [{ path: ":(glob)envs/*/x.json" }] }),
      { "envs/a/x.json": "2" },
      true,
    ],
    ["a directory that comes", git({ directories: [{ path: "envs/*" }] }), { "envs/b/x": "1" }, true],
    ["a file in a directory that stays", git({ directories: [{ path: "envs/*" }] }), { "envs/a/y": "1" }, false],
    // Go's `path.Match` takes the mark for a member of the class.
    ["a directory of Go's patterns", git({ directories: [{ path: "envs/[!b]" }] }), { "envs/b/x": "1" }, true],
    // There a class, and what follows a backslash, may be a slash.
    ["a directory of a class with the slash", git({ directories: [{ path: "envs[^x]b" }] }), { "envs/b/x": "1" }, true],
    ["a directory behind an escaped slash", git({ directories: [{ path: "envs\\/b" }] }), { "envs/b/x": "1" }, true],
    ["a directory that no class can mean", git({ directories: [{ path: "envs/[a-c]" }] }), { "docs/b/x": "1" }, false],
    ["a deeper directory that comes", git({ directories: [{ path: "envs/*" }] }), { "envs/a/deep/y": "1" }, false],
    ["a directory elsewhere", git({ directories: [{ path: "envs/*" }] }), { "docs/b/y": "1" }, false],
    ["at a tag", git({ revision: "v1", files: [{ path: "envs/*/x.json" }] }), { "envs/a/x.json": "2" }, false],
    [
      "of another repository",
      git({ repoURL: "https://x.example/y", files: [{ path: "**" }] }),
      { "envs/a/x.json": "2" },
      false,
    ],
    // Argo CD reads these members with Go's `encoding/json`, which ignores case; Kubernetes keeps what is in there as it is.
    [
      "a file, by another spelling in a matrix of a matrix",
      { matrix: { Generators: [{ GIT: { files: [{ Path: "envs/*/x.json" }] }, Git: { RepoURL: OWN_URL } }] } },
      { "envs/a/x.json": "2" },
      true,
    ],
    ["a file, by a spelling that Kubernetes drops", { GIT: git().git ?? null }, { "envs/a/x.json": "2" }, false],
    ["no git generator", { list: { elements: [] } }, { "envs/a/x.json": "2" }, false],
    // Git takes a directory for everything below it, and `:` for the start of its own options.
    ["a file in a directory that it reads", git({ files: [{ path: "envs/a" }] }), { "envs/a/x.json": "2" }, true],
    ["any file of the repository", git({ files: [{ path: "." }] }), { "docs/x": "2" }, true],
    ["a directory of a similar name", git({ files: [{ path: "envs/a" }] }), { "envs/ab/x.json": "2" }, false],
    [
      "a file that git's options name",
      git({ files: [{ path: ":(glob)envs/**/x.json" }] }),
      { "envs/a/x.json": "2" },
      true,
    ],
  ])("a set whose resource stays: %s", async (_, generator, after, expected) => {
    const before = reading(generator);
    expect(await changed(before, { ...before, ...after })).toEqual(expected ? ["s base head s.yaml"] : []);
  });

  const to = (target: string) => ({ kind: "symlink", target }) as const;
  const submodule = (id: string) => ({ kind: "submodule", id }) as const;
  const jsonOf = git({ files: [{ path: "envs/*/y.json" }] });

  test.each<[string, JsonObject, Files, [Files, Files], boolean]>([
    [
      "a file that it reads through a link",
      jsonOf,
      { "envs/a/y.json": to("../../common/y.json") },
      [{ "common/y.json": "1" }, { "common/y.json": "2" }],
      true,
    ],
    [
      "a file that it reads through links of links",
      jsonOf,
      { "envs/b": to("../more"), "more/y.json": to("../common/y.json") },
      [{ "common/y.json": "1" }, { "common/y.json": "2" }],
      true,
    ],
    [
      "a file that a link of it may lead to, since its target cannot be read",
      jsonOf,
      { "envs/b": { kind: "symlink" } },
      [{ "common/y.json": "1" }, { "common/y.json": "2" }],
      true,
    ],
    [
      "a file that no link of it leads to",
      jsonOf,
      { "envs/a/y.json": to("../../common/y.json"), "docs/z": to("../z.json") },
      [{ "z.json": "1" }, { "z.json": "2" }],
      false,
    ],
    [
      "a submodule with files of it, which Argo CD checks out",
      jsonOf,
      {},
      [{ "envs/b": submodule("1") }, { "envs/b": submodule("2") }],
      true,
    ],
    [
      "a submodule above files of it",
      git({ files: [{ path: "lib/envs/*.json" }] }),
      {},
      [{ lib: submodule("1") }, { lib: submodule("2") }],
      true,
    ],
    ["a submodule elsewhere", jsonOf, {}, [{ lib: submodule("1") }, { lib: submodule("2") }], false],
    [
      "a directory in the place of a link to one",
      git({ directories: [{ path: "envs/*" }] }),
      { "common/x": "1" },
      [{ "envs/b": to("../common") }, { "envs/b/x": "1" }],
      true,
    ],
  ])(
    "a set whose resource stays, with links and submodules: %s",
    async (_, generator, files, [base, head], expected) => {
      const both = { ...reading(generator), ...files };
      expect(await changed({ ...both, ...base }, { ...both, ...head })).toEqual(expected ? ["s base head s.yaml"] : []);
    },
  );
});

test("compareGenerated compares by name, spec, labels and annotations", () => {
  const generated = (name: string, path: string, labels = {}) =>
    sampleApplication(name, { source: { path } }, { labels });
  const base = [generated("a", "1"), generated("b", "1"), generated("c", "1"), generated("c", "1")];
  const head = [generated("d", "1"), generated("b", "2"), generated("a", "1", { x: "y" })];
  expect(compareGenerated(base, head)).toEqual({ added: ["d"], removed: ["c"], changed: ["a", "b"] });
  const twice = [generated("a", "evil"), ...base];
  expect(compareGenerated(base, twice)).toEqual({ added: [], removed: [], changed: ["a"] });
  expect(compareGenerated(head, head)).toEqual({ added: [], removed: [], changed: [] });
});

test.each<[string, readonly string[], readonly string[], readonly string[]]>([
  ["one of two goes", ["1", "2"], ["1"], ["a"]],
  ["the second of two goes, which is the same", ["1", "1"], ["1"], ["a"]],
  ["both stay", ["1", "2"], ["1", "2"], []],
  ["both stay, and the second changes", ["1", "2"], ["1", "3"], []],
  ["a second one comes", ["1"], ["1", "2"], []],
])("an application that Argo CD leaves alone as long as two have its name: %s", (_, before, after, changed) => {
  const side = (paths: readonly string[]) => paths.map((path) => sampleApplication("a", { source: { path } }));
  expect(compareGenerated(side(before), side(after))).toEqual({ added: [], removed: [], changed });
});

test("a set may change five thousand applications, of all kinds together", () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => applicationName(`shop-${at}`));
  expect(tooManyChanges({ added: names(3000), removed: names(1000), changed: names(1000) })).toBeUndefined();
  expect(tooManyChanges({ added: names(3000), removed: names(1001), changed: names(1000) })).toMatch(
    /^it would add 3000 applications, remove 1001 and change 1000, and svc previews at most 5000 of one ApplicationSet/,
  );
});
