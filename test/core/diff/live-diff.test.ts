import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { markTask } from "../../../src/core/diff/diff-task.js";
import { type ObjectAnswers, readIgnoreRules } from "../../../src/core/diff/live/live-objects.js";
import { diffBoth, diffLive } from "../../../src/core/diff/live/live-outcome.js";
import { identify, keyOf } from "../../../src/core/diff/manifest-key.js";
import type { Marks } from "../../../src/core/diff/summarise.js";
import type { ApplicationSpec, Manifest } from "../../../src/core/model/application.js";
import { isJsonObject, type Json, type JsonObject, jsonText } from "../../../src/core/model/json.js";
import { kept } from "../../../src/core/ports/compute.js";
import type { LiveResource } from "../../../src/core/ports/deployer.js";
import { BASE, diff, HEAD, object } from "./resource.js";

/** The cluster's object of a manifest, with what Kubernetes adds. */
function liveOf(manifest: Manifest, more: Partial<LiveResource> = {}): LiveResource {
  const metadata = isJsonObject(manifest.metadata) ? manifest.metadata : {};
  const { group, kind, namespace, name } = identify(manifest, "guestbook");
  const added = { namespace, uid: "1f0e", resourceVersion: "7", creationTimestamp: "2026-03-02T09:20:00Z" };
  const live = { ...manifest, metadata: { ...added, ...metadata }, status: { observed: 1 } };
  return {
    group,
    kind,
    namespace,
    name,
    live,
    whole: live,
    lastApplied: undefined,
    hook: false,
    copied: false,
    ...more,
  };
}

/** The answer that an object becomes `after`, or stays as it is. */
function answered({ live, whole, lastApplied, ...one }: LiveResource, after = live): ObjectAnswers {
  const [before, made, all] = [jsonText(live ?? {}), jsonText(after ?? {}), jsonText(whole ?? {})];
  return { [keyOf({ ...one, generateName: "" })]: { before, after: made, whole: all, lastApplied } };
}

interface Case {
  readonly base: readonly Manifest[];
  readonly head: readonly Manifest[];
  readonly live: readonly LiveResource[];
  readonly spec?: ApplicationSpec;
  readonly stale?: string;
  readonly syncOptions?: readonly string[];
  readonly sameRules?: boolean;
  readonly stayingKeys?: readonly string[];
  readonly answers?: ObjectAnswers;
  readonly kubernetes?: string | undefined;
}

/** With the same sync options in Argo CD and, where `sameRules`, the same `ignoreDifferences`. */
function ignoredBy(spec: ApplicationSpec, syncOptions: readonly string[], sameRules: boolean) {
  const head = { ...spec, syncPolicy: { syncOptions } };
  return readIgnoreRules(head, sameRules ? head : { ...head, ignoreDifferences: [{ kind: "Other" }] });
}

function requestOf({
  base,
  head,
  live,
  spec = {},
  stale,
  syncOptions = [],
  sameRules = true,
  stayingKeys,
  answers = {},
  kubernetes,
}: Case) {
  return {
    base,
    head,
    destinationNamespace: "guestbook",
    baseNamespace: "guestbook",
    syncOptions,
    placeholders: { base: BASE, head: HEAD },
    redact: [],
    live: { resources: live, stale, kubernetes },
    ignored: ignoredBy(spec, syncOptions, sameRules),
    answers,
    stayingKeys: () => stayingKeys,
  };
}

function liveDiff(one: Case) {
  return diffLive(requestOf(one));
}

const basisOf = (found: ReturnType<typeof liveDiff>) => {
  if (found.basis.kind !== "live") throw new Error("not the live cluster");
  return found.basis;
};
const UNANSWERED = "without Kubernetes' answer, what it fills in or spells in another way may be shown as a change";
const doubtsOf = (found: ReturnType<typeof liveDiff>) =>
  basisOf(found).approximate.filter(({ what }) => what !== UNANSWERED);
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

test("a generateName beside a name is a change of that object", () => {
  const [base, head] = [configMap({ a: "1" }), configMap({ a: "1" }, { generateName: "web-" })];
  expect(diff([base], [head])).toMatchObject({ created: 0, updated: 1, deleted: 0 });
  expect(actions(liveDiff({ base: [base], head: [head], live: [liveOf(base)] }))).toEqual([
    "update ConfigMap guestbook/web",
  ]);
});

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
            { port: 80, nodePort: 1, protocol: "TCP" },
            { port: 443, nodePort: 2 },
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
    expect(found.basis).toEqual({ kind: "live", approximate: [], drifted: [], alreadyThere: [], kept: [] });
  });

  test("what Kubernetes answers to be no change", () => {
    const thing = (list: readonly Json[]) => object("example.com/v1/Thing", "a", { spec: { list } });
    const [head, running] = [thing([{}, "x", "x"]), liveOf(thing([{ by: "default" }, "x", "x"]))];
    const found = liveDiff({ base: [thing(["x"])], head: [head], live: [running], answers: answered(running) });
    expect(found.resources).toEqual([]);
    expect(basisOf(found)).toMatchObject({ approximate: [], alreadyThere: ["example.com/Thing guestbook/a"] });
  });

  test("a controller's copy of an object, which a sync does not prune", () => {
    const [same, copy] = [configMap({ a: "1" }), object("v1/ConfigMap", "copy", {}, { namespace: "other" })];
    const request = { base: [same], head: [same], live: [liveOf(same), liveOf(copy, { copied: true })] };
    expect(liveDiff(request)).toMatchObject({ resources: [], basis: { drifted: [] } });
    expect(diffBoth(requestOf(request)).basis).toMatchObject({ drift: [] });
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

  test.each<[string, string, Manifest]>([
    ["a custom kind", "cert-manager.io/v1/ClusterIssuer", { namespace: "certs" }],
    ["another one on the target branch", "cert-manager.io/v1/ClusterIssuer", { namespace: "old" }],
    ["a kind of Kubernetes", "rbac.authorization.k8s.io/v1/ClusterRole", { namespace: "certs" }],
  ])("a namespace in the manifest of a cluster-scoped object: %s", (_, type, before) => {
    const [plain, base, head] = [{}, before, { namespace: "certs" }].map((at) => object(type, "le", {}, at));
    if (plain === undefined || base === undefined || head === undefined) throw new Error("three objects");
    const live = { ...liveOf(plain), namespace: "", live: plain, whole: plain };
    expect(liveDiff({ base: [base], head: [head], live: [live] })).toMatchObject({ resources: [], cautions: [] });
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

  test("of what others added to a ServiceAccount, secrets stay and pull secrets go, as Kubernetes merges them", () => {
    const account = (...names: readonly string[]) => {
      const list = names.map((name) => ({ name }));
      return object("v1/ServiceAccount", "web", { secrets: list, imagePullSecrets: list });
    };
    const found = liveDiff({ base: [account("a")], head: [account("a")], live: [liveOf(account("a", "added"))] });
    expect(changedLines(found)).toEqual(["- - name: added"]);
    expect(found.resources[0]?.diff).toContain("imagePullSecrets:\n   - name: a\n-  - name: added");
  });

  test.each<[string, Manifest, Manifest, string]>([
    [
      "a label",
      configMap({}, { labels: { "example.com/on": "" } }),
      configMap({}, { labels: {} }),
      '+ example.com/on: ""',
    ],
    ["all labels", configMap({}, { labels: { on: "" } }), configMap({}), '+ on: ""'],
    ["a key", configMap({ a: "1", flag: "" }), configMap({ a: "1" }), '+ flag: ""'],
    ["a custom kind", object("example.com/v1/T", "t", { on: false }), object("example.com/v1/T", "t"), "+ on: false"],
  ])("an empty value that Kubernetes stores and the cluster has no more: %s", (_, git, live, line) => {
    const found = liveDiff({ base: [git], head: [git], live: [liveOf(live)] });
    expect(changedLines(found)).toContain(line);
  });

  test("an empty map or list in the metadata of a custom kind is not stored, and is no change", () => {
    const thing = (metadata: JsonObject) => object("example.com/v1/T", "t", { on: true }, metadata);
    const git = thing({ labels: {}, annotations: {}, finalizers: [] });
    const found = liveDiff({ base: [git], head: [git], live: [liveOf(thing({}))] });
    expect(changedLines(found)).toEqual([]);
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

test("what git says Skip of is not deleted from the cluster", () => {
  const claim = object("v1/PersistentVolumeClaim", "data");
  const skipped = object(
    "v1/PersistentVolumeClaim",
    "data",
    {},
    { annotations: { "argocd.argoproj.io/hook": "Skip" } },
  );
  for (const head of [[skipped], [skipped, configMap({})]]) {
    const found = liveDiff({ base: [claim], head, live: [liveOf(claim)] });
    expect([found.deleted, found.dangers]).toEqual([0, []]);
  }
  expect(liveDiff({ base: [skipped], head: [], live: [liveOf(claim)] })).toMatchObject({ deleted: 1, dangers: [{}] });
});

test("a status that stays in git is not compared with the cluster's, and one that changes is written", () => {
  const child = (status: Manifest) => object("argoproj.io/v1alpha1/Application", "shop", { status });
  const [old, young] = [child({ history: [] }), child({ history: [{ id: 1 }] })];
  const found = liveDiff({ base: [old], head: [old], live: [liveOf(old)] });
  expect([found.resources, basisOf(found).drifted]).toEqual([[], []]);
  expect(changedLines(liveDiff({ base: [old], head: [young], live: [liveOf(old)] }))).toEqual([
    "+ status:",
    "+ history:",
    "+ - id: 1",
  ]);
});

test("null takes away what others wrote, at each sync of a kind of Kubernetes", () => {
  const web = object("apps/v1/Deployment", "web", { spec: { replicas: null } });
  const scaled = liveOf({ ...web, spec: { replicas: 5 } });
  expect(changedLines(liveDiff({ base: [web], head: [web], live: [scaled] }))).toEqual([
    "- replicas: 5",
    "+ replicas: 1",
  ]);
});

describe("what Kubernetes allocated for a Service", () => {
  const NULLS = { clusterIP: null, ports: [{ port: 80, nodePort: null }] };
  const WRITTEN = { clusterIP: "10.0.0.1", ports: [{ port: 80, nodePort: 31_000 }] };
  const [ADDRESS, PORT] = ["- clusterIP: 10.0.0.1", "- - nodePort: 31000"];
  test.each<[string, Manifest, Manifest, readonly string[]]>([
    ["stays where git says null", NULLS, NULLS, []],
    ["stays where git says nothing any more", WRITTEN, { ports: [{ port: 80 }] }, []],
    ["goes with another type", NULLS, { ...NULLS, type: "ClusterIP" }, [PORT]],
    ["goes with its last type", NULLS, { ...NULLS, type: "ExternalName" }, [ADDRESS, PORT]],
    ["goes where it is not wanted", NULLS, { ...NULLS, allocateLoadBalancerNodePorts: false }, [PORT]],
  ])("%s", (_, base, head, lines) => {
    const service = (spec: Manifest) => object("v1/Service", "web", { spec: { type: "LoadBalancer", ...spec } });
    const live = liveOf(service({ ...WRITTEN, ports: [{ port: 80, protocol: "TCP", nodePort: 31_000 }] }));
    const changed = changedLines(liveDiff({ base: [service(base)], head: [service(head)], live: [live] }));
    expect(changed.filter((line) => /clusterIP|nodePort/.test(line))).toEqual(lines);
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

  const losing = { base: [secret({ a: "x", old: "x" })], head: [secret({ a: "x" })] };

  test("a key that goes stays in the cluster if git has it as stringData", () => {
    const live = [liveOf(secret({ a: "x", old: "x" }), { lastApplied: secret({ a: "x", old: "x" }) })];
    const found = liveDiff({ ...losing, live, stayingKeys: ["old"] });
    expect(found.resources).toEqual([]);
    expect(basisOf(found)).toMatchObject({
      kept: [{ what: "keys that were written as stringData stay: old", objects: ["Secret guestbook/db"] }],
      alreadyThere: [],
      approximate: [],
    });
  });

  test("where git does not tell, it goes, and that is said to be uncertain", () => {
    const found = liveDiff({ ...losing, live: [liveOf(secret({ a: "x", old: "x" }))] });
    expect(changedLines(found)).toEqual(["- old: (hidden)"]);
    expect(basisOf(found).approximate).toEqual([
      { what: "a key stays if it was written as stringData", objects: ["Secret guestbook/db"] },
    ]);
  });

  test("a key that git has as data goes", () => {
    const found = liveDiff({ ...losing, live: [liveOf(secret({ a: "x", old: "x" }))], stayingKeys: [] });
    expect(changedLines(found)).toEqual(["- old: (hidden)"]);
    expect(basisOf(found)).toMatchObject({ approximate: [], kept: [] });
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
    expect(doubtsOf(found)).toEqual([]);
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

  test.each<[Manifest]>([[{ kind: "[PQ]od", jsonPointers: ["/a"] }], [{ kind: 7 }]])(
    "nobody knows what %j is about",
    (rule) => {
      const found = liveDiff({ base: [], head: [], live: [], spec: ignoring(rule) });
      expect(basisOf(found).approximate).toEqual([
        { what: "some rules of ignoreDifferences could not be read", objects: [] },
      ]);
    },
  );

  describe("rules that only Argo CD evaluates", () => {
    const spec = ignoring({ group: "apps", kind: "Deployment", jqPathExpressions: [".spec.replicas"] });
    const scaledByOthers = () => liveOf(deployment({}), { whole: scaled(7) });

    test("what Argo CD took out of the live object is ignored", () => {
      const found = liveDiff({ base: [scaled(2)], head: [scaled(2)], live: [scaledByOthers()], spec });
      expect(found.resources).toEqual([]);
      expect(basisOf(found)).toMatchObject({ approximate: [], drifted: [] });
    });

    test("what the change request changes of it is compared with what the cluster really has", () => {
      const found = liveDiff({ base: [scaled(2)], head: [scaled(5)], live: [scaledByOthers()], spec });
      expect(changedLines(found)).toEqual(["- replicas: 7", "+ replicas: 5"]);
      expect(doubtsOf(found)).toEqual([
        {
          what: "jqPathExpressions of ignoreDifferences honoured only for fields that the cluster has",
          objects: ["apps/Deployment guestbook/web"],
        },
      ]);
    });

    test("an element of a list with keys is ignored wherever it stands", () => {
      const pods = (...names: readonly string[]) =>
        object("apps/v1/Deployment", "web", {
          spec: { template: { spec: { containers: names.map((name) => ({ name, image: "a:1" })) } } },
        });
      const proxied = liveOf(pods("web"), { whole: pods("proxy", "web") });
      const found = liveDiff({ base: [pods("web", "proxy")], head: [pods("web", "proxy")], live: [proxied], spec });
      expect(found.resources).toEqual([]);
    });

    test("rules that the definition changes were not evaluated", () => {
      const live = [scaledByOthers()];
      const found = liveDiff({ base: [scaled(2)], head: [scaled(2)], live, spec, sameRules: false });
      expect(changedLines(found)).toEqual(["+ replicas: 2"]);
      expect(doubtsOf(found)).toEqual([
        {
          what: "jqPathExpressions of ignoreDifferences not evaluated, since the definition changes them",
          objects: ["apps/Deployment guestbook/web"],
        },
      ]);
    });
  });

  test.each([
    ["alone, a sync may leave it", scaled(5), true],
    ["beside another change, it is written", { ...scaled(5), metadata: { name: "web", labels: { a: "b" } } }, false],
  ])("with ApplyOutOfSyncOnly, of an ignored field: %s", (_what, head, isLeft) => {
    const sides = { base: [scaled(2)], head: [head], live: [liveOf(scaled(2))] };
    const found = liveDiff({ ...sides, spec: ignoring(REPLICAS), syncOptions: ["ApplyOutOfSyncOnly=true"] });
    expect(changedLines(found)).toContain("+ replicas: 5");
    expect(
      JSON.stringify(doubtsOf(found)).includes("a sync may leave /spec/replicas as it is (ApplyOutOfSyncOnly)"),
    ).toBe(isLeft);
  });

  describe("RespectIgnoreDifferences", () => {
    const syncOptions = ["RespectIgnoreDifferences=true"];
    const kept = (path: string) => [
      { what: `RespectIgnoreDifferences leaves ${path} as it is`, objects: ["apps/Deployment guestbook/web"] },
    ];

    test("a rule that the change brings along hides nothing, and is told", () => {
      const sides = { base: [scaled(2)], head: [scaled(5)], live: [liveOf(scaled(2))] };
      const found = liveDiff({ ...sides, spec: ignoring(REPLICAS), syncOptions, sameRules: false });
      expect(changedLines(found)).toEqual(["- replicas: 2", "+ replicas: 5"]);
      expect(basisOf(found)).toMatchObject({
        kept: [],
        approximate: [
          { what: UNANSWERED, objects: ["apps/Deployment guestbook/web"] },
          {
            what: "a sync may leave /spec/replicas as it is (RespectIgnoreDifferences), since the definition changes, too",
            objects: ["apps/Deployment guestbook/web"],
          },
        ],
      });
    });

    test("a sync leaves the field alone, also if the change request changes it", () => {
      const live = [liveOf(scaled(7))];
      const found = liveDiff({ base: [scaled(2)], head: [scaled(5)], live, spec: ignoring(REPLICAS), syncOptions });
      expect(found.resources).toEqual([]);
      expect(basisOf(found)).toMatchObject({ kept: kept("/spec/replicas"), alreadyThere: [], drifted: [] });
    });

    test("an object that is not in the cluster is created as it is rendered", () => {
      const found = liveDiff({ base: [], head: [scaled(5)], live: [], spec: ignoring(REPLICAS), syncOptions });
      expect(actions(found)).toEqual(["create apps/Deployment guestbook/web"]);
      expect(basisOf(found).kept).toEqual([]);
    });

    test("of a container it is the one of that name, and the rest of the container changes", () => {
      const pods = (...list: readonly Manifest[]) =>
        object("apps/v1/Deployment", "web", { spec: { template: { spec: { containers: list } } } });
      const pointer = "/spec/template/spec/containers/0/resources/limits/cpu";
      const cpu = (name: string, image: string, limit: string) => ({
        name,
        image,
        resources: { limits: { cpu: limit } },
      });
      const found = liveDiff({
        base: [pods(cpu("web", "a:1", "1"))],
        head: [pods(cpu("first", "b:1", "3"), cpu("web", "a:2", "2"))],
        live: [liveOf(pods(cpu("web", "a:1", "4")))],
        spec: ignoring({ ...REPLICAS, jsonPointers: [pointer] }),
        syncOptions,
      });
      // Argo CD takes the pointer's field out of the first container of what it applies, whichever that is.
      expect(changedLines(found).join()).not.toMatch(/cpu/);
      expect(changedLines(found)).toContain("+ - image: a:2");
      expect(basisOf(found).kept).toEqual(kept(pointer));
    });

    test.each<[string, string]>([
      ["a whole object", ""],
      ["no object at all", "spec"],
      ["an element that the cluster does not have", "/spec/list/9/a"],
      ["something below a value that is no map", "/spec/text/a"],
    ])("a pointer to %s hides nothing", (_, pointer) => {
      const thing = (text: string) => object("example.com/v1/Thing", "a", { spec: { text, list: [{ a: text }] } });
      const found = liveDiff({
        base: [thing("1")],
        head: [thing("2")],
        live: [liveOf(thing("1"))],
        spec: ignoring({ group: "example.com", kind: "Thing", jsonPointers: [pointer] }),
        syncOptions,
      });
      expect(changedLines(found)).toEqual(['- - a: "1"', '- text: "1"', '+ - a: "2"', '+ text: "2"']);
      expect(basisOf(found).kept).toEqual([]);
    });

    test("a list without keys is left alone whole, as Argo CD's patch has it", () => {
      const thing = (list: readonly Json[]) => object("example.com/v1/Thing", "a", { spec: { list } });
      const found = liveDiff({
        base: [thing([{ a: 1, b: 1 }])],
        head: [thing([{ a: 1, b: 2 }])],
        live: [liveOf(thing([{ a: 9, b: 1 }]))],
        spec: ignoring({ group: "example.com", kind: "Thing", jsonPointers: ["/spec/list/0/a"] }),
        syncOptions,
      });
      expect(found.resources).toEqual([]);
      expect(basisOf(found).kept).toEqual([
        { what: "RespectIgnoreDifferences leaves /spec/list as it is", objects: ["example.com/Thing guestbook/a"] },
      ]);
    });

    test.each<[string, Manifest, Manifest]>([
      ["a list that does not have the field in git", { list: [{ b: 1 }] }, { list: [{ b: 2 }] }],
      ["a list that becomes empty", { list: [{ a: 9, b: 1 }] }, { list: [] }],
      ["a map that goes", { map: { a: 9 } }, {}],
    ])("Argo CD 3.5 takes back what it copied: %s", (_, base, head) => {
      const thing = (spec: Manifest) => object("example.com/v1/Thing", "a", { spec });
      const found = liveDiff({
        base: [thing(base)],
        head: [thing(head)],
        live: [liveOf(thing({ ...base, ...("list" in base ? { list: [{ a: 9, b: 1 }] } : {}) }))],
        spec: ignoring({ group: "example.com", kind: "Thing", jsonPointers: ["/spec/list/0/a", "/spec/map/a"] }),
        syncOptions,
      });
      expect(found.updated).toBe(1);
      expect(basisOf(found).kept).toEqual([]);
    });
  });
});

describe("Kubernetes' answer", () => {
  const running = liveOf(deployment({ replicas: 2, paused: true }, {}, { resources: { limits: { cpu: "500m" } } }));
  const cpu = (value: string, spec: Manifest = { replicas: 2 }) =>
    deployment(spec, {}, { resources: { limits: { cpu: value } } });

  test("takes the place of what svc knows, also for drift", () => {
    const after = deployment({ replicas: 2, paused: true }, {}, { resources: { limits: { cpu: "700m" } } });
    const sides = { base: [cpu("0.5")], head: [cpu("0.7")], live: [running] };
    const found = liveDiff({ ...sides, answers: answered(running, after) });
    expect(changedLines(found)).toEqual(["- cpu: 500m", "+ cpu: 700m"]);
    expect(basisOf(found)).toMatchObject({ approximate: [], drifted: [] });
    const idle = object("v1/Pod", "p", { spec: { hostNetwork: false } });
    const bare = liveOf(object("v1/Pod", "p", { spec: {} }));
    const drift = liveDiff({ base: [idle], head: [idle], live: [bare], answers: answered(bare) });
    expect(drift).toMatchObject({ resources: [], basis: { drifted: [], alreadyThere: [] } });
  });

  test("does not keep what the head takes away, and the plan says what is not known then", () => {
    const [base, head] = [cpu("0.5", { replicas: 2, paused: true }), cpu("0.5")];
    const found = liveDiff({ base: [base], head: [head], live: [running], answers: answered(running) });
    expect(changedLines(found)).toEqual(["- paused: true"]);
    expect(basisOf(found).approximate).toEqual([
      {
        what: "Kubernetes may put a default in the place of what is removed",
        objects: ["apps/Deployment guestbook/web"],
      },
    ]);
  });

  test.each<[string, string | undefined, string, boolean]>([
    ["a default that svc has a copy of", "v1.34.3", "replicas", false],
    ["the same in a newer Kubernetes", "1.35", "replicas", true],
    ["the same in one of which nobody tells the version", undefined, "replicas", true],
    ["the same in one whose version cannot be read", "next", "replicas", true],
    ["what svc has no copy of", "v1.30.0", "paused", true],
  ])("%s is called approximate as far as it is", (_, kubernetes, member, approximate) => {
    const before = { replicas: 2, paused: true };
    const after = { replicas: 2, paused: true, [member]: undefined };
    const [base, head] = [deployment(before), deployment(after)];
    const live = [liveOf(base)];
    const found = liveDiff({ base: [base], head: [head], live, answers: answered(liveOf(base)), kubernetes });
    expect(basisOf(found).approximate).toHaveLength(approximate ? 1 : 0);
  });

  test("a label, a key or an element that goes has no default in any version", () => {
    const data = (members: Manifest) => object("v1/ConfigMap", "c", { data: members });
    const [base, head] = [data({ a: "1", b: "2" }), data({ a: "1" })];
    const found = liveDiff({ base: [base], head: [head], live: [liveOf(base)], answers: answered(liveOf(base)) });
    expect(changedLines(found)).toEqual(['- b: "2"']);
    expect(basisOf(found).approximate).toEqual([]);
  });

  test("enableServiceLinks has a default in a Pod alone, so that taking it out of a template is a change", () => {
    const [base, head] = [deployment({}, { enableServiceLinks: true }), deployment({})];
    const found = liveDiff({ base: [base], head: [head], live: [liveOf(base)], answers: answered(liveOf(base)) });
    expect(changedLines(found)).toEqual(["- enableServiceLinks: true"]);
  });

  test("says nothing about an empty member where Argo CD ignores something that a sync writes", () => {
    const [base, head] = [deployment({}), deployment({ paused: false })];
    const bare = liveOf(base);
    const spec = { ignoreDifferences: [{ group: "apps", kind: "Deployment", jsonPointers: ["/spec/paused"] }] };
    const sides = { base: [base], head: [head], live: [bare], answers: answered(bare) };
    expect(changedLines(liveDiff({ ...sides, spec }))).toEqual(["+ paused: false"]);
    expect(changedLines(liveDiff({ ...sides, spec, sameRules: false }))).toEqual(["+ paused: false"]);
    expect(changedLines(liveDiff(sides))).toEqual([]);
  });

  test("missing, the change is shown and said to be approximate", () => {
    const found = liveDiff({ base: [cpu("0.5")], head: [cpu("0.7")], live: [running] });
    expect(changedLines(found)).toEqual(["- cpu: 500m", '+ cpu: "0.7"']);
    expect(basisOf(found).approximate).toEqual([{ what: UNANSWERED, objects: ["apps/Deployment guestbook/web"] }]);
  });
});

describe("what a comparison cannot know is said of the objects that it is about", () => {
  test("an old state of everything", () => {
    expect(basisOf(liveDiff({ base: [], head: [], live: [], stale: "the state is old" })).approximate).toEqual([
      { what: "the state is old", objects: [] },
    ]);
  });

  test.each([
    ["ServerSideApply=true", "server-side apply removes a field only if nobody else owns it"],
    ["Replace=true", "Replace=true also removes what others wrote into it"],
  ])("%s, by object", (option, what) => {
    const own = { annotations: { "argocd.argoproj.io/sync-options": option } };
    const named = (name: string, value: string, metadata: Manifest = {}) =>
      object("v1/ConfigMap", name, { data: { a: value } }, metadata);
    const found = liveDiff({
      base: [named("one", "1", own), named("other", "1")],
      head: [named("one", "2", own), named("other", "2")],
      live: [liveOf(named("one", "1", own)), liveOf(named("other", "1"))],
    });
    expect(doubtsOf(found)).toEqual([{ what, objects: ["ConfigMap guestbook/one"] }]);
  });
});

describe("both views", () => {
  const both = (one: Case) => {
    const found = diffBoth(requestOf(one));
    if (found.basis.kind !== "both") throw new Error("not both");
    return { found, drift: found.basis.drift, basis: found.basis };
  };
  const driftLines = (drift: readonly { readonly diff: string }[]) =>
    drift.flatMap((one) => one.diff.split("\n").filter((line) => /^[-+]/.test(line)));

  test("the change is against the target branch, and drift stands beside it", () => {
    const { found, drift } = both({
      base: [configMap({ a: "1", b: "1" })],
      head: [configMap({ a: "2", b: "1" })],
      live: [liveOf(configMap({ a: "1", b: "by hand" }))],
    });
    expect(changedLines(found)).toEqual(['- a: "1"', '+ a: "2"']);
    expect(driftLines(drift)).toEqual(["-  b: by hand", '+  b: "1"']);
    expect(found).toMatchObject({ created: 0, updated: 1, deleted: 0 });
  });

  test("what is missing, what is left over, and what the head deletes anyway", () => {
    const named = (name: string, a = "1") => object("v1/ConfigMap", name, { data: { a } });
    const { found, drift, basis } = both({
      base: [named("lost"), named("deleted"), named("gone")],
      head: [named("lost"), named("there"), named("new")],
      live: [liveOf(named("deleted", "by hand")), liveOf(named("left-over")), liveOf(named("there", "by hand"))],
    });
    expect(actions(found)).toEqual([
      "create ConfigMap guestbook/new",
      "create ConfigMap guestbook/there",
      "delete ConfigMap guestbook/deleted",
      "delete ConfigMap guestbook/gone",
    ]);
    expect(drift.map(({ action, title }) => `${action} ${title}`).sort()).toEqual([
      "create ConfigMap guestbook/lost",
      "delete ConfigMap guestbook/left-over",
      "update ConfigMap guestbook/there",
    ]);
    expect(basis.alreadyThere).toEqual(["ConfigMap guestbook/gone"]);
  });

  test("what a sync loses through drift alone is called out", () => {
    const claim = object("v1/PersistentVolumeClaim", "data");
    const { found } = both({ base: [], head: [], live: [liveOf(claim)] });
    expect(found.resources).toEqual([]);
    expect(found.dangers).toEqual([expect.objectContaining({ what: "deletes PersistentVolumeClaim guestbook/data" })]);
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
      some.map(({ name, content: spec }) => object("example.com/v1/Thing", name, { spec: { constant: 1, ...spec } })),
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

  test("the change and the drift are together what a sync does", () => {
    fc.assert(
      fc.property(manifests, manifests, manifests, (base, head, running) => {
        const request = requestOf({ base, head, live: inCluster(running) });
        const found = diffBoth(request);
        const drift = found.basis.kind === "both" ? found.basis.drift : [];
        const synced = diffLive(request).resources.map(({ title }) => title);
        const told = [...found.resources, ...drift].map(({ title }) => title);
        for (const title of synced) expect(told).toContain(title);
        for (const { title } of drift) expect(synced).toContain(title);
        expect(found.resources).toEqual(diff(base, head).resources);
      }),
    );
  });
});

test("a rule for a namespace is about no object without one, whatever the namespace of its application", () => {
  const thing = (x: number) => object("example.com/v1/Thing", "t", { spec: { x } });
  const spec = { ignoreDifferences: [{ group: "*", kind: "*", namespace: "guestbook", jsonPointers: ["/spec/x"] }] };
  const live = liveOf(thing(1), { namespace: "", live: thing(1), whole: thing(1) });
  const one = {
    base: [thing(1)],
    head: [thing(2)],
    live: [live],
    spec,
    syncOptions: ["RespectIgnoreDifferences=true"],
  };
  expect(changedLines(liveDiff(one))).toEqual(["- x: 1", "+ x: 2"]);
  const identity = identify(thing(1), "guestbook");
  const sides = kept([[keyOf(identity), { identity, base: thing(1), head: thing(2), hook: false }] as const], 0);
  const { ignored } = requestOf(one);
  const answers = { [keyOf(identity)]: Object.values(answered(live, thing(2)))[0] } as ObjectAnswers;
  const [mark] = markTask.run({ sides, answers, ignored, syncOptions: one.syncOptions }) as Marks;
  expect(mark?.after).toMatchObject({ left: false });
});
