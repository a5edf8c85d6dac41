import { gzipSync } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { stringify } from "yaml";
import type { Manifest } from "../../../src/core/model/application.js";
import { diff, object } from "../diff/resource.js";

const secret = (value: string, more: Manifest = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "db" },
  stringData: { password: value },
  ...more,
});
const encoded = (text: string | Buffer) => Buffer.from(text).toString("base64");
const shown = (base: readonly Manifest[], head: readonly Manifest[]) => JSON.stringify(diff(base, head).resources);

type Carrier = (inner: Manifest) => Manifest;
const kubernetesObject: Carrier = (manifest) =>
  object("kubernetes.crossplane.io/v1alpha2/Object", "x", { spec: { forProvider: { manifest } } });
const configMap = (text: string): Manifest => object("v1/ConfigMap", "x", { data: { "all.yaml": text } });

const CARRIERS: readonly (readonly [string, Carrier])[] = [
  [
    "a ManifestWork",
    (one) =>
      object("work.open-cluster-management.io/v1/ManifestWork", "x", { spec: { workload: { manifests: [one] } } }),
  ],
  ["Crossplane's Object", kubernetesObject],
  [
    "Crossplane's Composition",
    (one) =>
      object("apiextensions.crossplane.io/v1/Composition", "x", {
        spec: { resources: [{ base: kubernetesObject(one) }] },
      }),
  ],
  ["a List inside", (one) => kubernetesObject({ apiVersion: "v1", kind: "List", items: [one] })],
  ["a list in small letters", (one) => ({ apiVersion: "v1", kind: "list", metadata: { name: "x" }, items: [one] })],
  ["OpenShift's Template", (one) => object("template.openshift.io/v1/Template", "x", { objects: [one] })],
  [
    "Helm values that are objects",
    (one) => object("helm.toolkit.fluxcd.io/v2/HelmRelease", "x", { spec: { values: { extraObjects: [one] } } }),
  ],
  [
    "an Application's values",
    (one) =>
      object("argoproj.io/v1alpha1/Application", "x", { spec: { source: { helm: { valuesObject: { raw: [one] } } } } }),
  ],
  [
    "a text of an Application's values",
    (one) =>
      object("argoproj.io/v1alpha1/Application", "x", {
        spec: { source: { helm: { values: stringify({ raw: [one] }) } } },
      }),
  ],
  ["YAML in a ConfigMap", (one) => configMap(stringify(one))],
  ["several documents in a ConfigMap", (one) => configMap(`a: 1\n---\n${stringify(one)}`)],
  ["JSON in a ConfigMap", (one) => configMap(JSON.stringify(one, null, 2))],
  ["JSON in JSON in a ConfigMap", (one) => configMap(JSON.stringify({ bootstrap: JSON.stringify(one) }))],
  [
    "a text of documents that is no YAML",
    (one) => configMap(`#!/bin/sh\ncat <<EOF | kubectl apply -f -\n${stringify(one)}EOF\n`),
  ],
  ["a template", (one) => configMap(`{{- if .Values.x }}\n${stringify(one)}{{- end }}\n`)],
  ["a comment", (one) => configMap(`a: 1\n${stringify(one).replace(/^/gm, "# ")}\n`)],
  ["base64", (one) => object("v1/ConfigMap", "x", { binaryData: { all: encoded(JSON.stringify(one)) } })],
  [
    "base64 of gzip",
    (one) => object("v1/ConfigMap", "x", { binaryData: { all: encoded(gzipSync(JSON.stringify(one))) } }),
  ],
  [
    "an annotation of any name",
    (one) => object("v1/ConfigMap", "x", {}, { annotations: { "example.com/before": JSON.stringify(one) } }),
  ],
  [
    "a document with a merged kind",
    (one) =>
      configMap(
        `x: &k {kind: Secret}\ny:\n  <<: *k\n${stringify({ stringData: one.stringData ?? {}, data: one.data ?? {} }).replace(/^/gm, "  ")}`,
      ),
  ],
  ["a document with equal keys", (one) => configMap(`kind: ConfigMap\n${stringify(one)}`)],
  [
    "JSON whose later keys empty it",
    (one) => configMap(`${JSON.stringify(one).replace(/\}$/, "")},"stringData":{},"data":{},"values":{},"items":[]}`),
  ],
  [
    "JSON whose later keys empty it, behind another document",
    (one) => configMap(`note: 1\n---\n${JSON.stringify(one).replace(/\}$/, "")},"stringData":{},"data":{}}`),
  ],
  [
    "JSON whose later keys empty it, in the line of its mark",
    (one) => configMap(`note: 1\n--- ${JSON.stringify(one).replace(/\}$/, "")},"stringData":{},"data":{}}`),
  ],
  ["a document whose later keys empty it", (one) => configMap(`${stringify(one)}stringData: {}\ndata: {}\n`)],
  [
    "a document that empties what it merges",
    (one) => configMap(`kind: Secret\n<<: ${JSON.stringify(one)}\nstringData: {}\ndata: {}\n`),
  ],
];

const SPELLINGS: readonly (readonly [string, (value: string) => Manifest])[] = [
  ["stringData", (value) => secret(value)],
  ["data", (value) => secret("", { stringData: {}, data: { password: encoded(value) } })],
  ["another group", (value) => secret(value, { apiVersion: "example.com/v1" })],
  ["a kind in small letters", (value) => secret(value, { kind: "secret" })],
  ["a kind with blanks", (value) => secret(value, { kind: " Secret " })],
  [
    "a list of Secrets",
    (value) => ({
      apiVersion: "v1",
      kind: "SecretList",
      items: [{ metadata: { name: "db" }, data: { a: encoded(value) } }],
    }),
  ],
  ["a member that Kubernetes does not know", (value) => secret("", { values: { deep: [{ a: value }] } })],
];

describe("a Secret in a carrier is hidden as a Secret is", () => {
  test.each(CARRIERS)("%s", (_, carrier) => {
    for (const [, spelling] of SPELLINGS) {
      const [base, head] = [carrier(spelling("S3CR3T-before")), carrier(spelling("S3CR3T-after"))];
      for (const text of [shown([base], [head]), shown([], [head]), shown([base], [])]) {
        expect(text).not.toMatch(/S3CR3T/);
        expect(text).not.toContain(encoded("S3CR3T-after"));
        expect(text).not.toContain(encoded("S3CR3T-before").slice(0, 12));
      }
      expect(diff([base], [head]).updated).toBe(JSON.stringify(base) === JSON.stringify(head) ? 0 : 1);
    }
  });

  test.each(SPELLINGS)("on its own: %s", (_, spelling) => {
    const text = shown([spelling("S3CR3T-before")], [spelling("S3CR3T-after")]);
    expect(text).not.toMatch(/S3CR3T/);
    expect(text).not.toContain(encoded("S3CR3T-after"));
  });

  test("says which values change, of the Secret of the same name wherever it stands", () => {
    const work = (...manifests: readonly Manifest[]) =>
      object("work.open-cluster-management.io/v1/ManifestWork", "x", { spec: { workload: { manifests } } });
    const named = (name: string, value: string) => secret(value, { metadata: { name } });
    const base = work(named("a", "one-one"), named("b", "two-two"));
    const head = work(named("new", "new-new"), named("b", "two-two"), named("a", "one-two"));
    const text = diff([base], [head]).resources[0]?.diff ?? "";
    expect(text).toMatch(/name: b\n.*stringData:\n.*password: \(hidden, unchanged\)/);
    expect(text).toMatch(/name: a\n.*stringData:\n\+.*password: \(hidden, after the change\)/);
    expect(text).toMatch(/name: new\n.*stringData:\n(?:-.*\n)?\+.*password: \(hidden\)/);
  });

  test.each(["ClusterSecret", "ExternalSecret", "SecretProviderClass"])(
    "a text that cannot be read and names a %s is hidden whole",
    (kind) => {
      const text = `{{- if .Values.x }}\nkind: ${kind}\ndata:\n  token: S3CR3T\n{{- end }}\n`;
      expect(shown([], [configMap(text)])).not.toContain("S3CR3T");
    },
  );

  test("what is around it is shown", () => {
    const text = shown(
      [kubernetesObject(secret("S3CR3T", { metadata: { name: "db", labels: { tier: "old" } } }))],
      [kubernetesObject(secret("S3CR3T", { metadata: { name: "db", labels: { tier: "new" } } }))],
    );
    expect(text).toContain("tier: new");
    expect(text).toContain("password: (hidden, unchanged)");
  });

  test("of any manifest nothing below a Secret is shown", () => {
    const value = fc.stringMatching(/^[a-zA-Z0-9]{6,20}$/).map((text) => `S3CR3T${text}`);
    const inner = fc.oneof(...SPELLINGS.map(([, spelling]) => value.map(spelling)));
    const { tree } = fc.letrec<{ tree: Manifest; list: readonly Manifest[] }>((tie) => ({
      list: fc.array(tie("tree"), { maxLength: 2 }),
      tree: fc.oneof(
        { maxDepth: 4 },
        inner,
        fc.record({ spec: tie("tree") }),
        fc.record({ items: tie("list"), kind: fc.constantFrom("List", "x") }),
        tie("tree").map((one) => ({ text: stringify(one) })),
        tie("tree").map((one) => ({ text: JSON.stringify(one) })),
      ),
    }));
    fc.assert(
      fc.property(tree, tree, (base, head) => {
        const wrapped = (one: Manifest) => object("example.com/v1/Carrier", "x", { spec: one });
        expect(shown([wrapped(base)], [wrapped(head)])).not.toContain("S3CR3T");
      }),
    );
  });
});

describe("what makes up a Secret under another kind is hidden", () => {
  test.each<[string, Manifest]>([
    [
      "ExternalSecret's template",
      object("external-secrets.io/v1/ExternalSecret", "x", {
        spec: { target: { template: { data: { a: "S3CR3T" } } } },
      }),
    ],
    [
      "ExternalSecret's literal template",
      object("external-secrets.io/v1/ExternalSecret", "x", {
        spec: { target: { template: { templateFrom: [{ literal: "a: S3CR3T" }] } } },
      }),
    ],
    [
      "ClusterExternalSecret's template",
      object("external-secrets.io/v1/ClusterExternalSecret", "x", {
        spec: { externalSecretSpec: { target: { template: { data: { a: "S3CR3T" } } } } },
      }),
    ],
    [
      "a store with made-up values",
      object("external-secrets.io/v1/SecretStore", "x", {
        spec: { provider: { fake: { data: [{ key: "a", value: "S3CR3T" }] } } },
      }),
    ],
    [
      "SealedSecret's template",
      object("bitnami.com/v1alpha1/SealedSecret", "x", {
        spec: { encryptedData: {}, template: { data: { a: "S3CR3T" } } },
      }),
    ],
    [
      "templates of an operator",
      object("isindir.github.com/v1alpha3/SopsSecret", "x", {
        spec: { secretTemplates: [{ name: "a", stringData: { a: "S3CR3T" } }] },
      }),
    ],
    [
      "an object of a Secret's type",
      { apiVersion: "v1", metadata: { name: "x" }, type: "Opaque", data: { a: "S3CR3T" } },
    ],
    [
      "parameters of a Template",
      object("template.openshift.io/v1/Template", "x", {
        objects: [secret("${A}")],
        parameters: [{ name: "A", value: "S3CR3T" }],
      }),
    ],
    [
      "a patch of a Secret",
      object("kustomize.toolkit.fluxcd.io/v1/Kustomization", "x", {
        spec: { patches: [{ target: { kind: "Secret" }, patch: "- {op: replace, path: /data/a, value: S3CR3T}" }] },
      }),
    ],
    [
      "a parameter for data",
      object("argoproj.io/v1alpha1/Application", "x", {
        spec: { source: { helm: { parameters: [{ name: "raw[0].stringData.a", value: "S3CR3T" }] } } },
      }),
    ],
    ["a key that holds the value", secret("x", { stringData: { "password=S3CR3T": "" } })],
  ])("%s", (_, manifest) => {
    const text = shown([], [manifest]);
    expect(text).toContain("(hidden");
    expect(text).not.toContain("S3CR3T");
  });
});

describe("annotations with a copy of an object are left out", () => {
  const copy = JSON.stringify(secret("S3CR3T"));
  test.each<[string, string]>([
    ["kubectl.kubernetes.io/last-applied-configuration", copy],
    ["kapp.k14s.io/original", copy],
    ["kapp.k14s.io/original-diff", "- value: S3CR3T"],
    ["objectset.rio.cattle.io/applied", "H4sIAAAAAAAA/4S3CR3T"],
    ["objectset.rio.cattle.io/applied", "S3CR3T"],
    ["banzaicloud.com/last-applied", "UEsDBBQACAAIAAAAAAAAS3CR3T"],
    ["kopf.zalando.org/last-handled-configuration", '{"spec":{"password":"S3CR3T"}}'],
    ["example.com/snapshot", JSON.stringify({ spec: { password: "S3CR3T" } })],
    ["example.com/snapshot", `kind: Database\nmetadata: {name: x}\nspec:\n  password: S3CR3T\n`],
    ["example.com/snapshot", JSON.stringify(JSON.stringify({ kind: "Database", spec: { password: "S3CR3T" } }))],
    ["example.com/snapshot", encoded(JSON.stringify({ kind: "Database", spec: { password: "S3CR3T-in-base64" } }))],
    ["example.com/snapshot", encoded(gzipSync(JSON.stringify({ kind: "Database", spec: { a: "S3CR3T" } })))],
  ])("%s: %.30s", (name, value) => {
    const annotations = { [name]: value };
    const pod = { spec: { template: { metadata: { annotations } } } };
    const one = [object("v1/ConfigMap", "x", {}, { annotations }), object("apps/v1/Deployment", "x", pod)];
    const text = shown([], one);
    expect(text).not.toContain("S3CR3T");
    expect(text).not.toContain(name);
    expect(text).not.toContain(value.slice(0, 30));
  });

  test("a change of such an annotation alone is counted and not shown", () => {
    const at = (value: string) =>
      object("v1/ConfigMap", "x", {}, { annotations: { "kapp.k14s.io/original": `{"data":"${value}"}` } });
    expect(diff([at("one")], [at("two")])).toMatchObject({
      updated: 1,
      resources: [{ diff: "# Only text that is not shown here changes." }],
    });
  });

  test("what is left out while something else changes is said, and what stays the same is not", () => {
    const at = (tier: string, to: string) =>
      object(
        "networking.k8s.io/v1/Ingress",
        "x",
        {},
        {
          labels: { tier },
          annotations: { "alb.ingress.kubernetes.io/actions.x": JSON.stringify({ type: to, spec: {} }) },
        },
      );
    const note = "# What looks like a copy of an object in its annotations is not shown.";
    const diffOf = (base: readonly Manifest[], head: readonly Manifest[]) => diff(base, head).resources[0]?.diff ?? "";
    expect(diffOf([at("a", "forward")], [at("b", "redirect")])).toContain(`${note}\n@@ `);
    expect(diffOf([], [at("b", "redirect")])).toContain(`${note}\n@@ `);
    const without = object("networking.k8s.io/v1/Ingress", "x", {}, { labels: { tier: "b" } });
    expect(diffOf([at("a", "forward")], [without])).toContain(`${note}\n@@ `);
    expect(diffOf([at("a", "forward")], [at("b", "forward")])).not.toContain(note);
    expect(diffOf([at("a", "forward")], [])).not.toContain(note);
  });

  test.each<[string, string]>([
    ["alb.ingress.kubernetes.io/actions.redirect", '{"Type":"redirect","RedirectConfig":{"Port":"443"}}'],
    ["k8s.v1.cni.cncf.io/networks", '[{"name":"macvlan","interface":"net1"}]'],
    ["kubernetes.io/change-cause", "this kind of change: a new secret, see the data sheet"],
    ["config.linkerd.io/skip-outbound-ports", "3306,4444,5555,6666,7777,8888"],
  ])("others stay: %s", (name, value) => {
    const text = diff([], [object("v1/ConfigMap", "x", {}, { annotations: { [name]: value } })]).resources[0]?.diff;
    expect(text).toContain(name);
  });
});

test.each<[string, Manifest, string]>([
  [
    "references to a Secret",
    object("x.io/v1/HelmRelease", "x", { spec: { valuesFrom: [{ kind: "Secret", name: "db", valuesKey: "SHOWN" }] } }),
    "SHOWN",
  ],
  [
    "what Argo CD ignores in Secrets",
    object("argoproj.io/v1alpha1/Application", "x", {
      spec: { ignoreDifferences: [{ kind: "Secret", jsonPointers: ["/data/SHOWN"] }] },
    }),
    "SHOWN",
  ],
  [
    "what an ExternalSecret reads",
    object("external-secrets.io/v1/ExternalSecret", "x", {
      spec: { data: [{ secretKey: "a", remoteRef: { key: "SHOWN" } }] },
    }),
    "SHOWN",
  ],
  [
    "sealed values",
    object("bitnami.com/v1alpha1/SealedSecret", "x", { spec: { encryptedData: { a: "SHOWN" } } }),
    "SHOWN",
  ],
  [
    "a part of a workload that calls itself a Secret",
    object("apps/v1/StatefulSet", "x", {
      spec: { template: { kind: "Secret", spec: { containers: [{ image: "SHOWN" }] } } },
    }),
    "SHOWN",
  ],
  ["addresses of databases", configMap("url: postgres://web:SHOWN@db/web"), "SHOWN"],
  ["texts about Secrets", configMap("# The secret is of another kind: SHOWN\nsecretName: SHOWN\n"), "SHOWN"],
])("shown as they stand in git: %s", (_, manifest, expected) => {
  expect(shown([], [manifest])).toContain(expected);
});

test.each<[string, string]>([
  ["https://ana:hunter2@example.com/x.git", "https://(hidden)@example.com/x.git"],
  ["https://ana:hun/ter2@x@example.com/x.git", "https://(hidden)@example.com/x.git"],
  ["https://hunter2@example.com/x.git", "https://(hidden)@example.com/x.git"],
  ["https://example.com/x?private_token=hunter2&a=b", "https://example.com/x?private_token=(hidden)&a=b"],
  ["ssh://git@example.com/x.git", "ssh://git@example.com/x.git"],
  ["https://example.com:8443/a@b", "https://example.com:8443/a@b"],
])("credentials in addresses are cut out of diffs: %s", (address, expected) => {
  const text = diff([], [configMap(`url: ${address}`)]).resources[0]?.diff ?? "";
  expect(text).toContain(`url: ${expected}`);
});
