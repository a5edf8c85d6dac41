import { describe, expect, test } from "@jest/globals";
import type { Application, ApplicationSet } from "../../../src/core/application.js";
import { applicationName } from "../../../src/core/brand.js";
import {
  changedApplicationSets,
  compareGenerated,
  pinGitGenerators,
} from "../../../src/core/detect/application-sets.js";
import { createManifestScanner } from "../../../src/core/detect/manifests.js";
import type { Json, JsonObject } from "../../../src/core/json.js";
import { CHANGE, HEAD, memorySnapshot, MERGE_BASE, nameOf, OWN_URL, type Files } from "./memory-snapshot.js";

const git = (more: JsonObject = {}): JsonObject => ({ git: { repoURL: OWN_URL, ...more } });

function set(generators: Json): ApplicationSet {
  const template = { spec: { source: { repoURL: OWN_URL, targetRevision: "main" } } };
  return { name: "s", namespace: undefined, resource: { metadata: { name: "s" }, spec: { generators, template } } };
}

function generatorsOf({ resource }: ApplicationSet): unknown {
  return (resource.spec as JsonObject).generators;
}

describe("pinGitGenerators", () => {
  test.each<[string, JsonObject, boolean]>([
    ["without a revision", git(), true],
    ["at HEAD", git({ revision: "HEAD" }), true],
    ["at the base branch", git({ revision: "main" }), true],
    ["at the base branch's ref", git({ revision: "refs/heads/main" }), true],
    ["at a tag", git({ revision: "v1" }), false],
    ["at a template", git({ revision: "{{ .branch }}" }), false],
    ["of another repository", git({ repoURL: "https://x.example/y" }), false],
    ["of a templated repository", git({ repoURL: "{{ .url }}" }), false],
    ["without a repository", { git: {} }, false],
  ])("a git generator %s", (_, generator, pinned) => {
    const revision = pinned ? { revision: HEAD } : {};
    const expected = { git: { ...(generator.git as JsonObject), ...revision } };
    const nested = [
      generator,
      { matrix: { generators: [generator, { merge: { mergeKeys: ["a"], generators: [generator] } }] } },
    ];
    expect(generatorsOf(pinGitGenerators(set(nested), CHANGE, HEAD))).toEqual([
      expected,
      { matrix: { generators: [expected, { merge: { mergeKeys: ["a"], generators: [expected] } }] } },
    ]);
  });

  test("leaves everything else and the given set as they are", () => {
    const before = set([
      git(),
      { list: { elements: [{ git: { repoURL: OWN_URL } }] } },
      null,
      "x",
      { git: null },
      { matrix: {} },
    ]);
    const copy = JSON.stringify(before);
    const after = pinGitGenerators(before, CHANGE, HEAD);
    expect(JSON.stringify(before)).toBe(copy);
    expect(JSON.stringify(after)).toBe(
      copy.replace(`"repoURL":"${OWN_URL}"`, `"repoURL":"${OWN_URL}","revision":"${HEAD}"`),
    );
  });

  test.each([[{}], [{ spec: null }], [{ spec: { generators: null } }], [{ spec: { generators: {} } }]])(
    "%j has none",
    (resource) => {
      const odd = { name: "s", namespace: undefined, resource };
      expect(JSON.stringify(pinGitGenerators(odd, CHANGE, HEAD))).toBe(JSON.stringify(odd));
    },
  );
});

describe("changedApplicationSets", () => {
  async function changed(before: Files, after: Files) {
    const snapshot = memorySnapshot(before, after);
    const scanner = createManifestScanner();
    const request = { snapshot, crPaths: [], nameOf };
    const base = await scanner.scan({ ...request, revision: MERGE_BASE });
    const head = await scanner.scan({ ...request, revision: HEAD });
    const changedPaths = await snapshot.changedPaths(MERGE_BASE, HEAD);
    const sets = await changedApplicationSets({ base, head, changedPaths, change: CHANGE, snapshot });
    return sets.map((one) => `${one.name} ${one.base ? "base" : "-"} ${one.head ? "head" : "-"} ${one.sourceFile}`);
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

  const reading = (generator: JsonObject) => ({
    "s.yaml": file("s", [{ matrix: { generators: [generator] } }]),
    "envs/a/x.json": "1",
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
    ["a directory that comes", git({ directories: [{ path: "envs/*" }] }), { "envs/b/x": "1" }, true],
    ["a file in a directory that stays", git({ directories: [{ path: "envs/*" }] }), { "envs/a/y": "1" }, false],
    ["a deeper directory that comes", git({ directories: [{ path: "envs/*" }] }), { "envs/a/deep/y": "1" }, false],
    ["a directory elsewhere", git({ directories: [{ path: "envs/*" }] }), { "docs/b/y": "1" }, false],
    ["at a tag", git({ revision: "v1", files: [{ path: "envs/*/x.json" }] }), { "envs/a/x.json": "2" }, false],
    [
      "of another repository",
      git({ repoURL: "https://x.example/y", files: [{ path: "**" }] }),
      { "envs/a/x.json": "2" },
      false,
    ],
    ["no git generator", { list: { elements: [] } }, { "envs/a/x.json": "2" }, false],
  ])("a set whose resource stays: %s", async (_, generator, after, expected) => {
    const before = reading(generator);
    expect(await changed(before, { ...before, ...after })).toEqual(expected ? ["s base head s.yaml"] : []);
  });
});

test("compareGenerated compares by name and spec", () => {
  const generated = (name: string, path: string, labels = {}): Application => ({
    name: applicationName(name),
    resourceName: name,
    namespace: undefined,
    project: "default",
    labels,
    annotations: {},
    spec: { source: { path } },
  });
  const base = [generated("a", "1"), generated("b", "1"), generated("c", "1"), generated("c", "1")];
  const head = [generated("d", "1"), generated("b", "2"), generated("a", "1", { x: "y" })];
  expect(compareGenerated(base, head)).toEqual({ added: ["d"], removed: ["c"], changed: ["b"] });
  expect(compareGenerated(head, head)).toEqual({ added: [], removed: [], changed: [] });
});
