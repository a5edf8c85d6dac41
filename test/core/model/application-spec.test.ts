import { describe, expect, test } from "@jest/globals";
import { isAutoSynced, isHydrated, isMultiSource, sourcesOf } from "../../../src/core/model/application.js";

const source = { repoURL: "https://git.example.com/acme/deploy", path: "apps/web", targetRevision: "main" };

describe("sourcesOf", () => {
  test("reads every member of a single source", () => {
    const spec = {
      source: {
        ...source,
        helm: {
          releaseName: "web",
          valueFiles: ["values.yaml", null, "", "$values/prod.yaml"],
          fileParameters: [{ name: "cert", path: "files/ca.pem" }, { name: "none" }, null],
        },
      },
    };
    expect(sourcesOf(spec)).toEqual([
      {
        ...source,
        position: 1,
        role: "plain",
        chart: undefined,
        ref: undefined,
        helm: {
          valueFiles: ["values.yaml", "$values/prod.yaml"],
          fileParameters: ["files/ca.pem"],
        },
        kustomize: undefined,
        directory: false,
        jsonnet: { libraries: [], code: [] },
        plugin: false,
      },
    ]);
  });

  test("counts several sources from one and keeps the place of unreadable ones", () => {
    const spec = {
      source: { ...source, path: "ignored" },
      sources: [
        { repoURL: "https://charts.example.com", chart: "web", targetRevision: 4 },
        "garbage",
        {
          ...source,
          ref: "values",
          kustomize: { components: ["../c"], patches: [{ path: "p.yaml" }, { patch: "{}" }] },
        },
        {
          ...source,
          directory: {
            recurse: true,
            jsonnet: {
              libs: ["vendor"],
              tlas: [{ name: "a", value: "import 'x'", code: true }],
              extVars: [{ value: "t" }],
            },
          },
          plugin: { name: "cue" },
        },
      ],
    };
    expect(sourcesOf(spec)).toMatchObject([
      { position: 1, chart: "web", targetRevision: "4" },
      { position: 2, repoURL: "", path: "" },
      { position: 3, ref: "values", kustomize: { components: ["../c"], patchPaths: ["p.yaml"] } },
      { position: 4, directory: true, plugin: true, jsonnet: { libraries: ["vendor"], code: ["import 'x'", ""] } },
    ]);
  });

  test("a source hydrator stands before everything else and has a dry and a sync side", () => {
    const spec = {
      source,
      sourceHydrator: { drySource: { ...source, path: "dry" }, syncSource: { targetBranch: "env/prod", path: "prod" } },
    };
    expect(sourcesOf(spec)).toMatchObject([
      { position: 1, role: "dry", path: "dry", targetRevision: "main" },
      { position: 1, role: "sync", path: "prod", targetRevision: "env/prod", repoURL: source.repoURL },
    ]);
  });

  test.each([[{}], [{ source: null }], [{ source: "text" }], [{ sources: [] }], [{ sources: null, source: 3 }]])(
    "%j has no source",
    (spec) => {
      expect(sourcesOf(spec)).toEqual([]);
    },
  );

  // Argo CD answers with `jsonnet: {}` in each block of a directory (`ApplicationSourceDirectory` before v3.5).
  test("blocks in which nothing is set are empty, too", () => {
    const directory = { recurse: false, jsonnet: { libs: [] }, include: "" };
    const spec = {
      source: { ...source, helm: { valueFiles: [], skipCrds: false }, kustomize: { images: [] }, directory },
    };
    expect(sourcesOf(spec)).toMatchObject([{ helm: undefined, kustomize: undefined, directory: false }]);
    const others = { helm: { valuesObject: {} }, kustomize: { commonLabels: { a: "" } }, directory: { exclude: "x" } };
    expect(sourcesOf({ source: { ...source, ...others } })).toMatchObject([
      { helm: {}, kustomize: {}, directory: true },
    ]);
  });

  test("of several sources, an empty block says what renders it", () => {
    const sources = [
      { ...source, helm: {} },
      { ...source, kustomize: { namePrefix: "" } },
      { ...source, directory: {} },
    ];
    expect(sourcesOf({ sources })).toMatchObject([
      { helm: {}, kustomize: undefined, directory: false },
      { helm: undefined, kustomize: {}, directory: false },
      { helm: undefined, kustomize: undefined, directory: true },
    ]);
  });

  test("empty blocks and wrong types say nothing", () => {
    const spec = {
      source: {
        ...source,
        helm: {},
        kustomize: { components: null },
        directory: {},
        plugin: "cue",
        ref: 5,
        path: null,
      },
    };
    expect(sourcesOf(spec)).toMatchObject([
      { helm: undefined, kustomize: undefined, directory: false, plugin: false, ref: "5", path: "" },
    ]);
  });
});

test.each([
  [{ source }, false],
  [{ sources: [source] }, true],
  [{ sources: [], source }, false],
  [{ sources: null, source }, false],
  [{ sources: [source, source], source }, true],
  [{ sources: [source], sourceHydrator: {} }, false],
])("isMultiSource(%j) is %s", (spec, expected) => {
  expect(isMultiSource(spec)).toBe(expected);
});

test.each([
  [{ sourceHydrator: {} }, true],
  [{ sourceHydrator: null }, false],
  [{ source }, false],
])("isHydrated(%j) is %s", (spec, expected) => {
  expect(isHydrated(spec)).toBe(expected);
});

test.each([
  [{}, false],
  [{ syncPolicy: null }, false],
  [{ syncPolicy: { syncOptions: [] } }, false],
  [{ syncPolicy: { automated: null } }, false],
  [{ syncPolicy: { automated: {} } }, true],
  [{ syncPolicy: { automated: { enabled: null } } }, true],
  [{ syncPolicy: { automated: { enabled: true } } }, true],
  [{ syncPolicy: { automated: { enabled: "false" } } }, true],
  [{ syncPolicy: { automated: { enabled: false, prune: true } } }, false],
])("isAutoSynced(%j) is %s", (spec, expected) => {
  expect(isAutoSynced(spec)).toBe(expected);
});
