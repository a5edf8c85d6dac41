import { describe, expect, test } from "@jest/globals";
import {
  gitGenerators,
  isTemplated,
  mayMove,
  pinGitGenerators,
  readsRepository,
} from "../../../../src/core/detect/scan/application-sets.js";
import type { ApplicationSet } from "../../../../src/core/model/application.js";
import type { Json, JsonObject } from "../../../../src/core/model/json.js";
import { CHANGE, HEAD, OWN_URL } from "../memory-snapshot.js";

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

describe("what a git generator may read of the change request", () => {
  test.each<[string, JsonObject, boolean, boolean]>([
    ["its base branch", { revision: "main" }, true, false],
    ["a tag", { revision: "v1" }, false, false],
    ["a templated revision", { revision: "{{ .branch }}" }, true, true],
    ["a templated repository", { repoURL: "{{ .url }}" }, true, true],
    [
      "a templated revision of another repository",
      { repoURL: "https://x.example/y", revision: "{{ .b }}" },
      false,
      true,
    ],
    ["nothing said", { repoURL: null }, false, false],
  ])("%s", (_, options, may, templated) => {
    const [found = {}] = gitGenerators(set([{ matrix: { generators: [git(options)] } }]));
    expect([mayMove(found, CHANGE), isTemplated(found)]).toEqual([may, templated]);
  });
});

describe("readsRepository", () => {
  const of = (generators: Json, spec: Json): ApplicationSet => ({
    name: "s",
    namespace: undefined,
    resource: { spec: { generators, template: { spec } } },
  });
  const foreign = { source: { repoURL: "https://x.example/y", path: "z" } };

  test.each<[string, ApplicationSet, boolean]>([
    ["a generator of it at a tag", of([git({ revision: "v1" })], foreign), true],
    ["a source of the template", of([], { sources: [{ repoURL: OWN_URL, path: "{{ .path }}" }] }), true],
    ["a chart of the same address", of([], { source: { repoURL: OWN_URL, chart: "x" } }), false],
    ["another repository", of([{ git: { repoURL: "https://x.example/y" } }], foreign), false],
    ["no spec", { name: "s", namespace: undefined, resource: {} }, false],
  ])("%s", (_, one, expected) => {
    expect(readsRepository(one, CHANGE)).toBe(expected);
  });
});
