import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { diffManifests, NO_DIFFERENCE } from "../../../src/core/diff/manifest-diff.js";
import type { Manifest } from "../../../src/core/model/application.js";
import { revision } from "../../../src/core/model/brand.js";

const BASE = revision("0123456789abcdef0123456789abcdef01234567");
const HEAD = revision("fedcba9876543210fedcba9876543210fedcba98");

function diff(base: readonly Manifest[], head: readonly Manifest[]) {
  return diffManifests({
    base,
    head,
    destinationNamespace: "guestbook",
    baseNamespace: "guestbook",
    syncOptions: [],
    placeholders: { base: BASE, head: HEAD },
    redact: [],
  });
}

function configMap(name: string, data: Manifest, metadata: Manifest = {}): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}
const object = (apiVersion: string, kind: string, name: string, more: Manifest = {}): Manifest => ({
  apiVersion,
  kind,
  metadata: { name },
  ...more,
});

test("the status of an Application is a change, since applying it writes it", () => {
  const child = object("argoproj.io/v1alpha1", "Application", "shop");
  const found = diff([child], [{ ...child, status: { history: [{ id: 1, revision: "x" }] } }]);
  expect(found).toMatchObject({ updated: 1, children: { changed: ["shop"] } });
  expect(found.resources[0]?.diff).toContain("+status:");
});

describe("what counts as no change", () => {
  test.each<[string, Manifest, Manifest]>([
    [
      "the order of keys",
      configMap("a", { x: "1", y: "2" }),
      { data: { y: "2", x: "1" }, metadata: { name: "a" }, kind: "ConfigMap", apiVersion: "v1" },
    ],
    ["the status", configMap("a", {}), { ...configMap("a", {}), status: { ready: true } }],
    [
      "the status of a kind in a group of Kubernetes",
      object("networking.k8s.io/v1", "Ingress", "a"),
      object("networking.k8s.io/v1", "Ingress", "a", { status: { loadBalancer: { ingress: [{ ip: "1.1.1.1" }] } } }),
    ],
    [
      "a status without anything in it",
      object("example.com/v1", "Thing", "a"),
      object("example.com/v1", "Thing", "a", { status: {} }),
    ],
    [
      "null where it takes nothing away",
      configMap("a", { x: "1" }),
      configMap("a", { x: "1" }, { creationTimestamp: null, annotations: null, namespace: null, generateName: null }),
    ],
    [
      "the time of creation that scaffolds write",
      object("apps/v1", "Deployment", "a", { spec: { template: { metadata: {} } } }),
      object("apps/v1", "Deployment", "a", { spec: { template: { metadata: { creationTimestamp: null } } } }),
    ],
    ["a namespace that is written out", configMap("a", {}), configMap("a", {}, { namespace: "guestbook" })],
    [
      "a namespace that is null and written out",
      configMap("a", {}, { namespace: null }),
      configMap("a", {}, { namespace: "guestbook" }),
    ],
    ["empty metadata", configMap("a", {}), configMap("a", {}, { labels: {}, annotations: {}, namespace: "" })],
    [
      "tracking annotations",
      configMap("a", {}),
      configMap(
        "a",
        {},
        {
          annotations: {
            "argocd.argoproj.io/tracking-id": "x:/ConfigMap:y/a",
            "argocd.argoproj.io/installation-id": "1",
          },
        },
      ),
    ],
    ["what stands for the commit in a diff", configMap("a", { at: "<commit>" }), configMap("a", { at: "<commit>" })],
    ["the commit", configMap("a", { at: `x-${BASE}.y` }), configMap("a", { at: `x-${HEAD}.y` })],
    ["the commit's first 7 digits", configMap("a", { at: "v0123456" }, {}), configMap("a", { at: "v0123456" })],
    ["the short commit", configMap("a", { at: "img:0123456 0123456" }), configMap("a", { at: "img:fedcba9 fedcba9" })],
    ["the commit's first 8 digits", configMap("a", { at: ["01234567"] }), configMap("a", { at: ["fedcba98"] })],
  ])("%s", (_, base, head) => {
    expect(diff([base], [head])).toEqual(NO_DIFFERENCE);
  });
});

describe("what is a change all the same", () => {
  test.each<[string, Manifest, Manifest]>([
    ["the order of a list", configMap("a", { l: [1, 2] }), configMap("a", { l: [2, 1] })],
    ["null in a list", configMap("a", { l: [1] }), configMap("a", { l: [1, null] })],
    [
      "null where others may have written something",
      object("apps/v1", "Deployment", "a", { spec: {} }),
      object("apps/v1", "Deployment", "a", { spec: { replicas: null } }),
    ],
    [
      "whose a definition of custom resources is, which Argo CD takes from the manifest",
      object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "a.b.c"),
      object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "a.b.c", {
        metadata: {
          name: "a.b.c",
          annotations: {
            "argocd.argoproj.io/tracking-id": "other:apiextensions.k8s.io/CustomResourceDefinition:argocd/a.b.c",
          },
        },
      }),
    ],
    ["null in place of a label", configMap("a", {}), configMap("a", {}, { labels: { x: null } })],
    ["null in place of finalizers", configMap("a", {}), configMap("a", {}, { finalizers: null })],
    ["number and text", configMap("a", { n: 1 }), configMap("a", { n: "1" })],
    ["short commit to long commit", configMap("a", { at: "0123456" }), configMap("a", { at: "fedcba98" })],
    ["commit to text", configMap("a", { at: BASE }), configMap("a", { at: "main" })],
    ["commit to what stands for it in a diff", configMap("a", { at: BASE }), configMap("a", { at: "<commit>" })],
    ["short commit to that", configMap("a", { at: "v1-0123456" }), configMap("a", { at: "v1-<commit:7>" })],
    ["what stands for it to the commit", configMap("a", { at: "<commit!:8>" }), configMap("a", { at: "fedcba98" })],
    ["the base's commit written at the head", configMap("a", { at: "old" }), configMap("a", { at: BASE })],
    ["the base's commit where it was before", configMap("a", { at: BASE }), configMap("a", { at: BASE })],
    ["digits inside a longer word", configMap("a", { at: "x0123456" }), configMap("a", { at: "xfedcba9" })],
    ["the API version", object("batch/v1beta1", "CronJob", "a"), object("batch/v1", "CronJob", "a")],
    ["an annotation", configMap("a", {}), configMap("a", {}, { annotations: { x: "1" } })],
    [
      "the tokens of an AppProject's roles",
      object("argoproj.io/v1alpha1", "AppProject", "a", { status: { jwtTokensByRole: { ci: { items: [] } } } }),
      object("argoproj.io/v1alpha1", "AppProject", "a", {
        status: { jwtTokensByRole: { ci: { items: [{ iat: 1 }] } } },
      }),
    ],
    [
      "the status of a custom kind, which may be no subresource",
      object("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "a"),
      object("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "a", { status: { readyToUse: true } }),
    ],
  ])("%s is one update", (_, base, head) => {
    expect(diff([base], [head])).toMatchObject({
      created: 0,
      updated: 1,
      deleted: 0,
      resources: [{ action: "update" }],
    });
  });

  test("another group, kind, namespace or name is one deleted and one created", () => {
    const base = object("apps/v1", "Deployment", "a");
    for (const head of [
      object("extensions/v1", "Deployment", "a"),
      object("apps/v1", "StatefulSet", "a"),
      object("apps/v1", "Deployment", "b"),
      { ...base, metadata: { name: "a", namespace: "other" } },
    ]) {
      expect(diff([base], [head])).toMatchObject({ created: 1, updated: 0, deleted: 1 });
    }
  });
});

test("shows hunks over YAML with three lines around them and no file header", () => {
  const base = object("apps/v1", "Deployment", "web", {
    spec: { a: 1, b: 2, c: 3, replicas: 3, x: 1, y: 2, z: 3, zz: 4 },
  });
  const head = object("apps/v1", "Deployment", "web", {
    spec: { a: 1, b: 2, c: 3, replicas: 5, x: 1, y: 2, z: 3, zz: 4 },
  });
  expect(diff([base], [head]).resources).toEqual([
    {
      action: "update",
      title: "apps/Deployment guestbook/web",
      kind: "Deployment",
      hook: false,
      whole: true,
      diff: [
        "@@ -6,7 +6,7 @@",
        "   a: 1",
        "   b: 2",
        "   c: 3",
        "-  replicas: 3",
        "+  replicas: 5",
        "   x: 1",
        "   y: 2",
        "   z: 3",
      ].join("\n"),
    },
  ]);
});

test("shows what is created and deleted whole, and the commit by a placeholder", () => {
  const { resources } = diff([configMap("old", { a: "1" })], [configMap("new", { at: HEAD })]);
  expect(resources).toEqual([
    {
      action: "delete",
      title: "ConfigMap guestbook/old",
      kind: "ConfigMap",
      hook: false,
      whole: true,
      diff: '@@ -1,6 +0,0 @@\n-apiVersion: v1\n-data:\n-  a: "1"\n-kind: ConfigMap\n-metadata:\n-  name: old',
    },
    {
      action: "create",
      title: "ConfigMap guestbook/new",
      kind: "ConfigMap",
      hook: false,
      whole: true,
      diff: "@@ -0,0 +1,6 @@\n+apiVersion: v1\n+data:\n+  at: <commit>\n+kind: ConfigMap\n+metadata:\n+  name: new",
    },
  ]);
});

describe("titles", () => {
  test.each<[Manifest, string]>([
    [object("v1", "Service", "web"), "Service guestbook/web"],
    [{ ...object("v1", "Service", "web"), metadata: { name: "web", namespace: "x" } }, "Service x/web"],
    [object("v1", "Namespace", "web"), "Namespace web"],
    [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "web", namespace: "x" } }, "Namespace web"],
    [object("rbac.authorization.k8s.io/v1", "ClusterRole", "r"), "rbac.authorization.k8s.io/ClusterRole r"],
    [{ apiVersion: "batch/v1", kind: "Job", metadata: { generateName: "m-" } }, "batch/Job guestbook/m-(generated)"],
    [{}, "(without a kind) guestbook/(without a name)"],
    [{ apiVersion: 1, kind: null, metadata: "x" }, "(without a kind) guestbook/(without a name)"],
  ])("%j", (manifest, title) => {
    expect(diff([], [manifest]).resources.map((one) => one.title)).toEqual([title]);
  });
});

test("of an object that is there twice the last one counts", () => {
  const [one, two] = [configMap("a", { x: "1" }), configMap("a", { x: "2" }, { namespace: "guestbook" })];
  expect(diff([one, two], [two]).resources).toEqual([]);
  expect(diff([two, one], [two]).updated).toBe(1);
});

test.each([
  "admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy",
  "admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding",
  "certificates.k8s.io/v1beta1 ClusterTrustBundle",
  "flowcontrol.apiserver.k8s.io/v1 FlowSchema",
  "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration",
  "networking.k8s.io/v1 IPAddress",
  "networking.k8s.io/v1 ServiceCIDR",
  "policy/v1beta1 PodSecurityPolicy",
  "resource.k8s.io/v1 DeviceClass",
  "resource.k8s.io/v1 DeviceTaintRule",
  "resource.k8s.io/v1 ResourceSlice",
  "storage.k8s.io/v1 CSINode",
  "storage.k8s.io/v1 VolumeAttributesClass",
  "storagemigration.k8s.io/v1beta1 StorageVersionMigration",
])("of a cluster-scoped object that is there twice the last one counts, whatever namespaces they name: %s", (type) => {
  const [apiVersion, kind] = type.split(" ");
  const named = (namespace: string, spec: string): Manifest => ({
    apiVersion: apiVersion ?? "",
    kind: kind ?? "",
    metadata: { name: "a", namespace },
    spec,
  });
  const [one, two] = [named("x", "1"), named("y", "2")];
  expect(diff([one, two], [two, one]).updated).toBe(1);
});

test("objects with a generated name are told apart by their order", () => {
  const job = (image: string): Manifest => ({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { generateName: "m-" },
    image,
  });
  expect(diff([job("1"), job("2")], [job("1"), job("2")]).resources).toEqual([]);
  expect(diff([job("1"), job("2")], [job("1"), job("3"), job("4")])).toMatchObject({ updated: 1, created: 1 });
});

test("an object is deleted by a generated name at whose place in the list Argo CD takes the two for one", () => {
  const claim = (metadata: Manifest) => ({ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata });
  // Otherwise the sync fails, since Argo CD applies nothing with a generated name.
  const annotations = { "argocd.argoproj.io/sync-options": "Replace=true" };
  const [named, generated] = [claim({ name: "data-1" }), claim({ generateName: "data-", annotations })];
  expect(diff([named], [named, generated])).toMatchObject({
    created: 1,
    deleted: 1,
    dangers: [{ what: "deletes PersistentVolumeClaim guestbook/data-1", pruning: true }],
  });
  expect(diff([named], [generated, named])).toMatchObject({ created: 1, deleted: 0 });
});

test("lists are taken apart", () => {
  const list = { apiVersion: "v1", kind: "List", items: [configMap("a", {}), null, configMap("b", {})] };
  expect(diff([list], [configMap("a", {}), configMap("b", {})]).resources).toEqual([]);
});

describe("hooks", () => {
  const job = (annotations: Manifest, image = "1") =>
    object("batch/v1", "Job", "j", { metadata: { name: "j", annotations }, image });

  test.each<[Manifest, boolean]>([
    [{ "argocd.argoproj.io/hook": "PreSync" }, true],
    [{ "argocd.argoproj.io/hook": "PreSync, Skip" }, true],
    [{ "helm.sh/hook": "pre-install,pre-upgrade" }, true],
    [{ "helm.sh/hook": "test" }, true],
    [{ "helm.sh/hook": "crd-install" }, false],
    [{ "helm.sh/hook": "crd-install," }, true],
    [{ "helm.sh/hook": null }, true],
    [{}, false],
  ])("%j: %s", (annotations, hook) => {
    const found = diff([job(annotations)], [job(annotations, "2")]);
    expect(found).toMatchObject({ updated: hook ? 0 : 1, hooksChanged: hook ? 1 : 0, resources: [{ hook }] });
  });

  test.each<[string, readonly Manifest[], readonly Manifest[], object]>([
    ["changed", [job({ "argocd.argoproj.io/hook": "Skip" })], [job({ "argocd.argoproj.io/hook": "Skip" }, "2")], {}],
    ["with Helm's beside it", [], [job({ "argocd.argoproj.io/hook": "Skip", "helm.sh/hook": "pre-install" })], {}],
    ["which was applied before", [job({})], [job({ "argocd.argoproj.io/hook": "Skip" }, "2")], {}],
    ["no more", [job({ "argocd.argoproj.io/hook": "Skip" })], [job({})], { created: 1 }],
  ])("Argo CD neither applies nor deletes what says only Skip: %s", (_, base, head, counts) => {
    expect(diff(base, head)).toMatchObject({ created: 0, updated: 0, deleted: 0, hooksChanged: 0, ...counts });
  });

  test("Skip counts where Go reads it, which takes U+0085 for a blank and U+FEFF for none", () => {
    const beside = (own: string) => job({ "argocd.argoproj.io/hook": own, "helm.sh/hook": "pre-install" });
    expect(diff([], [beside("Skip\u0085")]).resources).toEqual([]);
    const found = diff([], [beside("Skip\ufeff")]);
    expect(found).toMatchObject({ hooksChanged: 1, cautions: ["runs the new hook batch/Job guestbook/j (PreSync)"] });
  });

  test("Skip is not believed beside an annotation that is null, which hides it from older versions of Argo CD", () => {
    const beside = (other: string | null) => job({ "argocd.argoproj.io/hook": "Skip", other });
    expect(diff([], [beside("")]).resources).toEqual([]);
    expect(diff([], [beside(null)])).toMatchObject({ created: 1, hooksChanged: 0 });
  });

  test("what gets a hook's annotation without a value is deleted, since Argo CD takes it for a hook that no sync runs", () => {
    const claim = (annotations: Manifest) =>
      object("v1", "PersistentVolumeClaim", "data", { metadata: { name: "data", annotations } });
    const lost = { deleted: 1, dangers: [{ what: "deletes PersistentVolumeClaim guestbook/data", pruning: true }] };
    expect(diff([claim({})], [claim({ "argocd.argoproj.io/hook": null })])).toMatchObject(lost);
    expect(diff([claim({})], [claim({ "helm.sh/hook": null })])).toMatchObject(lost);
  });

  test("what says only Skip is deleted once it is removed, as it may have been applied before it said so", () => {
    const claim = object("v1", "PersistentVolumeClaim", "data", {
      metadata: { name: "data", annotations: { "argocd.argoproj.io/hook": "Skip" } },
    });
    const lost = { deleted: 1, dangers: [{ what: "deletes PersistentVolumeClaim guestbook/data", pruning: true }] };
    expect(diff([claim], [])).toMatchObject(lost);
    const idle = { metadata: { name: "data", annotations: { "argocd.argoproj.io/hook": "PostDelete" } } };
    expect(diff([claim], [{ ...claim, ...idle }])).toMatchObject(lost);
  });

  test("what was a hook that no sync runs is new once a sync applies or runs it, and shown whole", () => {
    const { created, resources } = diff([job({ "helm.sh/hook": "test" })], [job({})]);
    expect({ created, diff: resources[0]?.diff }).toEqual({ created: 1, diff: expect.stringContaining('+image: "1"') });
    expect(diff([job({ "helm.sh/hook": "test" })], [job({ "helm.sh/hook": "post-install" })])).toMatchObject({
      hooksChanged: 1,
      cautions: ["runs the new hook batch/Job guestbook/j (PostSync)"],
      resources: [{ action: "create" }],
    });
  });

  test("what becomes a hook, or is one no more, counts as an update", () => {
    const hook = { "argocd.argoproj.io/hook": "Sync" };
    expect(diff([job({})], [job(hook)])).toMatchObject({ updated: 1, hooksChanged: 0 });
    expect(diff([job(hook)], [job({})])).toMatchObject({ updated: 1, hooksChanged: 0 });
  });
});

test("the dangerous ones come first, hooks last", () => {
  const crd = "apiextensions.k8s.io/v1";
  const base = [
    configMap("b", { x: "1" }),
    configMap("replaced", { x: "1" }),
    configMap("gone", {}),
    object("v1", "PersistentVolumeClaim", "data"),
    object("v1", "PersistentVolume", "disk", { spec: 1 }),
    object(crd, "CustomResourceDefinition", "things", { spec: 1 }),
  ];
  const head = [
    configMap("new", {}),
    configMap("b", { x: "2" }),
    { ...configMap("h", {}), metadata: { name: "h", annotations: { "helm.sh/hook": "test" } } },
    configMap("replaced", {}, { annotations: { "argocd.argoproj.io/sync-options": "Prune=false, Replace=true" } }),
    object("v1", "Namespace", "ns"),
    object("v1", "PersistentVolume", "disk", { spec: 2 }),
    object(crd, "CustomResourceDefinition", "things", { spec: 2 }),
  ];
  expect(diff(base, head).resources.map(({ action, title }) => `${action} ${title}`)).toEqual([
    "delete PersistentVolumeClaim guestbook/data",
    "delete ConfigMap guestbook/gone",
    "update ConfigMap guestbook/replaced",
    "update PersistentVolume disk",
    "update apiextensions.k8s.io/CustomResourceDefinition things",
    "create Namespace ns",
    "update ConfigMap guestbook/b",
    "create ConfigMap guestbook/new",
    "create ConfigMap guestbook/h",
  ]);
});

describe("Secrets", () => {
  const secret = (more: Manifest, metadata: Manifest = {}): Manifest => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "db", ...metadata },
    ...more,
  });
  const MASK = "++++++++";

  test("equal masks prove nothing: no change is shown, and the result says that values are hidden", () => {
    const same = secret({ data: { password: MASK } });
    expect(diff([same], [same])).toMatchObject({ resources: [], hiddenSecrets: true });
    expect(diff([], []).hiddenSecrets).toBe(false);
  });

  test("keys that come and go, the type and metadata are shown", () => {
    const base = secret({ type: "Opaque", data: { password: MASK, user: MASK } });
    const head = secret({ type: "x/y", data: { password: MASK, token: MASK } }, { labels: { a: "b" } });
    const text = diff([base], [head]).resources[0]?.diff;
    expect(text).toContain("-  user: (hidden)");
    expect(text).toContain("+  token: (hidden)");
    expect(text).toContain("password: (hidden, cannot tell whether it changes)");
    expect(text).toContain("+type: x/y");
    expect(text).toContain("+    a: b");
  });

  test("known values are compared and not shown", () => {
    const text = (base: string, head: string) =>
      diff([secret({ stringData: { password: base } })], [secret({ stringData: { password: head } })]).resources[0]
        ?.diff;
    expect(text("one", "one")).toBeUndefined();
    expect(text("one", "two")).toContain(
      "-  password: (hidden, before the change)\n+  password: (hidden, after the change)",
    );
    expect(text("one", MASK)).toBeUndefined();
  });

  test("annotations that are left over from other tools do not carry values", () => {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": '{"data":"hunter2"}' };
    expect(JSON.stringify(diff([], [secret({}, { annotations })]))).not.toContain("hunter2");
    expect(diff([secret({}, { annotations })], [secret({})]).resources).toEqual([]);
  });

  test("Secrets of other groups are objects like any other", () => {
    const sealed = object("bitnami.com/v1", "SealedSecret", "db", { data: { password: "sealed" } });
    expect(diff([], [sealed])).toMatchObject({
      hiddenSecrets: false,
      resources: [{ diff: expect.stringContaining("password: sealed") }],
    });
  });

  test("no value of a Secret is in any result, wherever it stands", () => {
    const value = fc.stringMatching(/^[a-zA-Z0-9]{6,20}$/).map((text) => `S3CR3T${text}`);
    const member = fc.constantFrom("data", "stringData", "stringdata", "values", "spec");
    const content = fc.oneof(
      value,
      fc.dictionary(
        fc.constantFrom("a", "b", "c"),
        fc.oneof(value, fc.array(value), fc.dictionary(fc.constant("x"), value)),
      ),
    );
    const any = fc.dictionary(member, content).map((members) => secret(members));
    const maybe = fc.array(
      fc.oneof(
        any,
        any.map((one) => ({ apiVersion: "v1", kind: "SecretList", items: [one] })),
      ),
      { maxLength: 2 },
    );
    fc.assert(
      fc.property(maybe, maybe, (base, head) => {
        expect(JSON.stringify(diff(base, head))).not.toContain("S3CR3T");
      }),
    );
  });
});

describe("size", () => {
  const lines = (count: number, text: (index: number) => string) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`k${String(index).padStart(6, "0")}`, text(index)]),
    );

  test("one line in thousands is found at once", () => {
    const base = configMap(
      "a",
      lines(5000, () => "x"),
    );
    const head = configMap("a", { ...lines(5000, () => "x"), k002500: "y" });
    const [resource] = diff([base], [head]).resources;
    expect(resource?.diff.split("\n")).toHaveLength(9);
  });

  test("thousands of differing lines take bounded time and are told in a sentence", () => {
    const started = process.cpuUsage();
    const base = configMap(
      "a",
      lines(9000, (index) => `a${index}`),
    );
    const head = configMap(
      "a",
      lines(9000, (index) => `b${index}`),
    );
    const { updated, resources } = diff([base], [head]);
    expect(updated).toBe(1);
    expect(resources[0]?.diff).toBe(
      [
        "# Too many lines differ to be shown: 9005 lines before, 9005 after. What changes:",
        "#   data: 9000 lines removed, 9000 lines added",
      ].join("\n"),
    );
    expect(resources[0]?.sides?.before).toContain("  k008999: a8999\n");
    expect(resources[0]?.sides?.after).toContain("  k008999: b8999\n");
    expect(process.cpuUsage(started).user).toBeLessThan(15_000_000);
  });

  test.each([
    [2, '-  x: "1"\n+  x: "2"'],
    [6, "# Too many lines differ to be shown"],
  ])(
    "%i objects with many differing lines share one bound with a larger one, and every one is counted",
    (count, told) => {
      const side = (text: string, x: string) => [
        ...Array.from({ length: count }, (_, at) =>
          configMap(
            `m${at}`,
            lines(2000, (index) => `${text}${index}`),
          ),
        ),
        configMap("larger", { x, y: "y\n".repeat(50_000) }),
      ];
      const { updated, resources } = diff(side("a", "1"), side("b", "2"));
      expect(updated).toBe(count + 1);
      expect(resources.find(({ title }) => title.endsWith("/larger"))?.diff).toContain(told);
    },
  );

  test("many large objects share one bound as well, and every one is counted", () => {
    const large = Array.from({ length: 60 }, (_, at) => configMap(`m${at}`, { x: "y".repeat(200_000) }));
    const { created, resources } = diff([], large);
    expect(created).toBe(large.length);
    const shown = resources.filter(({ diff: text }) => !text.includes("the other changes of this application"));
    expect(shown).toHaveLength(41);
  });

  test("so do the hunks, however many objects they are of", () => {
    const objects = Array.from({ length: 40 }, (_, at) =>
      configMap(
        `m${at}`,
        lines(3000, (index) => `value ${index} of object ${at}`),
      ),
    );
    const { created, resources } = diff([], objects);
    expect(created).toBe(objects.length);
    expect(JSON.stringify(resources).length).toBeLessThan(3.5 * 1024 * 1024);
    expect(resources.map(({ diff: text }) => text)).toContain(
      "# It is not shown: the other changes of this application are too large.",
    );
  });

  test("objects that are kept whole share one bound, and what is shown whole is not kept", () => {
    const many = (text: string) =>
      Array.from({ length: 12 }, (_, at) =>
        configMap(
          `m${at}`,
          lines(6000, (index) => `${text}${index}`),
        ),
      );
    const { resources } = diff([...many("a"), configMap("z", { x: "1" })], [...many("b"), configMap("z", { x: "2" })]);
    const kept = resources.filter(({ sides }) => sides !== undefined);
    expect(kept.length).toBeGreaterThan(0);
    expect(JSON.stringify(kept.map(({ sides }) => sides)).length).toBeLessThan(1.2 * 1024 * 1024);
    expect(resources.find(({ title }) => title.endsWith("/z"))).toMatchObject({
      diff: expect.stringContaining('-  x: "1"\n+  x: "2"'),
      sides: undefined,
    });
  });

  test("of two large objects the sections that change are told", () => {
    const text = "y\n".repeat(300_000);
    const [resource] = diff(
      [configMap("a", { x: text, y: "1" })],
      [configMap("a", { x: `${text}z`, y: "1" })],
    ).resources;
    expect(resource?.diff).toBe(
      "# It is too large to be shown (879 KiB). What changes:\n#   data.x: 1 line removed, 1 line added",
    );
  });

  test("what is redacted and what a Secret holds is in no section and on no side", () => {
    const values = (text: string) => lines(3000, (index) => `${text}${index}`);
    const secret = (text: string): Manifest => ({ ...configMap("s", {}), kind: "Secret", stringData: values(text) });
    const { resources } = diffManifests({
      base: [secret("hunter2"), configMap("c", { ...values("a"), hidden1: "hunter2" })],
      head: [secret("hunter3"), configMap("c", { ...values("b"), hidden2: "hunter3" })],
      destinationNamespace: "guestbook",
      baseNamespace: "guestbook",
      syncOptions: [],
      placeholders: { base: BASE, head: HEAD },
      redact: ["hidden\\d|hunter\\d"],
    });
    expect(resources.map(({ sides }) => sides !== undefined)).toEqual([true, true]);
    expect(JSON.stringify(resources)).not.toMatch(/hunter\d|hidden\d/);
  });

  test("what is too large is counted and not printed", () => {
    const { created, resources } = diff([], [configMap("a", { x: "y".repeat(600_000) })]);
    expect(created).toBe(1);
    expect(resources[0]?.diff).toBe("# It is too large to be shown (587 KiB).");
  });

  test("a long diff is cut at a line", () => {
    const { diff: text } = diff(
      [],
      [
        configMap(
          "a",
          lines(8000, (index) => `value ${index}`),
        ),
      ],
    ).resources[0] ?? { diff: "" };
    expect(text.length).toBeLessThan(101_000);
    expect(text).toMatch(/\n# \d+ more lines are not shown\.$/);
  });
});

describe("for any manifests", () => {
  const leaf = fc.oneof(
    fc.constantFrom("a", "b", BASE, HEAD),
    fc.integer({ min: 0, max: 3 }),
    fc.boolean(),
    fc.constant(null),
  );
  const data = fc.dictionary(
    fc.constantFrom("x", "y", "z"),
    fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), fc.dictionary(fc.constantFrom("p", "q"), leaf)),
  );
  const manifest = fc
    .record({ kind: fc.constantFrom("ConfigMap", "Secret", "Namespace"), name: fc.constantFrom("a", "b", "c"), data })
    .map(({ kind, name, data: content }): Manifest => ({ apiVersion: "v1", kind, metadata: { name }, data: content }));
  const manifests = fc.uniqueArray(manifest, {
    maxLength: 6,
    selector: (one) => JSON.stringify([one.kind, one.metadata]),
  });

  test("equal sides have no difference, whatever the order of objects and keys", () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, one]) => [key, reversed(one)]),
      );
    };
    fc.assert(
      fc.property(manifests, (some) => {
        const other = [...some].reverse().map((one) => reversed(one) as Manifest);
        const same = diffManifests({
          base: some,
          head: other,
          destinationNamespace: "n",
          baseNamespace: "n",
          syncOptions: [],
          placeholders: { base: HEAD, head: HEAD },
          redact: [],
        });
        expect(same.resources).toEqual([]);
      }),
    );
  });

  test("what one way creates the other way deletes", () => {
    fc.assert(
      fc.property(manifests, manifests, (one, other) => {
        const [there, back] = [diff(one, other), diff(other, one)];
        expect([there.created, there.deleted]).toEqual([back.deleted, back.created]);
        expect(there.created + there.updated + there.deleted).toBe(there.resources.length);
      }),
    );
  });
});
