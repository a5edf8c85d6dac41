import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { objectAt, type Json, type JsonObject } from "../../../../sandbox/argocd/json.js";
import { HandWritten } from "../../../../sandbox/argocd/render/hand-written.js";
import { renderSource } from "../../../../sandbox/argocd/render/render-source.js";
import { Repositories } from "../../../../sandbox/argocd/repository.js";
import type { Source } from "../../../../sandbox/argocd/resource.js";
import { GitStore } from "../../../../sandbox/git/git-store.js";

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example.com/web:1.0
        - {name: side, image: side}
`;

const files = {
  "plain/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
  "plain/b.json":
    '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}]}',
  "plain/README.md": "no manifest",
  "plain/deep/c.yml": "---\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n",
  "base/kustomization.yaml": "resources: [web.yaml]\n",
  "base/web.yaml": deployment,
  "overlay/kustomization.yml": `resources: [../base]
namePrefix: prod-
images: [{name: registry.example.com/web, newTag: "2.0"}]
configMapGenerator: [{name: env, literals: [MODE=prod]}]
patches:
  - target: {kind: Deployment, name: web}
    patch: |-
      - {op: replace, path: /spec/replicas, value: 3}
`,
  "strange/kustomization.yaml": "resources: []\nhelmCharts: []\n",
  "chart/Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0}",
  "chart/values.yaml": "{a: chart, b: chart, c: chart, d: chart, deep: {x: 1, y: 1}}",
  "chart/prod.yaml": "{b: file, c: file, d: file, deep: {y: 2}}",
  "chart/templates/cm.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data:
  all: {{ .Values.a }} {{ .Values.b }} {{ .Values.c }} {{ .Values.d }}
  deep: {{ .Values.deep.y }}
  rev: {{ .Values.rev | quote }}
  chart: {{ .Chart.Name }}
`,
  "chart/crds/crd.yaml":
    "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}}",
  "envs/prod.yaml": "{c: other}",
  "envs/default.yaml": "{c: other}",
  "conditional/Chart.yaml": "{apiVersion: v2, name: x, version: 1.0.0}",
  "conditional/templates/cm.yaml": "{{ if .Values.on }}a: 1{{ end }}",
};

let git: GitStore;
let revision: string;
beforeAll(async () => {
  git = await GitStore.create();
  await git.createRepository("deploy", files);
  revision = (await git.resolve("deploy", "main")) ?? "";
});
afterAll(() => git.remove());

const url = "https://git.example.com/deploy.git";
const rendered = { instance: "app", name: "app", namespace: "ns", project: "default" };

async function render(source: Partial<Source>, others: Partial<Source>[] = []): Promise<JsonObject[]> {
  const all = [source, ...others].map((one) => ({ source: { repoURL: url, ...one }, revision }));
  const [at] = all;
  if (at === undefined) return [];
  const result = await renderSource(
    at,
    all,
    rendered,
    new Repositories(() => git.objects("deploy")),
    new HandWritten(),
  );
  return [...result.manifests];
}

const names = (manifests: JsonObject[]): Json[] =>
  manifests.map((manifest) => objectAt(manifest, "metadata").name ?? null);

describe("directories", () => {
  test.each([
    ["the folder alone", {}, ["a", "b"]],
    ["with subfolders", { recurse: true }, ["a", "b", "c"]],
    ["some of them left out", { recurse: true, exclude: "{b.json,deep/*}" }, ["a"]],
    ["only some", { recurse: true, include: "**/*.yml" }, ["c"]],
  ])("%s", async (_case, directory, expected) => {
    expect(names(await render({ path: "plain", directory }))).toEqual(expected);
  });
});

describe("kustomize", () => {
  test("bases, generated names with hashes, images and patches", async () => {
    const manifests = await render({ path: "overlay" });
    const [web, env] = manifests;
    expect(names(manifests)).toEqual(["prod-web", expect.stringMatching(/^prod-env-[a-z0-9]{10}$/)]);
    expect(objectAt(web, "spec")).toMatchObject({
      replicas: 3,
      template: { spec: { containers: [{ image: "registry.example.com/web:2.0" }, { image: "side" }] } },
    });
    expect(objectAt(env, "data")).toEqual({ MODE: "prod" });
  });

  test("what it does not know it refuses", async () => {
    await expect(render({ path: "strange" })).rejects.toThrow('unknown field "helmCharts"');
    await expect(render({ path: "base", kustomize: { namePrefix: "x-" } })).rejects.toThrow("namePrefix");
    expect(names(await render({ path: "base", kustomize: { nameSuffix: "-x" } }))).toEqual(["web-x"]);
  });
});

describe("Helm", () => {
  const cm = async (helm: NonNullable<Source["helm"]>, others?: Partial<Source>[]): Promise<JsonObject> =>
    objectAt(
      (await render({ path: "chart", helm }, others)).find(({ kind }) => kind === "ConfigMap"),
      "data",
    );

  test("values from the chart, files, the spec and parameters, each over the one before", async () => {
    const helm = {
      valueFiles: ["prod.yaml"],
      values: "{c: spec, d: spec}",
      parameters: [
        { name: "d", value: "parameter" },
        { name: "deep.y", value: "3" },
      ],
    };
    expect(await cm(helm)).toMatchObject({ all: "chart file spec parameter", deep: 3, chart: "shop" });
  });

  test.each([
    ["relative to the chart", ["../envs/prod.yaml"]],
    ["from the root", ["/envs/prod.yaml"]],
    ["through a reference", ["$vals/envs/prod.yaml"]],
    ["with variables", ["/envs/$ARGOCD_APP_PROJECT_NAME.yaml"]],
  ])("value files %s", async (_case, valueFiles) => {
    expect((await cm({ valueFiles }, [{ ref: "vals" }])).all).toBe("chart chart other chart");
  });

  test("valuesObject, release name and namespace, strings by force, variables", async () => {
    const parameters = [
      { name: "rev", value: "$ARGOCD_APP_REVISION_SHORT_8", forceString: true },
      { name: "a", value: "$$HOME" },
    ];
    const manifests = await render({
      path: "chart",
      helm: { releaseName: "shop", valuesObject: { b: "object", deep: { y: null } }, values: "{b: text}", parameters },
    });
    const manifest = manifests.find(({ kind }) => kind === "ConfigMap");
    expect(objectAt(manifest, "metadata")).toEqual({ name: "shop", namespace: "ns" });
    expect(objectAt(manifest, "data")).toMatchObject({
      all: "$HOME object chart chart",
      rev: revision.slice(0, 8),
      deep: null,
    });
  });

  test("CRDs are rendered unless they are skipped; a template that does more than print values is refused", async () => {
    expect(names(await render({ path: "chart" }))).toEqual(["things.example.com", "app"]);
    expect(names(await render({ path: "chart", helm: { skipCrds: true } }))).toEqual(["app"]);
    await expect(render({ path: "conditional" })).rejects.toThrow("the sandbox does not support {{ if .Values.on }}");
  });
});
