import { expect, test } from "@jest/globals";
import { inputsOf } from "../../../../src/core/detect/inputs/inputs.js";
import { checkoutFilesOf } from "../../../../src/core/detect/tree/repository-path.js";
import { sampleApplication } from "../../sample-application.js";
import { HEAD, memorySnapshot, OWN_URL, type Files } from "../memory-snapshot.js";
import { single, touchedAmong, wholeReason } from "../read-inputs.js";

async function inputs(files: Files, kustomize = {}) {
  const application = sampleApplication("web", { source: { repoURL: OWN_URL, path: "overlays/prod", kustomize } });
  return inputsOf(application, [1], memorySnapshot(files), HEAD);
}

const BASE = { "base/kustomization.yaml": "resources: [cm.yaml]", "base/cm.yaml": "a: 1" };

test.each([
  ["resources: [../../base]", "base/cm.yaml"],
  ["bases: [../../base]", "base/cm.yaml"],
  ["components: [../../base]", "base/kustomization.yaml"],
  ["resources: [../../common/cm.yaml]", "common/cm.yaml"],
  ["crds: [../../common/crd.json]", "common/crd.json"],
  ["configurations: [../../common/c.yaml]", "common/c.yaml"],
  ["openapi: {path: ../../common/s.json}", "common/s.json"],
  ["patches: [{path: ../../common/p.yaml}]", "common/p.yaml"],
  ["patchesStrategicMerge: [../../common/p.yaml]", "common/p.yaml"],
  ["patchesJson6902: [{path: ../../common/p.yaml, target: {kind: X}}]", "common/p.yaml"],
  ["replacements: [{path: ../../common/r.yaml}]", "common/r.yaml"],
  ["configMapGenerator: [{name: c, files: [../../common/f.txt]}]", "common/f.txt"],
  ["configMapGenerator: [{name: c, files: ['key=../../common/f.txt']}]", "common/f.txt"],
  ["secretGenerator: [{name: c, envs: [../../common/.env]}]", "common/.env"],
  ["secretGenerator: [{name: c, env: ../../common/.env}]", "common/.env"],
  ["helmCharts: [{name: c, valuesFile: ../../common/v.yaml}]", "common/v.yaml"],
  ["helmCharts: [{name: c, additionalValuesFiles: [../../common/v.yaml]}]", "common/v.yaml"],
  ["helmGlobals: {chartHome: ../../common/charts}", "common/charts/c/templates/x.yaml"],
  ["generators: [../../common/g.yaml]", "common/g.yaml"],
  ["transformers: [../../common/g.yaml]", "common/g.yaml"],
  ["validators: [../../common/g.yaml]", "common/g.yaml"],
])("%s reads %s", async (text, path) => {
  for (const name of ["kustomization.yaml", "kustomization.yml", "Kustomization"]) {
    const found = await inputs({ ...BASE, [`overlays/prod/${name}`]: text });
    expect(touchedAmong(found, [path, "elsewhere/x.yaml", "overlays/stage/x.yaml"])).toEqual([path]);
  }
});

// Kustomize decodes its files with Go's `encoding/json`, which ignores upper and lower case.
test.each(["Transformers: [t.yaml]", "GENERATORS: [t.yaml]"])("%s names a plugin's configuration", async (text) => {
  const found = await inputs({
    "overlays/prod/kustomization.yaml": text,
    "overlays/prod/t.yaml": "kind: PatchTransformer\npath: ../../common/p.yaml",
  });
  expect(touchedAmong(found, ["common/p.yaml", "common/q.yaml"])).toEqual(["common/p.yaml"]);
});

test("a base from elsewhere counts however its key is spelled", async () => {
  const found = await inputs({ "overlays/prod/kustomization.yaml": "Resources: [github.com/acme/base]" });
  expect(found).toMatchObject([{ remote: true }]);
});

const PATCH = "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: ../../common/p.yaml}";

test.each<[string, string, Files]>([
  ["inline on one line", `transformers: ['${PATCH}']`, {}],
  [
    "a resource of a directory",
    "transformers: [../../plugins]",
    { "plugins/kustomization.yaml": "resources: [deep/patch.yaml]", "plugins/deep/patch.yaml": PATCH },
  ],
  // krusty of Kustomize 5.7 reads resources of any name.
  [
    "a resource of a directory whose name does not say that it is YAML",
    "transformers: [../../plugins]",
    {
      "plugins/kustomization.yaml": "resources: [deep]",
      "plugins/deep/Kustomization": "resources: [patch.json]",
      "plugins/deep/patch.json": PATCH,
      "plugins/README.md": "a: [",
    },
  ],
])("a plugin's configuration is read that is %s", async (_, text, files) => {
  const found = await inputs({ "overlays/prod/kustomization.yaml": text, ...files });
  expect(touchedAmong(found, ["common/p.yaml", "common/q.yaml"])).toEqual(["common/p.yaml"]);
});

test.each<[string, Files]>([
  ["reads beyond itself", { "plugins/kustomization.yaml": "resources: [../more]", "more/p.yaml": PATCH }],
  ["cannot be read", { "plugins/kustomization.yaml": "resources: [p.yaml]", "plugins/p.yaml": "a: [" }],
  [
    "leads through a link",
    {
      "plugins/kustomization.yaml": "resources: [more]",
      "plugins/more": { kind: "symlink", target: "../more" },
      "more/kustomization.yaml": "resources: [p.yaml]",
      "more/p.yaml": PATCH,
    },
  ],
])("a directory of plugins that %s makes the whole repository an input", async (_, files) => {
  const found = await inputs({ "overlays/prod/kustomization.yaml": "generators: [../../plugins]", ...files });
  expect(found).toMatchObject([{ whole: "the kustomization overlays/prod/kustomization.yaml cannot be read" }]);
});

test("directories are followed, whatever names them, and cycles end", async () => {
  const found = await inputs({
    "overlays/prod/kustomization.yaml": "resources: [./sub]",
    "overlays/prod/sub/kustomization.yml": "resources: [../../../a]",
    "a/Kustomization": "components: [../b, ../overlays/prod]",
    "b/kustomization.yaml": "resources: [../c/x.yaml]",
  });
  expect(touchedAmong(found, ["a/1", "b/1", "c/x.yaml", "c/y.yaml", "d"])).toEqual(["a/1", "b/1", "c/x.yaml"]);
});

test("components and patches of the Application's own spec count", async () => {
  const files = { "comp/kustomization.yaml": "kind: Component\nresources: [../lib/x.yaml]" };
  const found = await inputs(files, {
    components: ["../../comp"],
    patches: [{ path: "../../p.yaml" }, { patch: "[]" }],
  });
  expect(touchedAmong(found, ["comp/c.yaml", "lib/x.yaml", "p.yaml", "q.yaml"])).toEqual([
    "comp/c.yaml",
    "lib/x.yaml",
    "p.yaml",
  ]);
});

test("components of the spec are beside the directory that a linked path leads to, as Kustomize follows links", async () => {
  const files = {
    overlays: { kind: "symlink", target: "deep/er" } as const,
    "deep/er/prod/kustomization.yaml": "namePrefix: a-",
    "deep/lib/x.yaml": "a: 1",
    "deep/comp/kustomization.yaml": "kind: Component\nresources: [../lib/x.yaml]",
  };
  const options = { components: ["../../comp"], patches: [{ path: "../../p.yaml" }] };
  const found = await inputs({ ...files, "deep/p.yaml": "a: 1" }, options);
  const paths = ["deep/comp/c.yaml", "deep/lib/x.yaml", "deep/p.yaml"];
  expect(touchedAmong(found, [...paths, "deep/q.yaml"])).toEqual(paths);
  expect(found).toMatchObject([{ remote: false }]);
});

// `kustomize edit add component`, which Argo CD calls with them, expands them.
test("components of the spec that a pattern names are followed, and others are not read", async () => {
  const files: Files = {
    "comp/a/kustomization.yaml": "kind: Component\nresources: [../../lib/x.yaml]",
    "comp/b": { kind: "symlink", target: "../common/b" },
    "common/b/kustomization.yaml": "kind: Component\nresources: [../y.yaml]",
    "comp/old/kustomization.yaml": "kind: Component\nresources: [../../lib/z.yaml]",
  };
  const read = ["comp/a/deep/c.yaml", "comp/b", "common/b/c.yaml", "lib/x.yaml", "common/y.yaml"];
  const paths = [...read, "comp/old/c.yaml", "lib/z.yaml", "comp/README.md"];
  for (const pattern of ["../../comp/?", "../../comp/[a-b]"]) {
    expect(touchedAmong(await inputs(files, { components: [pattern] }), paths)).toEqual(read);
  }
  expect(touchedAmong(await inputs(files, { components: ["../../comp/*"] }), paths)).toEqual(paths.slice(0, -1));
});

test("a pattern of components leads through links, round and round as well", async () => {
  const files: Files = {
    "teams/eu": { kind: "symlink", target: "../regions/eu" },
    "teams/loop": { kind: "symlink", target: "../teams" },
    "regions/eu/comp/kustomization.yaml": "kind: Component\nresources: [../../../lib/x.yaml]",
    "regions/us/comp/kustomization.yaml": "kind: Component\nresources: [../../../lib/y.yaml]",
  };
  const read = ["teams/eu", "regions/eu/comp/c.yaml", "lib/x.yaml"];
  const paths = [...read, "regions/us/comp/c.yaml", "lib/y.yaml"];
  expect(touchedAmong(await inputs(files, { components: ["../../teams/*/comp"] }), paths)).toEqual(read);
  expect(touchedAmong(await inputs(files, { components: ["../../teams/*/*/*/*/comp"] }), paths)).toEqual(read);
  const [part] = await inputs(files, { components: [`../../teams/${"*/".repeat(1000)}comp`] });
  expect(part?.whole).toContain("is nested more than 20 deep");
});

test.each<[string, (texts: string) => Files]>([
  [
    "in many kustomizations",
    (texts) => ({
      "overlays/prod/kustomization.yaml": JSON.stringify({ resources: folders(500).map((one) => `../../${one}`) }),
      ...Object.fromEntries(folders(500).map((one) => [`${one}/kustomization.yaml`, `commonAnnotations: ${texts}`])),
    }),
  ],
  [
    "in configurations that are named many times",
    (texts) => ({
      "overlays/prod/kustomization.yaml": JSON.stringify({
        generators: folders(500).map((one) => `../${"./".repeat(Number(one.slice(1)))}g`),
      }),
      "overlays/g/kustomization.yaml": JSON.stringify({ resources: folders(20).map((one) => `${one}.yaml`) }),
      ...Object.fromEntries(folders(20).map((one) => [`overlays/g/${one}.yaml`, `data: ${texts}`])),
    }),
  ],
])("tens of thousands of texts %s take no time, and count as the whole repository", async (_, files) => {
  const texts = JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_none, at) => [`a${at}`, `b${at}`])));
  const before = process.cpuUsage();
  expect((await inputs(files(texts)))[0]?.whole).toBeDefined();
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(6); // seconds of our own, however busy the machine is
});

function folders(many: number): readonly string[] {
  return Array.from({ length: many }, (_, at) => `d${at}`);
}

test("names beside a directory of the same beginning are found by a pattern of components", async () => {
  const folders = ["a", "a-b", "a.c", "a0"];
  const files = Object.fromEntries(
    folders.flatMap((one) => [
      [`comp/${one}/kustomization.yaml`, `resources: [../../lib/${one}.yaml]`],
      [`comp/${one}/more.yaml`, "a: 1"],
      [`comp/${one}.txt`, "a"],
    ]),
  );
  const paths = folders.map((one) => `lib/${one}.yaml`);
  expect(touchedAmong(await inputs(files, { components: ["../../comp/a*"] }), paths)).toEqual(paths);
});

test.each([
  ["stands for thousands of paths", "../../comp/*", (at: number) => `comp/${at}/x.yaml`, 2001],
  ["takes long to compare", `../../comp/*${"a".repeat(1000)}b`, (at: number) => `comp/${"a".repeat(4000)}${at}`, 60],
])("a pattern of components that %s is the whole repository", async (_, pattern, pathAt, many) => {
  const files = Object.fromEntries(Array.from({ length: many }, (_one, at) => [pathAt(at), "a: 1"]));
  const [part] = await inputs(files, { components: [pattern] });
  expect(part?.whole).toContain("may stand for more paths than svc looks up");
});

test.each([
  [{ components: ["../../comp"] }, false],
  [{ components: ["../../*", "../../com[p]"] }, false],
  [{ components: ["../../none/*"] }, true],
  [{ components: ["../../none"] }, true],
  [{ components: ["../../none"], ignoreMissingComponents: true }, false],
  [{ components: ["https://example.com/comp"], ignoreMissingComponents: true }, true],
  [{ components: ["../../none"], ignoreMissingComponents: true, patches: [{ path: "../none.yaml" }] }, true],
  [{ components: ["https://github.com/acme/comp?ref=main"] }, true],
  [{ patches: [{ path: "https://example.com/p.yaml" }] }, true],
])("%j of the Application's own spec fetches from elsewhere: %s", async (kustomize, remote) => {
  expect(await inputs({ "comp/kustomization.yaml": "kind: Component" }, kustomize)).toMatchObject([{ remote }]);
});

test("local charts bring their own local dependencies", async () => {
  const files = {
    "overlays/prod/kustomization.yaml": "helmCharts: [{name: c}]",
    "overlays/prod/charts/c/Chart.yaml": "dependencies: [{name: l, repository: 'file://../../../../lib'}]",
  };
  expect(touchedAmong(await inputs(files), ["lib/x", "libs/x"])).toEqual(["lib/x"]);
});

test("what a plugin's configuration names counts, from a file or inline", async () => {
  const files = {
    "overlays/prod/kustomization.yaml": "generators:\n- gen.yaml\n- |-\n  kind: X\n  files: [../../inline/y.txt]\n",
    "overlays/prod/gen.yaml": "kind: HelmChartInflationGenerator\nvaluesFile: ../../values/v.yaml\n",
  };
  expect(touchedAmong(await inputs(files), ["values/v.yaml", "inline/y.txt", "z"])).toEqual([
    "values/v.yaml",
    "inline/y.txt",
  ]);
});

const functionOf = (spec: string) =>
  `kind: Gen\nmetadata:\n  name: g\n  annotations:\n    config.kubernetes.io/function: |\n      ${spec}\nfiles: [../../secrets/s.yaml]\n`;

test.each([
  ["that is a file of the repository", "exec: {path: ./gen.sh}"],
  ["that is a file above", "exec: {path: ../../bin/gen.sh}"],
  ["that an interpreter runs", "exec: {path: bash, args: [gen.sh]}"],
])("a function of Kustomize by a program %s makes the whole repository an input", async (_, spec) => {
  const files = {
    "overlays/prod/kustomization.yaml": "generators: [gen.yaml]",
    "overlays/prod/gen.yaml": functionOf(spec),
    "overlays/prod/gen.sh": "cat ../../any/file",
  };
  expect((await inputs(files))[0]?.whole).toBe(
    "the kustomization overlays/prod/kustomization.yaml runs a program of the repository, which may read any file",
  );
  const inline = `transformers:\n- |-\n  ${files["overlays/prod/gen.yaml"].replaceAll("\n", "\n  ")}`;
  expect((await inputs({ ...files, "overlays/prod/kustomization.yaml": inline }))[0]?.whole).toContain("a program");
});

test.each([
  ["of the image", "exec: {path: ksops, args: [--verbose]}", []],
  ["by its place in the image", "exec: {path: /usr/local/bin/ksops}", []],
  ["with a file as its argument", "exec: {path: yq, args: [../../values/v.yaml]}", ["values/v.yaml"]],
  ["in Starlark", "starlark: {path: ../../star/f.star}", ["star/f.star"]],
])("a function of Kustomize %s reads what it names", async (_, spec, more) => {
  const files = {
    "overlays/prod/kustomization.yaml": "generators: [gen.yaml]",
    "overlays/prod/gen.yaml": functionOf(spec),
  };
  const found = await inputs(files);
  expect(found[0]?.whole).toBeUndefined();
  expect(touchedAmong(found, ["secrets/s.yaml", ...more, "elsewhere"])).toEqual(["secrets/s.yaml", ...more]);
});

test("a function in a list of configurations counts as well", async () => {
  const one = { kind: "Gen", metadata: { annotations: { "config.k8s.io/function": "exec: {path: ./gen.sh}" } } };
  const list = JSON.stringify({ kind: "List", items: [{ kind: "GenList", items: [one] }] });
  const files = { "overlays/prod/kustomization.yaml": "validators: [gen.yaml]", "overlays/prod/gen.yaml": list };
  expect((await inputs(files))[0]?.whole).toContain("a program");
});

test("a function that cannot be read makes the whole repository an input", async () => {
  const files = {
    "overlays/prod/kustomization.yaml": "generators: [gen.yaml]",
    "overlays/prod/gen.yaml": functionOf("exec: {"),
  };
  expect((await inputs(files))[0]?.whole).toContain("cannot be read");
});

test.each([
  ["the local chart that is inflated", "helmCharts: [{name: c}]", "overlays/prod/charts/c/values.yaml"],
  ["a chart home above", "helmGlobals: {chartHome: ../../charts}\nhelmCharts: [{name: c}]", "charts/c/values.yaml"],
  ["a generated file beside", "configMapGenerator: [{name: c, files: [f.txt]}]", "overlays/prod/f.txt"],
  ["a file that is not there yet", "resources: [../../later.yaml]", "later.yaml"],
  ["above the root: it stops there", "resources: [../../../../../top.yaml]", "top.yaml"],
  ["a multi-document kustomization", "resources: []\n---\nresources: [../../second.yaml]", "second.yaml"],
])("%s", async (_, text, path) => {
  const files = { ...BASE, "overlays/prod/kustomization.yaml": text, "charts/c/Chart.yaml": "name: c" };
  expect(touchedAmong(await inputs(files), [path, "overlays/stage/f.txt", "second.yml"])).toEqual([path]);
});

test("what is not named is not read", async () => {
  const files = { ...BASE, "overlays/prod/kustomization.yaml": "resources: [../../base]", "base2/cm.yaml": "a: 1" };
  const paths = ["base2/cm.yaml", "overlays/cm.yaml", "README.md", "bases"];
  expect(touchedAmong(await inputs(files), paths)).toEqual([]);
});

test("a linked base is read where it is, and its own paths start there", async () => {
  const files = {
    "overlays/prod/kustomization.yaml": "resources: [../../current]",
    current: { kind: "symlink", target: "versions/v2/base" } as const,
    "versions/v2/base/kustomization.yaml": "resources: [../lib/x.yaml]",
  };
  const paths = ["current", "versions/v2/base/cm.yaml", "versions/v2/lib/x.yaml"];
  expect(touchedAmong(await inputs(files), [...paths, "versions/v1/base/cm.yaml", "lib/x.yaml"])).toEqual(paths);
});

test("a kustomization that is itself a link names paths from where the link stands", async () => {
  const files = {
    "overlays/prod/kustomization.yaml": { kind: "symlink", target: "../../common/prod.yaml" } as const,
    "common/prod.yaml": "resources: [../../base]",
    ...BASE,
  };
  expect(touchedAmong(await inputs(files), ["common/prod.yaml", "base/cm.yaml", "common/x"])).toEqual([
    "common/prod.yaml",
    "base/cm.yaml",
  ]);
});

test.each([
  ["resources: [../../base]", false],
  ["resources: [cm.yaml]", false],
  ["commonAnnotations: {home: 'https://example.com'}\nresources: [../../base]", false],
  ["configMapGenerator: [{name: c, literals: ['URL=https://example.com']}]", false],
  ["helmCharts: [{name: c, repo: 'https://charts.example.com', version: 1.2.3}]", false],
  ["helmCharts: [{name: c, repo: 'https://charts.example.com', version: ~1.2}]", true],
  ["helmCharts: [{name: c, repo: 'https://charts.example.com', version: 1.2}]", true],
  ["helmCharts: [{name: c, repo: 'https://charts.example.com'}]", true],
  ["helmCharts: [{name: c, valuesFile: 'https://example.com/v.yaml'}]", true],
  ["resources: ['https://github.com/acme/other//base?ref=v1']", true],
  ["resources: ['git@github.com:acme/other.git']", true],
  ["resources:\n- github.com/acme/other/base?ref=v1\n", true],
  ["components: ['ssh://git@github.com/acme/other']", true],
  ["patches: [{path: 'https://example.com/p.yaml'}]", true],
  ["configMapGenerator: [{name: c, files: ['a=https://example.com/p.yaml']}]", true],
  ['generators: ["apiVersion: v1\\nkind: X\\nfrom: https://example.com\\n"]', true],
  ['generators: ["apiVersion: v1\\nkind: X\\nfrom: ../../base\\n"]', false],
])("%s fetches something from elsewhere: %s", async (text, remote) => {
  const found = await inputs({ ...BASE, "overlays/prod/cm.yaml": "a: 1", "overlays/prod/kustomization.yaml": text });
  expect(found).toMatchObject([{ remote, whole: undefined }]);
});

test("URLs of other repositories are no input", async () => {
  const text = `resources:
- https://github.com/acme/other//base?ref=v1
- git@github.com:acme/other.git
- github.com/acme/other/base?ref=v1
patches:
- patch: |-
    - op: add
      path: /../x
`;
  const [part] = await inputs({ "overlays/prod/kustomization.yaml": text });
  expect(part).toMatchObject({ whole: undefined, paths: ["overlays/prod", ...checkoutFilesOf("overlays/prod")] });
});

test.each([
  ["a template", "resources: ['../{{ base }}']", "cannot be read"],
  ["a template in a plugin", "generators: ['{kind: ConfigMapGenerator, files: [\"{{ a }}\"]}']", "cannot be read"],
  ["no YAML", "resources: [", "cannot be read"],
  ["an alias bomb", `a: &a [x,x]\nb: &b [${"*a,".repeat(99)}]\nc: [${"*b,".repeat(99)}]`, "cannot be read"],
  [
    "too many files",
    `resources:\n${"- ../../x/1.yaml\n".repeat(1)}${Array.from({ length: 2001 }, (_, i) => `- ../../x/${i}.yaml\n`).join("")}`,
    "more than 2000 files",
  ],
])("%s makes the whole repository an input", async (_, text, reason) => {
  const found = await inputs({ "overlays/prod/kustomization.yaml": text });
  expect(found[0]?.whole).toContain(reason);
});

test("a kustomization that cannot be read as text, or a broken generator, is the whole repository", async () => {
  expect((await inputs({ "overlays/prod/Kustomization": { kind: "binary" } }))[0]?.whole).toContain("cannot be read");
  const broken = { "overlays/prod/kustomization.yaml": "generators: [g.yaml]", "overlays/prod/g.yaml": "a: [" };
  expect((await inputs(broken))[0]?.whole).toContain("cannot be read");
});

test("a value of a chart that looks like an option of Helm is none", async () => {
  const chart = { name: "w", valuesInline: { extraArgs: [{ name: "--log-level", value: "{}" }] } };
  expect(await wholeReason({ "a/kustomization.yaml": JSON.stringify({ helmCharts: [chart] }) }, single("a"))).toBe(
    undefined,
  );
});

test.each<[string, Files]>([
  ["helmCharts: [{name: w, valuesInline: {host: '{{ .Release.Name }}.example.com'}}]", {}],
  ["configMapGenerator: [{name: c, literals: ['TITLE={{ .Title }}']}]", {}],
  ["commonAnnotations: {link: '/x/{{ id }}'}", {}],
  [
    "generators: [g.yaml]",
    { "a/g.yaml": "kind: HelmChartInflationGenerator\nname: w\nvaluesInline: {host: '{{ .Release.Name }}'}" },
  ],
])("a template in a value is no path: %s", async (text, files) => {
  expect(await wholeReason({ "a/kustomization.yaml": text, ...files }, single("a"))).toBeUndefined();
});

test("a chain of more than 20 kustomizations is the whole repository", async () => {
  const chain = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`c/${index}/kustomization.yaml`, `resources: [../${index + 1}]`]),
  );
  const found = await inputs({ ...chain, "overlays/prod/kustomization.yaml": "resources: [../../c/0]" });
  expect(found[0]?.whole).toContain("20 deep");
});

test.each<[string, Files]>([
  [
    "of helmCharts that leads out of the folder of charts",
    { "a/kustomization.yaml": "helmCharts: [{name: ../../common}]" },
  ],
  // Kustomize looks for it in the folder `<name>-<version>` (`absChartHome` of HelmChartInflationGenerator.go).
  [
    "of a version",
    { "a/kustomization.yaml": "helmCharts: [{name: w, repo: 'https://x.test', version: 1/../../../b}]" },
  ],
  ["of an older list", { "a/kustomization.yaml": "helmChartInflationGenerator: [{chartName: x/../../../common}]" }],
  [
    "of a generator",
    { "a/kustomization.yaml": "generators: [g.yaml]", "a/g.yaml": "name: ../../common\nchartHome: c" },
  ],
  // Helm 3.15, 3.18 and 4.2 read the file, which they look for in the repository's root.
  [
    "of a release whose name is an option",
    { "a/kustomization.yaml": "helmCharts: [{name: w, releaseName: '--values=common/v.yaml', nameTemplate: w}]" },
  ],
])("by the name of a chart %s Helm may read any file", async (_, files) => {
  expect(await wholeReason(files, single("a"))).toBe(
    "the kustomization a/kustomization.yaml names a chart by which Helm may read any file",
  );
});
