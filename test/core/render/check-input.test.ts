import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseAllDocuments } from "yaml";
import type { Manifest } from "../../../src/core/model/application.js";
import { isJsonObject, type Json, jsonText } from "../../../src/core/model/json.js";
import { checkInputTask, writtenDocument } from "../../../src/core/render/check-manifests.js";

/** As tools read it that follow YAML 1.1, as Kubernetes' do, and as those that follow 1.2. */
function readBack(text: string): readonly unknown[] {
  return (["1.1", "1.2"] as const).map((version) => {
    const documents = parseAllDocuments(text, { version, merge: true, uniqueKeys: true });
    if (!Array.isArray(documents)) throw new Error("no document");
    return documents.map((one) => {
      if (one.errors.length > 0) throw new Error(one.errors.join("; "));
      return one.toJS() as unknown;
    });
  });
}

const STRANGE = [
  ..."yes no on off y n Y N ~ null true 0o17 0x1f 012 1_000 1e3 .inf .nan 12:30:45 2001-01-01 <<".split(" "),
  ..."= ! & * - ? : | > % @ ` # [] {} --- ...".split(" "),
  ..."a: b|a #b|- a|? a|a:|'|\"|\\| a|a |".split("|"),
  "\t",
  "a\n---\nkind: Pod\n",
  "a\u2028kind: Pod\u2028  b: c",
  "a\u2029b: c",
  "a\u0085b: c",
  "\ufeff",
  "\u0000\u001b",
  "\r\n",
  "\ud83d\ude00",
  "\n\n a\n",
  "a".repeat(200),
];
const texts = fc.oneof(fc.constantFrom(...STRANGE), fc.string({ unit: "grapheme" }));
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    texts,
    fc.boolean(),
    fc.constant(null),
    fc.integer(),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(texts, tie("value"), { maxKeys: 3 }),
  ),
})).value;

test("every reader of YAML finds in a document what is deployed, whatever its texts and keys are", () => {
  for (const text of STRANGE) {
    const manifest = { kind: "ConfigMap", data: { [text]: text, list: [text] } };
    expect(readBack(`---\n${writtenDocument(manifest)}`)).toEqual([[manifest], [manifest]]);
  }
  fc.assert(
    fc.property(fc.dictionary(texts, json, { maxKeys: 4 }), (data) => {
      const manifest = { kind: "ConfigMap", data } as Manifest;
      const text = `---\n${writtenDocument(manifest)}---\n${writtenDocument(manifest)}`;
      expect(readBack(text)).toEqual([
        [manifest, manifest],
        [manifest, manifest],
      ]);
    }),
    { numRuns: 200 },
  );
});

test("values of Secrets are masked as Argo CD masks them, also in carriers", async () => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "db" }, stringData: { password: "hunter22" } };
  const carrier = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c" },
    data: { "db.json": JSON.stringify(secret) },
  };
  const application = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    spec: { source: { helm: { parameters: [{ name: "db.password", value: "hunter22" }] } } },
  };
  const head = jsonText<readonly Manifest[]>([secret, carrier, application]);
  const written = await checkInputTask.run({ head, base: jsonText<readonly Manifest[]>([]) });
  expect(written.base).toBe("");
  expect(written.head).not.toContain("hunter22");
  expect(written.head).toContain("password: ++++++++");
  expect(written.head.match(/^---$/gm)).toHaveLength(3);
});

test("an annotation with a copy of an object is masked, and its name is there to be checked", async () => {
  const annotations = { "example.com/snapshot": JSON.stringify({ kind: "Database", spec: { password: "hunter22" } }) };
  const head = jsonText<readonly Manifest[]>([{ apiVersion: "v1", kind: "Service", metadata: { annotations } }]);
  const { head: written } = await checkInputTask.run({ head, base: head });
  expect(written).toContain("example.com/snapshot: ++++++++");
  expect(written).not.toContain("hunter22");
});

/** Every object in a value, itself included. */
function objectsIn(value: Json): readonly Manifest[] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(objectsIn);
  if (!isJsonObject(value)) return [];
  return [value, ...Object.values(value).flatMap((one) => (one === undefined ? [] : objectsIn(one)))];
}

test("what Kubernetes takes for no Secret is not hidden from a check, whatever its parts call themselves", async () => {
  const volumes = [{ name: "root", hostPath: { path: "/" } }];
  const container = {
    name: "web",
    image: "web:1",
    securityContext: { privileged: true },
    env: [{ value: "shown" }],
  };
  const workload = { spec: { template: { spec: { hostNetwork: true, containers: [container], volumes } } } };
  const role = { rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] };
  const service = { spec: { externalIPs: ["10.0.0.1"], ports: [{ port: 80 }] } };
  const source = { repoURL: "https://example.com/x.git", path: "x", kustomize: { images: ["web:1"] } };
  const definition = { project: "default", source, destination: { server: "https://example.com" } };
  const generators = [{ git: { repoURL: "https://example.com/x.git", directories: [{ path: "*" }] } }];
  const plain: readonly Manifest[] = [
    { apiVersion: "apps/v1", kind: "Deployment", ...workload },
    { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", ...workload },
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", ...role },
    { apiVersion: "v1", kind: "Service", ...service },
    { apiVersion: "v1", kind: "ConfigMap", data: { "nginx.conf": "allow all;" } },
    { apiVersion: "v1", kind: "Endpoints", subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }] },
    { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow", spec: { templates: [{ name: "a", container }] } },
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Workflow",
      spec: { templates: [{ script: container, sidecars: [container] }] },
    },
    { apiVersion: "argoproj.io/v1alpha1", kind: "Application", spec: definition },
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      spec: { generators, template: { spec: definition } },
    },
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "AppProject",
      spec: { sourceRepos: ["*"], destinations: [{ server: "*" }] },
    },
    { apiVersion: "tekton.dev/v1", kind: "TaskRun", spec: { taskSpec: { steps: [container] } } },
  ];
  for (const manifest of plain) {
    for (const disguise of [{ kind: "Secret" }, { type: "Opaque" }, { target: { kind: "Secret" } }]) {
      for (const [index] of objectsIn(manifest).entries()) {
        const copy = structuredClone(manifest);
        const part = objectsIn(copy)[index];
        if (part === undefined || index === 0) continue;
        Object.assign(part, disguise);
        const head = jsonText<readonly Manifest[]>([copy]);
        const { head: written } = await checkInputTask.run({ head, base: head });
        expect(written).not.toContain("++++");
      }
    }
  }
});

test.each([
  "docker.io/attacker/kind/secret:latest",
  "registry.example.com/team/kind:secret",
  "/var/lib/kind/secret/stringData",
  "*.kind-secret.example.com",
])("a name or a path that spells out a Secret is none: %s", async (image) => {
  const pod = { apiVersion: "v1", kind: "Pod", spec: { containers: [{ name: "web", image }] } };
  const { head: written } = await checkInputTask.run({ head: jsonText([pod]), base: jsonText([]) });
  expect(written).toContain(image);
});

test("a check reads the integers of 64 bits that are deployed, and no text as one", async () => {
  const id = "9007199254740993 (a number)";
  const texts = { imitated: `${id} as text`, block: `a: ${id}\nb: ${id}\n` };
  const head = jsonText<readonly Manifest[]>([{ kind: "Account", spec: { id, ids: [id], ...texts } }]);
  const { head: written } = await checkInputTask.run({ head, base: head });
  const [document] = parseAllDocuments(written, { intAsBigInt: true });
  const spec = { id: 9007199254740993n, ids: [9007199254740993n], imitated: id, block: texts.block };
  expect(document?.toJS()).toEqual({ kind: "Account", spec });
});
