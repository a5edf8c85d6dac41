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
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example.com/web:1.0
          envFrom: [{configMapRef: {name: env}}, {secretRef: {name: keys}}]
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
namespace: shop
namePrefix: prod-
commonLabels: {team: shop}
images: [{name: registry.example.com/web, newTag: "2.0"}]
replicas: [{name: web, count: 3}]
configMapGenerator:
  - {name: env, literals: [MODE=prod], files: [app.conf]}
secretGenerator:
  - {name: keys, literals: [key=secret], options: {disableNameSuffixHash: true}}
patches:
  - path: memory.yaml
  - target: {kind: Deployment}
    patch: |-
      - {op: add, path: /metadata/annotations, value: {patched: "yes"}}
`,
  "overlay/app.conf": "x=1\n",
  "overlay/memory.yaml":
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: web, resources: {limits: {memory: 1Gi}}}]}}}}",
  "strange/kustomization.yaml": "resources: []\nhelmCharts: []\n",
  "chart/Chart.yaml": "{apiVersion: v2, name: shop, version: 1.0.0}",
  "chart/values.yaml": "{a: chart, b: chart, c: chart, d: chart, deep: {x: 1, y: 1}}",
  "chart/prod.yaml": "{b: file, c: file, d: file, deep: {y: 2}}",
  "chart/templates/cm.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data:
  all: {{ printf "%v %v %v %v" .Values.a .Values.b .Values.c .Values.d | quote }}
  deep: {{ toJson .Values.deep | quote }}
  rev: {{ .Values.rev | default "none" | quote }}
  chart: {{ .Chart.Name }}
{{- if .Values.more }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more}
{{- end }}
`,
  "chart/crds/crd.yaml":
    "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}}",
  "envs/prod.yaml": "{c: other}",
  "envs/more-1.yaml": "{more: true}",
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
    new Repositories(() => git.directory("deploy")),
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
  test("bases, generators with hashes, references to them, images, labels, replicas, patches", async () => {
    const manifests = await render({ path: "overlay" });
    const [web, env, keys] = manifests;
    const envName = objectAt(env, "metadata").name;
    expect(names(manifests)).toEqual(["prod-web", expect.stringMatching(/^prod-env-[a-z0-9]{10}$/), "prod-keys"]);
    expect(objectAt(web, "metadata")).toEqual({
      name: "prod-web",
      namespace: "shop",
      labels: { team: "shop" },
      annotations: { patched: "yes" },
    });
    expect(objectAt(web, "spec")).toEqual({
      replicas: 3,
      selector: { matchLabels: { app: "web", team: "shop" } },
      template: {
        metadata: { labels: { app: "web", team: "shop" } },
        spec: {
          containers: [
            {
              name: "web",
              image: "registry.example.com/web:2.0",
              resources: { limits: { memory: "1Gi" } },
              envFrom: [{ configMapRef: { name: envName } }, { secretRef: { name: "prod-keys" } }],
            },
            { name: "side", image: "side" },
          ],
        },
      },
    });
    expect(objectAt(env, "data")).toEqual({ MODE: "prod", "app.conf": "x=1\n" });
    expect(objectAt(keys, "data")).toEqual({ key: Buffer.from("secret").toString("base64") });
  });

  test("the Application's own options come on top", async () => {
    const kustomize = {
      namePrefix: "x-",
      images: ["registry.example.com/web=other.example.com/web:3"],
      commonLabels: { rev: "$ARGOCD_APP_REVISION_SHORT" },
    };
    const [web] = await render({ path: "base", kustomize });
    expect(objectAt(web, "metadata")).toMatchObject({ name: "x-web", labels: { rev: revision.slice(0, 7) } });
    expect(JSON.stringify(web)).toContain("other.example.com/web:3");
  });

  test("what it does not know it refuses", async () => {
    await expect(render({ path: "strange" })).rejects.toThrow('unknown field "helmCharts"');
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
    expect(await cm(helm)).toMatchObject({ all: "chart file spec parameter", deep: '{"x":1,"y":3}', chart: "shop" });
  });

  test.each([
    ["relative to the chart", ["../envs/prod.yaml"]],
    ["from the root", ["/envs/prod.yaml"]],
    ["through a reference", ["$vals/envs/prod.yaml"]],
    ["by a glob", ["../envs/pr*.yaml"]],
    ["with variables", ["../envs/$ARGOCD_APP_NAMESPACE/none.yaml", "/envs/prod.yaml"]],
  ])("value files %s", async (_case, valueFiles) => {
    expect((await cm({ valueFiles, ignoreMissingValueFiles: true }, [{ ref: "vals" }])).all).toBe(
      "chart chart other chart",
    );
  });

  test("valuesObject, release name and namespace, strings by force, variables", async () => {
    const parameters = [
      { name: "rev", value: "$ARGOCD_APP_REVISION_SHORT_8", forceString: true },
      { name: "a", value: "$$HOME" },
    ];
    const manifests = await render({
      path: "chart",
      helm: { releaseName: "shop", valuesObject: { b: "object", deep: null }, values: "{b: text}", parameters },
    });
    const manifest = manifests.find(({ kind }) => kind === "ConfigMap");
    expect(objectAt(manifest, "metadata")).toEqual({ name: "shop", namespace: "ns" });
    expect(objectAt(manifest, "data")).toMatchObject({
      all: "$HOME object chart chart",
      rev: revision.slice(0, 8),
      deep: "null",
    });
  });

  test("more documents by condition; CRDs unless they are skipped", async () => {
    expect(names(await render({ path: "chart", helm: { valueFiles: ["../envs/more-*.yaml"] } }))).toEqual([
      "things.example.com",
      "app",
      "more",
    ]);
    expect(names(await render({ path: "chart", helm: { skipCrds: true } }))).toEqual(["app"]);
  });
});
