import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { diffLive } from "../../../src/core/diff/live-diff.js";
import { identify } from "../../../src/core/diff/manifest-key.js";
import type { ApplicationSpec, Manifest } from "../../../src/core/model/application.js";
import { isJsonObject, type Json } from "../../../src/core/model/json.js";
import type { LiveResource } from "../../../src/core/ports/deployer.js";
import { BASE, diff, HEAD, object } from "./resource.js";

/** The cluster's object of a manifest, with what Kubernetes adds. */
function liveOf(manifest: Manifest, more: Partial<LiveResource> = {}): LiveResource {
  const metadata = isJsonObject(manifest.metadata) ? manifest.metadata : {};
  const { group, kind, namespace, name } = identify(manifest, "guestbook");
  const added = { namespace, uid: "1f0e", resourceVersion: "7", creationTimestamp: "2026-03-02T09:20:00Z" };
  const live = { ...manifest, metadata: { ...added, ...metadata }, status: { observed: 1 } };
  return { group, kind, namespace, name, live, lastApplied: undefined, hook: false, ...more };
}

interface Case {
  readonly base: readonly Manifest[];
  readonly head: readonly Manifest[];
  readonly live: readonly LiveResource[];
  readonly spec?: ApplicationSpec;
  readonly stale?: string;
}

function liveDiff({ base, head, live, spec = {}, stale }: Case) {
  return diffLive({
    base,
    head,
    destinationNamespace: "guestbook",
    baseNamespace: "guestbook",
    syncOptions: [],
    placeholders: { base: BASE, head: HEAD },
    redact: [],
    live: { resources: live, stale },
    spec,
  });
}

const basisOf = (found: ReturnType<typeof liveDiff>) => {
  if (found.basis.kind !== "live") throw new Error("not the live cluster");
  return found.basis;
};
const actions = (found: ReturnType<typeof liveDiff>) =>
  found.resources.map(({ action, title, hook }) => `${action}${hook ? " hook" : ""} ${title}`).sort();
const changedLines = (found: ReturnType<typeof liveDiff>) =>
  found.resources
    .flatMap((one) => one.diff.split("\n").filter((line) => /^[-+]/.test(line)))
    .map((line) => line.replace(/^([-+])\s*/, "$1 "));

const configMap = (data: Manifest, metadata: Manifest = {}) => object("v1/ConfigMap", "web", { data }, metadata);
const deployment = (spec: Manifest, pod: Manifest = {}, container: Manifest = {}) =>
  object("apps/v1/Deployment", "web", {
    spec: { ...spec, template: { spec: { ...pod, containers: [{ name: "web", image: "web:1", ...container }] } } },
  });
/** As Kubernetes stores it. */
const DEFAULTED = deployment(
  { replicas: 1, strategy: { type: "RollingUpdate" } },
  { restartPolicy: "Always" },
  { imagePullPolicy: "IfNotPresent", ports: [{ containerPort: 80, protocol: "TCP" }] },
);
const WANTED = deployment({}, {}, { ports: [{ containerPort: 80 }] });

describe("what is no change of the cluster", () => {
  test.each<[string, Manifest, Manifest]>([
    ["fields that Kubernetes fills in", WANTED, DEFAULTED],
    [
      "amounts that are written in another way",
      deployment({}, {}, { resources: { limits: { cpu: 1, memory: "1Gi" }, requests: { cpu: "0.5" } } }),
      deployment({}, {}, { resources: { limits: { cpu: "1000m", memory: "1024Mi" }, requests: { cpu: "500m" } } }),
    ],
    [
      "what says nothing and is not stored",
      deployment({ paused: false }, { hostNetwork: false, securityContext: {} }),
      deployment({}),
    ],
    ["the version that the cluster answers in", object("batch/v1beta1/CronJob", "a"), object("batch/v1/CronJob", "a")],
    [
      "an annotation that a controller wrote",
      configMap({ a: "1" }),
      configMap({ a: "1" }, { annotations: { x: "y" } }),
    ],
    [
      "a node port and a cluster address",
      object("v1/Service", "a", { spec: { ports: [{ port: 80 }, { port: 443 }] } }),
      object("v1/Service", "a", {
        spec: {
          clusterIP: "10.0.0.1",
          ports: [
            { port: 443, nodePort: 2 },
            { port: 80, nodePort: 1, protocol: "TCP" },
          ],
        },
      }),
    ],
    [
      "defaults in a list without keys",
      object("networking.k8s.io/v1/NetworkPolicy", "a", { spec: { ingress: [{ ports: [{ port: 80 }] }] } }),
      object("networking.k8s.io/v1/NetworkPolicy", "a", {
        spec: { ingress: [{ ports: [{ port: 80, protocol: "TCP" }] }] },
      }),
    ],
  ])("%s", (_, rendered, live) => {
    const found = liveDiff({ base: [rendered], head: [rendered], live: [liveOf(live)] });
    expect(found.resources).toEqual([]);
    expect(found.basis).toEqual({ kind: "live", approximate: [], drifted: [], alreadyThere: [] });
  });

  test("a list of the head, although the base's has an element like it elsewhere", () => {
    const thing = (list: readonly Json[]) => object("example.com/v1/Thing", "a", { spec: { list } });
    const found = liveDiff({
      base: [thing(["x", [], {}])],
      head: [thing([{}, "x", "x"])],
      live: [liveOf(thing([{ by: "default" }, "x", "x"]))],
    });
    expect(found.resources).toEqual([]);
  });

  test("the commit that it was rendered at", () => {
    const at = (commit: string) => configMap({ at: `v-${commit}` });
    const found = liveDiff({ base: [at(BASE)], head: [at(HEAD)], live: [liveOf(at("a".repeat(40)))] });
    expect(found).toMatchObject({ resources: [], basis: { drifted: [], alreadyThere: [] } });
  });

  test("the namespace that Argo CD writes into what it applies", () => {
    const lastApplied = configMap({ a: "1" }, { namespace: "guestbook" });
    const same = configMap({ a: "1" });
    expect(liveDiff({ base: [same], head: [same], live: [liveOf(same, { lastApplied })] })).toMatchObject({
      resources: [],
      basis: { drifted: [] },
    });
  });

  test("objects of the cluster are found although only the cluster knows that they have no namespace", () => {
    const issuer = object("cert-manager.io/v1/ClusterIssuer", "le");
    const found = liveDiff({ base: [issuer], head: [issuer], live: [liveOf(issuer, { namespace: "" })] });
    expect(found.resources).toEqual([]);
  });
});

describe("what is a change of the cluster", () => {
  test("the change alone is shown, with the cluster's defaults around it", () => {
    const head = deployment({ replicas: 3 }, {}, { ports: [{ containerPort: 80 }, { containerPort: 81 }] });
    const found = liveDiff({ base: [WANTED], head: [head], live: [liveOf(DEFAULTED)] });
    expect(changedLines(found)).toEqual(["- replicas: 1", "+ replicas: 3", "+ - containerPort: 81"]);
    expect(basisOf(found).drifted).toEqual([]);
  });

  test("what the head takes away goes, and what others wrote stays", () => {
    const live = configMap({ a: "1", b: "2", other: "x" });
    const found = liveDiff({
      base: [configMap({ a: "1", b: "2" })],
      head: [configMap({ a: "1" })],
      live: [liveOf(live)],
    });
    expect(changedLines(found)).toEqual(['- b: "2"']);
  });

  test("what was applied from elsewhere and is not in the head goes, too", () => {
    const lastApplied = configMap({ a: "1", preview: "2" });
    const same = configMap({ a: "1" });
    const found = liveDiff({ base: [same], head: [same], live: [liveOf(lastApplied, { lastApplied })] });
    expect(changedLines(found)).toEqual(['- preview: "2"']);
    expect(basisOf(found).drifted).toEqual(["ConfigMap guestbook/web"]);
  });

  test("a container that somebody added stays, one that the head takes away goes", () => {
    const pods = (...names: readonly string[]) =>
      object("apps/v1/Deployment", "web", {
        spec: { template: { spec: { containers: names.map((name) => ({ name })) } } },
      });
    const found = liveDiff({
      base: [pods("web", "old")],
      head: [pods("web")],
      live: [liveOf(pods("web", "old", "sidecar"))],
    });
    expect(changedLines(found)).toEqual(["- - name: old"]);
  });

  test("an amount that is another amount", () => {
    const limits = (memory: string) => deployment({}, {}, { resources: { limits: { memory } } });
    const found = liveDiff({ base: [limits("1Gi")], head: [limits("1G")], live: [liveOf(limits("1024Mi"))] });
    expect(changedLines(found)).toEqual(["- memory: 1024Mi", "+ memory: 1G"]);
  });

  test("a text that only looks like an amount is no amount", () => {
    const found = liveDiff({
      base: [configMap({ a: "1" })],
      head: [configMap({ a: "1000m" })],
      live: [liveOf(configMap({ a: "1" }))],
    });
    expect(actions(found)).toEqual(["update ConfigMap guestbook/web"]);
  });

  test("the text around a commit", () => {
    const head = configMap({ at: `v-${HEAD}` });
    const found = liveDiff({ base: [head], head: [head], live: [liveOf(configMap({ at: `w-${"a".repeat(40)}` }))] });
    expect(changedLines(found)).toEqual([`- at: w-${"a".repeat(40)}`, "+ at: v-<commit>"]);
  });

  test("created, deleted, left over and gone already", () => {
    const named = (name: string) => object("v1/ConfigMap", name);
    const found = liveDiff({
      base: [named("gone"), named("deleted"), named("kept"), named("lost")],
      head: [named("kept"), named("new"), named("lost")],
      live: [
        liveOf(named("deleted")),
        liveOf(named("kept")),
        liveOf(named("left-over")),
        liveOf(named("lost"), { live: undefined }),
      ],
    });
    expect(actions(found)).toEqual([
      "create ConfigMap guestbook/lost",
      "create ConfigMap guestbook/new",
      "delete ConfigMap guestbook/deleted",
      "delete ConfigMap guestbook/left-over",
    ]);
    expect(found).toMatchObject({ created: 2, updated: 0, deleted: 2 });
    expect(basisOf(found)).toMatchObject({
      drifted: ["ConfigMap guestbook/gone", "ConfigMap guestbook/left-over", "ConfigMap guestbook/lost"],
      alreadyThere: ["ConfigMap guestbook/gone"],
    });
  });

  test("hooks are compared as they are rendered, and hooks of the cluster are nobody's leftovers", () => {
    const hook = (image: string) =>
      object("batch/v1/Job", "j", { image }, { annotations: { "argocd.argoproj.io/hook": "Sync" } });
    const found = liveDiff({
      base: [hook("1")],
      head: [hook("2")],
      live: [liveOf(hook("0")), liveOf(object("v1/Pod", "p"), { hook: true })],
    });
    expect(actions(found)).toEqual(["update hook batch/Job guestbook/j"]);
    expect(found).toMatchObject({ updated: 0, deleted: 0, hooksChanged: 1 });
  });

  test("a field that the cluster does not let change is called out by what runs there", () => {
    const set = (serviceName: string) => object("apps/v1/StatefulSet", "db", { spec: { serviceName } });
    const found = liveDiff({ base: [set("b")], head: [set("b")], live: [liveOf(set("a"))] });
    expect(found.cautions).toEqual([expect.stringContaining("refuses to change spec.serviceName")]);
  });
});

test("a change that the cluster has already is no proof of no change", () => {
  const [base, head] = [configMap({ a: "1" }), configMap({ a: "2" })];
  const found = liveDiff({ base: [base], head: [head], live: [liveOf(head)] });
  expect(found.resources).toEqual([]);
  expect(basisOf(found)).toMatchObject({
    alreadyThere: ["ConfigMap guestbook/web"],
    drifted: ["ConfigMap guestbook/web"],
  });
});

describe("Secrets", () => {
  const secret = (data: Manifest, members: Manifest = {}) => object("v1/Secret", "db", { data, ...members });
  const MASKS = ["++++++++", "++++++++++++"] as const;

  test("masks of the cluster and of a render are never compared", () => {
    const found = liveDiff({
      base: [secret({ a: MASKS[0] })],
      head: [secret({ a: MASKS[0] })],
      live: [liveOf(secret({ a: MASKS[1] }))],
    });
    expect(found).toMatchObject({ resources: [], hiddenSecrets: true });
    expect(basisOf(found).drifted).toEqual([]);
  });

  test("keys that come and go are shown, values never", () => {
    const found = liveDiff({
      base: [secret({ a: "S3CR3T-1" })],
      head: [secret({ b: "S3CR3T-2" }, { type: "Opaque" })],
      live: [liveOf(secret({ a: "S3CR3T-3", other: "S3CR3T-4" }), { lastApplied: secret({ a: "S3CR3T-5" }) })],
    });
    expect(changedLines(found)).toEqual(["- a: (hidden)", "+ b: (hidden)", "+ type: Opaque"]);
    expect(JSON.stringify(found)).not.toContain("S3CR3T");
  });
});

describe("ignoreDifferences", () => {
  const scaled = (replicas: number) => deployment({ replicas });
  const ignoring = (rule: Manifest): ApplicationSpec => ({ ignoreDifferences: [rule] });
  const REPLICAS = { group: "apps", kind: "Deployment", jsonPointers: ["/spec/replicas"] };

  test.each<[string, Manifest, readonly string[]]>([
    ["by group and kind", REPLICAS, []],
    ["by globs", { ...REPLICAS, group: "*", kind: "*" }, []],
    ["with name and namespace", { ...REPLICAS, name: "web", namespace: "guestbook" }, []],
    ["of another name", { ...REPLICAS, name: "api" }, ["update apps/Deployment guestbook/web"]],
    ["of another namespace", { ...REPLICAS, namespace: "x" }, ["update apps/Deployment guestbook/web"]],
    [
      "of the core group only",
      { kind: "Deployment", jsonPointers: ["/spec/replicas"] },
      ["update apps/Deployment guestbook/web"],
    ],
    ["of another path", { ...REPLICAS, jsonPointers: ["/spec/replica"] }, ["update apps/Deployment guestbook/web"]],
  ])("%s", (_, rule, expected) => {
    const found = liveDiff({ base: [scaled(2)], head: [scaled(2)], live: [liveOf(scaled(7))], spec: ignoring(rule) });
    expect(actions(found)).toEqual(expected);
    expect(basisOf(found).approximate).toEqual([]);
  });

  test("Argo CD has taken the ignored field out of the live object", () => {
    const found = liveDiff({
      base: [scaled(2)],
      head: [scaled(2)],
      live: [liveOf(deployment({}))],
      spec: ignoring(REPLICAS),
    });
    expect(found.resources).toEqual([]);
  });

  test("a pointer into a list and with escapes", () => {
    const spec = ignoring({ kind: "ConfigMap", jsonPointers: ["/metadata/annotations/a~1b", "/data/l/0"] });
    const [rendered, live] = [
      configMap({ l: ["1", "2"] }),
      configMap({ l: ["9", "2"] }, { annotations: { "a/b": "x" } }),
    ];
    const found = liveDiff({ base: [rendered], head: [rendered], live: [liveOf(live, { lastApplied: live })], spec });
    expect(found.resources).toEqual([]);
  });

  test("what the change request itself changes is never ignored: a sync applies it", () => {
    const found = liveDiff({
      base: [scaled(2)],
      head: [scaled(5)],
      live: [liveOf(scaled(7))],
      spec: ignoring(REPLICAS),
    });
    expect(changedLines(found)).toEqual(["- replicas: 7", "+ replicas: 5"]);
  });

  test.each<[Manifest, string]>([
    [{ kind: "Pod", jqPathExpressions: [".spec"] }, "jqPathExpressions of ignoreDifferences not evaluated"],
    [{ kind: "Pod", managedFieldsManagers: ["hpa"] }, "managedFieldsManagers of ignoreDifferences not evaluated"],
    [{ kind: "[PQ]od", jsonPointers: ["/a"] }, "some rules of ignoreDifferences not evaluated"],
    [{ kind: 7 }, "some rules of ignoreDifferences not evaluated"],
  ])("%j is said not to be honoured", (rule, text) => {
    expect(basisOf(liveDiff({ base: [], head: [], live: [], spec: ignoring(rule) })).approximate).toEqual([text]);
  });

  test("old state and server-side apply are said, too", () => {
    expect(basisOf(liveDiff({ base: [], head: [], live: [], stale: "the state is old" })).approximate).toEqual([
      "the state is old",
    ]);
  });
});

describe("for any objects", () => {
  const key = fc.constantFrom("a", "b", "c");
  const { value } = fc.letrec<{ value: Json; items: Json[]; members: Record<string, Json> }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<Json>("x", "y", 1, 2, true, false, ""),
      tie("items"),
      tie("members"),
    ),
    items: fc.array(tie("value"), { maxLength: 3 }),
    members: fc.dictionary(key, tie("value"), { maxKeys: 3 }),
  }));
  const content = fc.dictionary(key, value, { maxKeys: 3 });
  const manifests = fc
    .uniqueArray(fc.record({ name: fc.constantFrom("one", "two", "three"), content }), {
      selector: ({ name }) => name,
      maxLength: 3,
    })
    .map((some) =>
      some.map(({ name, content: spec }) => object("example.com/v1/Thing", name, { spec: { fixed: 1, ...spec } })),
    );

  /** Adds members that no manifest has to every object in it, deep down. */
  const withDefaults = (json: Json): Json => {
    if (Array.isArray(json)) return (json as readonly Json[]).map(withDefaults);
    if (!isJsonObject(json)) return json;
    const members = Object.entries(json).map(([name, member]) => [name, withDefaults(member ?? null)] as const);
    return { ...Object.fromEntries(members), defaulted: "by-kubernetes" };
  };
  const inCluster = (some: readonly Manifest[]) =>
    some.map((one) => liveOf({ ...one, spec: withDefaults(one.spec ?? null) }));

  test("a cluster that runs the head with defaults has no difference", () => {
    fc.assert(
      fc.property(manifests, manifests, (base, head) => {
        expect(actions(liveDiff({ base, head, live: inCluster(head) }))).toEqual([]);
      }),
    );
  });

  test("for a cluster that runs the base with defaults the changes are those of the renders", () => {
    fc.assert(
      fc.property(manifests, manifests, (base, head) => {
        const found = liveDiff({ base, head, live: inCluster(base) });
        expect(actions(found)).toEqual(actions(diff(base, head)));
        expect(basisOf(found)).toMatchObject({ drifted: [], alreadyThere: [] });
      }),
    );
  });

  test("what the renders change is in the diff, or is told to be in the cluster already", () => {
    fc.assert(
      fc.property(manifests, manifests, manifests, (base, head, running) => {
        const found = liveDiff({ base, head, live: inCluster(running) });
        const told = new Set([...found.resources.map(({ title }) => title), ...basisOf(found).alreadyThere]);
        for (const { title } of diff(base, head).resources) expect(told).toContain(title);
      }),
    );
  });
});
