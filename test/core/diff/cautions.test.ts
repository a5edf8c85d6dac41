import { describe, expect, test } from "@jest/globals";
import type { Manifest } from "../../../src/core/model/application.js";
import type { Json } from "../../../src/core/model/json.js";
import { diff, object, withOption } from "./resource.js";

const CURE = "the sync will fail unless it is replaced (argocd.argoproj.io/sync-options: Replace=true,Force=true)";
const CRD = "apiextensions.k8s.io/v1/CustomResourceDefinition";
const UNDO = "the sync will fail. Undo the change, or give it another name: replacing it would delete what it holds";
const crd = (spec: Manifest) => object(CRD, "things.example.com", { spec });
const claim = (spec: Manifest) => object("v1/PersistentVolumeClaim", "data", { spec });
const volume = (spec: Manifest) => object("v1/PersistentVolume", "disk", { spec });
const job = (spec: Manifest, annotations: Manifest = {}) =>
  object("batch/v1/Job", "migrate", { spec }, Object.keys(annotations).length === 0 ? {} : { annotations });

test("what no sync deletes is not counted as deleted", () => {
  const [kept, gone] = [withOption(claim({}), "Prune=false"), object("v1/ConfigMap", "a", {})];
  expect(diff([kept, gone], [])).toMatchObject({ deleted: 1, stay: 1, resources: [{}, {}] });
  expect(diff([kept, gone], [], ["Prune=false"])).toMatchObject({ deleted: 0, stay: 2 });
  // Older versions of Argo CD lose every annotation beside one that is null.
  const annotations = { "argocd.argoproj.io/sync-options": "Prune=false", other: null };
  const unsure = object("v1/PersistentVolumeClaim", "data", {}, { annotations });
  expect(diff([unsure], [])).toMatchObject({ deleted: 1, dangers: [{ pruning: true, effect: "lost" }] });
  expect(diff([gone], [])).not.toHaveProperty("stay");
});

test.each(["spec: {}", "kind: Secret\nstringData: {password: hunter2}"])(
  "a sync option counts although its annotation looks like an object: %j",
  (rest) => {
    const at = (size: string) => claim({ resources: { requests: { storage: size } } });
    const disguised = (one: Manifest) => withOption(one, `#,Replace=true,Force=true,\n${rest}`);
    const found = diff([disguised(at("1Gi"))], [disguised(at("2Gi"))]);
    expect(found.dangers).toEqual([
      { what: "deletes and recreates PersistentVolumeClaim guestbook/data", pruning: false, effect: "lost" },
    ]);
    expect(JSON.stringify(found)).not.toContain("hunter2");
    expect(diff([], [disguised(at("1Gi"))]).resources[0]?.diff).toContain("argocd.argoproj.io/sync-options: ");
  },
);

describe("what Kubernetes cannot take by its form", () => {
  const good = object("v1/ConfigMap", "c", { data: { a: "1" } });
  const metadata = { name: "c" };
  test.each<[string, Manifest, string]>([
    ["a name that is a boolean", { ...good, metadata: { name: false } }, "metadata.name"],
    ["no name", { ...good, metadata: {} }, "metadata.name"],
    ["an empty name", { ...good, metadata: { name: "" } }, "metadata.name"],
    ["no metadata", { ...good, metadata: undefined }, "metadata.name"],
    ["a namespace that is a number", { ...good, metadata: { ...metadata, namespace: 1 } }, "metadata.namespace"],
    ["a label that is a boolean", { ...good, metadata: { ...metadata, labels: { a: true } } }, "metadata.labels"],
    [
      "an annotation that is an integer of 64 bits",
      { ...good, metadata: { ...metadata, annotations: { id: "9007199254740993 (a number)" } } },
      "metadata.annotations",
    ],
    ["a list of annotations", { ...good, metadata: { ...metadata, annotations: [] } }, "metadata.annotations"],
    ["a kind and a version that are numbers", { ...good, kind: 1, apiVersion: 1.1 }, "apiVersion and kind"],
  ])("%s is a danger, for a new object and a changed one", (_, head, fields) => {
    const bases = [[], [{ ...head, data: { a: "2" } }]];
    for (const base of bases) {
      const { cautions, dangers } = diff(base, [head]);
      expect(cautions).toEqual([expect.stringContaining(`whose ${fields} must be text: the sync will fail`)]);
      expect(dangers).toEqual([expect.objectContaining({ pruning: false, effect: "refused" })]);
    }
  });

  const generated = { ...good, metadata: { generateName: "c-" } };

  test("a generated name is a danger where Argo CD applies the object, and none where it creates it", () => {
    const what = "Argo CD cannot apply ConfigMap guestbook/c-(generated)";
    for (const base of [[], [{ ...generated, data: { a: "2" } }]]) {
      expect(diff(base, [generated])).toMatchObject({
        cautions: [`${what}, whose name is generated, since it is no hook: the sync will fail. Give it a name`],
        dangers: [{ what, pruning: false, effect: "refused" }],
      });
    }
    expect(diff([], [generated], ["Replace=true"]).dangers).toEqual([]);
    expect(diff([], [withOption(generated, "Replace=true")]).dangers).toEqual([]);
    expect(diff([generated], []).dangers).toEqual([]);
  });

  const annotations = { "argocd.argoproj.io/hook": "PreSync" };
  test.each<[string, Manifest]>([
    ["a generated name of a hook", { ...good, metadata: { generateName: "c-", annotations } }],
    [
      "a generated name of a hook beside an empty one",
      { ...good, metadata: { name: "", generateName: "c-", annotations } },
    ],
    ["null where a text may be missing", { ...good, metadata: { ...metadata, namespace: null, labels: { a: null } } }],
  ])("%s is none", (_, head) => expect(diff([], [head]).dangers).toEqual([]));
});

describe("changes that Kubernetes refuses", () => {
  test.each<[string, Manifest, Manifest, string]>([
    [
      "the selector of a Deployment",
      object("apps/v1/Deployment", "web", { spec: { selector: { matchLabels: { a: "1" } } } }),
      object("apps/v1/Deployment", "web", { spec: { selector: { matchLabels: { a: "2" } } } }),
      "spec.selector of apps/Deployment guestbook/web",
    ],
    [
      "claims and service name of a StatefulSet",
      object("apps/v1/StatefulSet", "db", { spec: { serviceName: "a", volumeClaimTemplates: [] } }),
      object("apps/v1/StatefulSet", "db", { spec: { serviceName: "b", volumeClaimTemplates: [{}] } }),
      "spec.serviceName, spec.volumeClaimTemplates of apps/StatefulSet guestbook/db",
    ],
    [
      "the template of a Job",
      job({ template: { a: 1 } }),
      job({ template: { a: 2 } }),
      "spec.template of batch/Job guestbook/migrate",
    ],
    [
      "the address of a Service",
      object("v1/Service", "web", { spec: {} }),
      object("v1/Service", "web", { spec: { clusterIP: "None" } }),
      "spec.clusterIP of Service guestbook/web",
    ],
    [
      "the class of a claim",
      claim({ storageClassName: "slow" }),
      claim({ storageClassName: "fast" }),
      "spec.storageClassName of PersistentVolumeClaim guestbook/data",
    ],
    [
      "a smaller claim",
      claim({ resources: { requests: { storage: "2Gi" } } }),
      claim({ resources: { requests: { storage: "1500Mi" } } }),
      "spec.resources.requests.storage to a smaller size of PersistentVolumeClaim guestbook/data",
    ],
    [
      "the failure policy of a Job",
      job({ podFailurePolicy: 1 }),
      job({}),
      "spec.podFailurePolicy of batch/Job guestbook/migrate",
    ],
    [
      "the class of a load balancer",
      object("v1/Service", "web", { spec: { type: "LoadBalancer" } }),
      object("v1/Service", "web", { spec: { type: "LoadBalancer", loadBalancerClass: "a/b" } }),
      "spec.loadBalancerClass of Service guestbook/web",
    ],
    [
      "the source and the nodes of a volume",
      volume({ nfs: { path: "/a" }, nodeAffinity: 1, storageClassName: "a" }),
      volume({ nfs: { path: "/b" }, storageClassName: "b" }),
      "spec.nfs, spec.nodeAffinity of PersistentVolume disk",
    ],
    [
      "data of an immutable ConfigMap",
      object("v1/ConfigMap", "c", { immutable: true, data: { a: "1" } }),
      object("v1/ConfigMap", "c", { immutable: true, data: { a: "2" } }),
      "data of ConfigMap guestbook/c",
    ],
    [
      "the type of a Secret",
      object("v1/Secret", "s", { type: "Opaque" }),
      object("v1/Secret", "s", { type: "kubernetes.io/tls" }),
      "type of Secret guestbook/s",
    ],
    [
      "the provisioner of a StorageClass",
      object("storage.k8s.io/v1/StorageClass", "fast", { provisioner: "a" }),
      object("storage.k8s.io/v1/StorageClass", "fast", { provisioner: "b" }),
      "provisioner of storage.k8s.io/StorageClass fast",
    ],
    [
      "the role of a binding",
      object("rbac.authorization.k8s.io/v1/RoleBinding", "b", { roleRef: { name: "a" } }),
      object("rbac.authorization.k8s.io/v1/RoleBinding", "b", { roleRef: { name: "b" } }),
      "roleRef of rbac.authorization.k8s.io/RoleBinding guestbook/b",
    ],
    [
      "the scope of a definition",
      crd({ scope: "Namespaced" }),
      crd({ scope: "Cluster" }),
      "spec.scope of apiextensions.k8s.io/CustomResourceDefinition things.example.com",
    ],
  ])("%s", (_, base, head, what) => {
    const cure = /PersistentVolume|CustomResourceDefinition/.test(what) ? UNDO : CURE;
    expect(diff([base], [head]).cautions).toEqual([`Kubernetes refuses to change ${what}: ${cure}`]);
  });

  test.each<[string, Manifest, Manifest]>([
    [
      "replicas",
      object("apps/v1/Deployment", "a", { spec: { replicas: 1 } }),
      object("apps/v1/Deployment", "a", { spec: { replicas: 2 } }),
    ],
    [
      "a default that is written out",
      object("apps/v1/StatefulSet", "a", { spec: {} }),
      object("apps/v1/StatefulSet", "a", { spec: { podManagementPolicy: "OrderedReady" } }),
    ],
    [
      "data of a ConfigMap that may change",
      object("v1/ConfigMap", "a", { data: { a: "1" } }),
      object("v1/ConfigMap", "a", { data: { a: "2" } }),
    ],
    [
      "the same name in another group",
      object("x.example.com/v1/Job", "a", { spec: { template: 1 } }),
      object("x.example.com/v1/Job", "a", { spec: { template: 2 } }),
    ],
    [
      "null below a member of which nothing else changes",
      object("apps/v1/StatefulSet", "a", { spec: { volumeClaimTemplates: [{ spec: {} }] } }),
      object("apps/v1/StatefulSet", "a", { spec: { volumeClaimTemplates: [{ spec: { storageClassName: null } }] } }),
    ],
    [
      "an address that is left out",
      object("v1/Service", "a", { spec: { clusterIP: "10.0.0.1" } }),
      object("v1/Service", "a", { spec: {} }),
    ],
    [
      "the class of a Service that becomes a load balancer",
      object("v1/Service", "a", { spec: {} }),
      object("v1/Service", "a", { spec: { type: "LoadBalancer", loadBalancerClass: "a/b" } }),
    ],
    [
      "parallelism of an indexed Job",
      job({ completionMode: "Indexed", completions: 1 }),
      job({ completionMode: "Indexed", completions: 2 }),
    ],
  ])("%s is none of them", (_, base, head) => {
    expect(diff([base], [head])).toMatchObject({ updated: 1, cautions: [] });
  });

  test("what may change of a volume is only called out", () => {
    const changed = { volumeMode: "Filesystem", nodeAffinity: 1, mountOptions: ["hard"], capacity: { storage: "2Gi" } };
    const { cautions } = diff([volume({ capacity: { storage: "1Gi" } })], [volume(changed)]);
    expect(cautions).toEqual(["changes PersistentVolume disk"]);
  });

  test("a volume of a driver can be given the Secret for enlarging it once, and another class of attributes", () => {
    const secret = (name: string) => ({ driver: "d", volumeHandle: "v", controllerExpandSecretRef: { name } });
    const change = (base: Manifest, head: Manifest) => diff([volume(base)], [volume(head)]).cautions;
    const changes = ["changes PersistentVolume disk"];
    expect(change({ csi: { driver: "d", volumeHandle: "v" } }, { csi: secret("a") })).toEqual(changes);
    expect(change({ volumeAttributesClassName: "a" }, { volumeAttributesClassName: "b" })).toEqual(changes);
    expect(change({ csi: secret("a") }, { csi: secret("b") })[0]).toContain("refuses to change spec.csi");
    const other = { csi: { ...secret("a"), volumeHandle: "w" } };
    expect(change({ csi: { driver: "d", volumeHandle: "v" } }, other)[0]).toContain("refuses to change spec.csi");
  });

  test("a larger claim is only called out", () => {
    const grown = diff(
      [claim({ resources: { requests: { storage: "1Gi" } } })],
      [claim({ resources: { requests: { storage: "2Gi" } } })],
    );
    expect(grown.cautions).toEqual(["changes PersistentVolumeClaim guestbook/data"]);
  });

  test("a hook of that kind is deleted and created by Argo CD and is no such change", () => {
    const hook = { "argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": "HookSucceeded" };
    expect(diff([job({ template: 1 }, hook)], [job({ template: 2 }, hook)]).cautions).toEqual([
      "runs the changed hook batch/Job guestbook/migrate (PreSync, delete policy HookSucceeded)",
    ]);
  });
});

describe("replacements", () => {
  const [old, young] = [job({ template: 1 }), job({ template: 2 })];
  test.each<[string, Manifest, readonly string[], string]>([
    [
      "Force and Replace",
      withOption(young, "Force=true,Replace=true"),
      [],
      "deletes batch/Job guestbook/migrate and creates it anew (Force=true) since Kubernetes refuses to change spec.template",
    ],
    [
      "Replace alone does not help",
      withOption(young, "Replace=true"),
      [],
      `Kubernetes refuses to change spec.template of batch/Job guestbook/migrate: ${CURE}`,
    ],
    [
      "Force from the application, which Argo CD does not read there",
      young,
      ["Force=true"],
      `Kubernetes refuses to change spec.template of batch/Job guestbook/migrate: ${CURE}`,
    ],
    [
      "Replace from the application",
      withOption(young, "Force=true"),
      ["Replace=true"],
      "deletes batch/Job guestbook/migrate and creates it anew (Force=true) since Kubernetes refuses to change spec.template",
    ],
  ])("%s", (_, head, options, caution) => {
    expect(diff([old], [head], options).cautions).toEqual([caution]);
  });

  test("what goes with the object that is deleted is told", () => {
    const policy = { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } };
    const set = (size: string) =>
      object("apps/v1/StatefulSet", "db", { spec: { ...policy, volumeClaimTemplates: [{ size }] } });
    expect(diff([set("1Gi")], [withOption(set("2Gi"), "Force=true")]).cautions).toEqual([
      "deletes apps/StatefulSet guestbook/db and creates it anew (Force=true) since Kubernetes refuses to change spec.volumeClaimTemplates: its claims go with it, as its persistentVolumeClaimRetentionPolicy says, and their data is lost unless the volumes' reclaim policy is Retain",
    ]);
    const grown = withOption(claim({ resources: 1 }), "Replace=true,Force=true");
    expect(diff([claim({})], [grown]).cautions).toEqual([
      "deletes PersistentVolumeClaim guestbook/data and creates it anew (Force=true): its data is lost unless the volume's reclaim policy is Retain",
    ]);
  });

  test("a volume whose source changes is deleted with Force=true", () => {
    const at = (path: string) => withOption(volume({ nfs: { path } }), "Force=true");
    expect(diff([at("/a")], [at("/b")])).toMatchObject({
      cautions: [
        "deletes PersistentVolume disk and creates it anew (Force=true) since Kubernetes refuses to change spec.nfs: its data may be lost, as its reclaim policy says",
      ],
      dangers: [{ what: "deletes and recreates PersistentVolume disk", pruning: false, effect: "lost" }],
    });
  });

  test("Argo CD updates a definition or a Namespace that says Replace=true, whatever else it says", () => {
    expect(diff([crd({})], [withOption(crd({ a: 1 }), "Replace=true,Force=true")]).dangers).toEqual([
      { what: "overwrites apiextensions.k8s.io/CustomResourceDefinition things.example.com", pruning: false },
    ]);
    const kind = (one: string) => crd({ names: { kind: one } });
    expect(diff([withOption(kind("A"), "Replace=true")], [withOption(kind("B"), "Force=true")]).cautions).toEqual([
      "deletes apiextensions.k8s.io/CustomResourceDefinition things.example.com and creates it anew (Force=true) since Kubernetes refuses to change spec.names.kind: it deletes every object of that kind in the whole cluster",
    ]);
  });

  test.each<[string, string, readonly string[]]>([
    ["of the object", "Replace=true", []],
    ["of the application, which no object takes back", "Replace=false", ["Replace=true"]],
  ])("Replace alone overwrites what others wrote: %s", (_, option, options) => {
    const head = withOption(object("v1/ConfigMap", "a", { data: { a: "2" } }), option);
    expect(diff([object("v1/ConfigMap", "a", { data: { a: "1" } })], [head], options).cautions).toEqual([
      "overwrites ConfigMap guestbook/a whole (Replace=true): what others wrote into it is lost",
    ]);
  });
});

test("a StatefulSet that gets fewer replicas may lose the claims of the others", () => {
  const set = (replicas: Manifest, whenScaled = "Delete", volumeClaimTemplates: Json = [{}]) =>
    object("apps/v1/StatefulSet", "db", {
      spec: { ...replicas, volumeClaimTemplates, persistentVolumeClaimRetentionPolicy: { whenScaled } },
    });
  const lost = (numbers: string) =>
    `scales apps/StatefulSet guestbook/db ${numbers} replicas: the claims of those that go are deleted, as its persistentVolumeClaimRetentionPolicy says, and their data is lost unless the volumes' reclaim policy is Retain`;
  const found = diff([set({ replicas: 3 })], [set({ replicas: 2 })]);
  expect(found.cautions).toEqual([lost("from 3 to 2")]);
  expect(found.dangers).toEqual([
    { what: "deletes claims of apps/StatefulSet guestbook/db", pruning: false, effect: "lost" },
  ]);
  expect(diff([set({ replicas: 3 })], [set({})]).cautions).toEqual([lost("from 3 to 1")]);
  expect(diff([set({})], [set({ replicas: 3 })]).cautions).toEqual([]);
  expect(diff([set({ replicas: 3 })], [set({ replicas: 2 }, "Retain")]).cautions).toEqual([]);
  // Charts write the policy also where persistence is turned off.
  expect(diff([set({ replicas: 3 }, "Delete", [])], [set({ replicas: 2 }, "Delete", [])]).cautions).toEqual([]);
});

test("a cluster's Secret that loses its label takes along what a deleted one does", () => {
  const cluster = (labels: Readonly<Record<string, string>>) => object("v1/Secret", "eu", {}, { labels });
  const known = { "argocd.argoproj.io/secret-type": "cluster", env: "prod" };
  for (const labels of [{ env: "prod" }, { ...known, "argocd.argoproj.io/secret-type": "repository" }]) {
    const found = diff([cluster(known)], [cluster(labels)]);
    expect(found.cautions).toEqual([
      "takes the label argocd.argoproj.io/secret-type=cluster away from Secret guestbook/eu: Argo CD no longer knows that cluster, and ApplicationSets delete the Applications that they generated for it",
    ]);
    expect(found.dangers).toEqual([
      {
        what: "takes the label argocd.argoproj.io/secret-type=cluster away from Secret guestbook/eu",
        pruning: false,
        effect: "lost",
      },
    ]);
  }
  expect(diff([cluster(known)], [cluster({ ...known, env: "test" })]).cautions).toEqual([]);
  expect(diff([cluster({})], [cluster(known)]).cautions).toEqual([]);
});

describe("deletes", () => {
  const FINALIZED = { finalizers: ["resources-finalizer.argocd.argoproj.io"] };
  test.each<[string, Manifest, readonly string[], readonly string[]]>([
    ["a ConfigMap is counted and no more", object("v1/ConfigMap", "a"), [], []],
    [
      "a namespace",
      object("v1/Namespace", "a"),
      [],
      ["pruning Namespace a: it deletes everything in it, also what other applications have there"],
    ],
    [
      "a claim",
      claim({}),
      [],
      ["pruning PersistentVolumeClaim guestbook/data: its data is lost unless the volume's reclaim policy is Retain"],
    ],
    [
      "a volume",
      object("v1/PersistentVolume", "disk"),
      [],
      ["pruning PersistentVolume disk: its data may be lost, as its reclaim policy says"],
    ],
    [
      "a definition",
      crd({}),
      [],
      [
        "pruning apiextensions.k8s.io/CustomResourceDefinition things.example.com: it deletes every object of that kind in the whole cluster",
      ],
    ],
    [
      "a child with the finalizer",
      object("argoproj.io/v1alpha1/Application", "shop", {}, FINALIZED),
      [],
      ["pruning argoproj.io/Application guestbook/shop: it deletes everything that this Application deployed"],
    ],
    ["a child without it", object("argoproj.io/v1alpha1/Application", "shop"), [], []],
    [
      "a set, whose Applications Kubernetes deletes whatever its policy says",
      object("argoproj.io/v1alpha1/ApplicationSet", "shops", {
        spec: { syncPolicy: { applicationsSync: "create-only" } },
      }),
      [],
      ["pruning argoproj.io/ApplicationSet guestbook/shops: it deletes the Applications that the set generated"],
    ],
    [
      "a cluster of Argo CD's",
      object("v1/Secret", "eu", {}, { labels: { "argocd.argoproj.io/secret-type": "cluster" } }),
      [],
      [
        "pruning Secret guestbook/eu: Argo CD no longer knows that cluster, and ApplicationSets delete the Applications that they generated for it",
      ],
    ],
    [
      "a repository of Argo CD's",
      object("v1/Secret", "git", {}, { labels: { "argocd.argoproj.io/secret-type": "repository" } }),
      [],
      [],
    ],
    [
      "a StatefulSet that takes its claims along",
      object("apps/v1/StatefulSet", "db", {
        spec: { volumeClaimTemplates: [{}], persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } },
      }),
      [],
      [
        "pruning apps/StatefulSet guestbook/db: its claims go with it, as its persistentVolumeClaimRetentionPolicy says, and their data is lost unless the volumes' reclaim policy is Retain",
      ],
    ],
    [
      "one that leaves them",
      object("apps/v1/StatefulSet", "db", {
        spec: { volumeClaimTemplates: [{}], persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete" } },
      }),
      [],
      [],
    ],
    [
      "one that has none",
      object("apps/v1/StatefulSet", "db", {
        spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } },
      }),
      [],
      [],
    ],
    [
      "Prune=false",
      withOption(claim({}), "Prune=false"),
      [],
      [
        "keeps PersistentVolumeClaim guestbook/data in the cluster even with --prune, because of Prune=false: delete it by hand if it is to go",
      ],
    ],
    [
      "Prune=false of the application",
      object("v1/ConfigMap", "a"),
      ["Prune=false"],
      [
        "keeps ConfigMap guestbook/a in the cluster even with --prune, because of Prune=false: delete it by hand if it is to go",
      ],
    ],
    [
      "Prune=confirm",
      withOption(object("v1/ConfigMap", "a"), "Prune=confirm"),
      [],
      [
        "pruning ConfigMap guestbook/a; from Argo CD 2.14 on, the sync waits until somebody confirms it there (Prune=confirm)",
      ],
    ],
    [
      "Delete=false",
      withOption(object("v1/ConfigMap", "a"), "Delete=false"),
      [],
      [
        "pruning ConfigMap guestbook/a; Delete=false does not prevent it, since it only holds when the whole application is deleted",
      ],
    ],
  ])("%s", (_, base, options, cautions) => {
    const found = diff([base], [], options);
    expect([found.deleted + (found.stay ?? 0), found.cautions]).toEqual([1, cautions]);
  });
});

test("an option that goes with the change still holds for this sync, since the object in the cluster has it", () => {
  const forced = withOption(job({ template: { a: 1 } }), "Replace=true,Force=true");
  expect(diff([forced], [job({ template: { a: 2 } })]).cautions).toEqual([
    "deletes batch/Job guestbook/migrate and creates it anew (Force=true) since Kubernetes refuses to change spec.template",
  ]);
  const replaced = withOption(object("v1/ConfigMap", "a"), "Replace=true");
  expect(diff([replaced], [object("v1/ConfigMap", "a")]).dangers).toEqual([
    { what: "overwrites ConfigMap guestbook/a", pruning: false },
  ]);
});

describe("what becomes a hook, or is one", () => {
  const hook = (annotations: Manifest) => object("v1/PersistentVolumeClaim", "data", {}, { annotations });
  const deployment = (annotations: Manifest = {}) => object("apps/v1/Deployment", "web", {}, { annotations });
  const presync = { "argocd.argoproj.io/hook": "PreSync" };
  const policy = (name: string) => ({ ...presync, "argocd.argoproj.io/hook-delete-policy": name });
  const LOST = "its data is lost unless the volume's reclaim policy is Retain";
  const DATA = "PersistentVolumeClaim guestbook/data";

  test.each<[string, Manifest, Manifest, string, string]>([
    [
      "a claim",
      claim({}),
      hook(presync),
      `deletes ${DATA} and creates it anew, since it becomes a hook: ${LOST}`,
      `deletes and recreates ${DATA}`,
    ],
    [
      "a claim, by Helm's annotation",
      claim({}),
      hook({ "helm.sh/hook": "pre-upgrade" }),
      `deletes ${DATA} and creates it anew, since it becomes a hook: ${LOST}`,
      `deletes and recreates ${DATA}`,
    ],
    [
      "a policy that Argo CD does not know",
      claim({}),
      hook(policy("Keep")),
      `deletes ${DATA} and creates it anew, since it becomes a hook: ${LOST}`,
      `deletes and recreates ${DATA}`,
    ],
    [
      "deleted at its end",
      claim({}),
      hook(policy("HookFailed, HookSucceeded")),
      `deletes ${DATA} once it has succeeded, since it becomes a hook: ${LOST}`,
      `deletes ${DATA}`,
    ],
    [
      "deleted if it fails, and before its phase as what left the files",
      claim({}),
      hook({ ...policy("HookFailed"), "argocd.argoproj.io/hook": "PostSync" }),
      `deletes ${DATA} if it fails, and in any case in a sync that prunes, since it becomes a hook: ${LOST}`,
      `deletes ${DATA}`,
    ],
    [
      "run by no sync that succeeds",
      claim({}),
      hook({ "argocd.argoproj.io/hook": "SyncFail" }),
      `deletes ${DATA} if the sync fails, and in any case in a sync that prunes, since it becomes a hook: ${LOST}`,
      `deletes ${DATA}`,
    ],
    [
      "a hook whose policy changes",
      hook(policy("HookFailed")),
      hook(presync),
      `deletes ${DATA} and creates it anew, since it is a hook: ${LOST}`,
      `deletes and recreates ${DATA}`,
    ],
    [
      "what runs",
      deployment(),
      deployment(presync),
      "deletes apps/Deployment guestbook/web and creates it anew, since it becomes a hook",
      "deletes and recreates apps/Deployment guestbook/web",
    ],
  ])("%s is deleted by the sync", (_, base, head, caution, what) => {
    const { cautions, dangers } = diff([base], [head]);
    expect(cautions[0]).toBe(caution);
    expect(dangers).toEqual([{ what, pruning: false, effect: "lost" }]);
  });

  test("what only is a hook, and runs again, endangers nothing", () => {
    expect(diff([deployment(presync)], [deployment(policy("HookFailed"))]).dangers).toEqual([]);
    expect(diff([], [hook(presync)]).dangers).toEqual([]);
  });

  test("what is a hook beside an annotation that is null may be none for Argo CD, and is deleted once it is removed", () => {
    const lost = { what: `deletes ${DATA}`, pruning: true, effect: "lost" };
    expect(diff([hook({ ...presync, other: null })], [])).toMatchObject({
      deleted: 1,
      hooksChanged: 0,
      dangers: [lost],
    });
    expect(diff([hook(presync)], [])).toMatchObject({ deleted: 0, hooksChanged: 1, dangers: [] });
  });

  test("what comes new may be in the cluster, where a controller made it, and goes first", () => {
    const first = (why: string) => `if the cluster already has ${DATA}, deletes it first, ${why}: ${LOST}`;
    const options = (text: string) => ({ "argocd.argoproj.io/sync-options": text });
    expect(diff([], [hook(presync)]).cautions[0]).toBe(first("since it is a hook"));
    expect(diff([], [hook(options("Replace=true,Force=true"))]).cautions).toEqual([first("because of Force=true")]);
    expect(diff([], [hook(options("Force=true"))]).cautions).toEqual([]);
    const namespace = object("v1/Namespace", "shop", {}, { annotations: options("Replace=true,Force=true") });
    expect(diff([], [namespace]).cautions).toEqual(["creates Namespace shop"]);
    const later = (when: string) =>
      `if the cluster already has ${DATA}, deletes it ${when}, since it is a hook: ${LOST}`;
    expect(diff([], [hook(policy("HookSucceeded"))]).cautions[0]).toBe(later("once it has succeeded"));
    expect(diff([], [hook(policy("HookFailed"))]).cautions[0]).toBe(later("if it fails"));
    // Argo CD takes what is in the cluster under the name of such a hook for an object that left git.
    const idle = diff([], [hook({ "helm.sh/hook": "test" })]).cautions;
    expect(idle).toEqual([
      `if the cluster already has ${DATA}, deletes it in a sync that prunes, since it is a hook that no sync runs: ${LOST}`,
    ]);
    expect(diff([], [deployment(presync)]).cautions).toHaveLength(1);
  });

  test("a hook with a generated name takes the place of nothing", () => {
    const generated = (annotations: Manifest, spec: Manifest = {}): Manifest => {
      return { ...hook(annotations), metadata: { generateName: "data-", annotations }, spec };
    };
    const named = "PersistentVolumeClaim guestbook/data-(generated)";
    expect(diff([generated(presync)], [generated(presync, { volumeName: "a" })])).toMatchObject({
      cautions: [`runs the changed hook ${named} (PreSync)`],
      dangers: [],
    });
    expect(diff([], [generated(presync)]).cautions).toEqual([`runs the new hook ${named} (PreSync)`]);
  });

  test.each<[string, Manifest]>([
    ["Helm's test", { "helm.sh/hook": "test" }],
    ["a misspelled type", { "argocd.argoproj.io/hook": "presync" }],
    ["an empty type", { "argocd.argoproj.io/hook": "" }],
    ["a hook of the application's deletion", { "argocd.argoproj.io/hook": "PostDelete" }],
  ])("what was applied and becomes a hook that no sync runs is deleted: %s", (_, annotations) => {
    expect(diff([claim({})], [hook(annotations)])).toMatchObject({
      updated: 0,
      deleted: 1,
      hooksChanged: 0,
      dangers: [{ what: `deletes ${DATA}`, pruning: true, effect: "lost" }],
    });
  });

  test("Helm's annotation counts beside one of Argo CD that says nothing, and an unknown type beside Skip does not", () => {
    const both = { "argocd.argoproj.io/hook": "presync", "helm.sh/hook": "pre-install" };
    expect(diff([], [deployment(both)]).cautions).toEqual([
      "runs the new hook apps/Deployment guestbook/web (PreSync)",
    ]);
    expect(diff([claim({})], [hook({ "argocd.argoproj.io/hook": "presync, Skip" })]).resources).toEqual([]);
  });
});

test("a version that a definition loses", () => {
  const versions = (...names: string[]) => crd({ versions: names.map((name) => ({ name })) });
  expect(diff([versions("v1alpha1", "v1")], [versions("v1", "v2")]).cautions).toEqual([
    "takes the version v1alpha1 away from apiextensions.k8s.io/CustomResourceDefinition things.example.com: " +
      "Kubernetes refuses that while objects are stored in it, and whoever uses it breaks",
  ]);
  expect(diff([versions("v1")], [versions("v1", "v2")]).cautions).toEqual([
    "changes apiextensions.k8s.io/CustomResourceDefinition things.example.com",
  ]);
});

test("the most dangerous comes first", () => {
  const annotations = { "helm.sh/hook": "pre-install,pre-upgrade,test" };
  const base = [
    object("v1/Namespace", "old"),
    object("apps/v1/Deployment", "web", { spec: { selector: 1 } }),
    object("v1/PersistentVolume", "disk", { spec: 1 }),
  ];
  const head = [
    object("v1/Namespace", "new"),
    job({}, annotations),
    object("apps/v1/Deployment", "web", { spec: { selector: 2 } }),
    object("v1/PersistentVolume", "disk", { spec: 2 }),
    object("v1/Pod", "smoke", {}, { annotations: { "helm.sh/hook": "test" } }),
  ];
  const found = diff(base, head);
  expect(found.cautions.map((text) => text.split(":")[0])).toEqual([
    "pruning Namespace old",
    "Kubernetes refuses to change spec.selector of apps/Deployment guestbook/web",
    "changes PersistentVolume disk",
    "creates Namespace new",
    "runs the new hook batch/Job guestbook/migrate (PreSync)",
  ]);
  expect(found.dangers).toEqual([
    { what: "deletes Namespace old", pruning: true, effect: "lost" },
    { what: "Kubernetes refuses to change apps/Deployment guestbook/web", pruning: false, effect: "refused" },
    { what: "changes PersistentVolume disk", pruning: false },
  ]);
});

test("children of an app of apps are named, sets apart", () => {
  const child = (name: string, members: Manifest = {}) => object("argoproj.io/v1alpha1/Application", name, members);
  const set = object("argoproj.io/v1alpha1/ApplicationSet", "shops");
  const found = diff(
    [child("a", { spec: 1 }), child("gone"), child("same"), object("example.com/v1/Application", "other")],
    [child("a", { spec: 2 }), child("new"), child("same"), set],
  );
  expect(found.children).toEqual({ created: ["new"], changed: ["a"], deleted: ["gone"] });
  expect(found.sets).toEqual({ created: ["shops"], changed: [], deleted: [] });
});
