import { describe, expect, test } from "@jest/globals";
import { threeWayMerge } from "../../../src/core/diff/live/three-way-merge.js";
import type { Json, JsonObject } from "../../../src/core/model/json.js";

const THING = { group: "example.com", kind: "Thing", namespace: "a", name: "b", generateName: "" };
const SERVICE = { ...THING, group: "", kind: "Service" };
const DEPLOYMENT = { ...THING, group: "apps", kind: "Deployment" };

describe("members", () => {
  test.each<[string, JsonObject, JsonObject, JsonObject, JsonObject]>([
    ["set", { a: 1 }, { a: 2 }, { a: 1 }, { a: 2 }],
    ["taken away with what is below", { a: { b: 1 } }, {}, { a: { b: 1, defaulted: 2 } }, {}],
    [
      "taken away deep down",
      { a: { b: 1, c: 1 } },
      { a: { b: 1 } },
      { a: { b: 1, c: 1, d: 1 } },
      { a: { b: 1, d: 1 } },
    ],
    ["kept when nobody of us wrote them", {}, {}, { a: 1 }, { a: 1 }],
    ["of another type", { a: { b: 1 } }, { a: "x" }, { a: { b: 1 } }, { a: "x" }],
    ["empty and not stored", { a: {}, b: false, c: [], d: 0, e: "" }, { a: {}, b: false, c: [], d: 0, e: "" }, {}, {}],
    ["empty and new", {}, { a: {} }, {}, { a: {} }],
    ["empty and other than before", { a: true }, { a: false }, {}, { a: false }],
    [
      "with names that every object has",
      {},
      {},
      { constructor: "x", toString: "y" },
      { constructor: "x", toString: "y" },
    ],
    ["with such a name in the head only", {}, { constructor: "x" }, {}, { constructor: "x" }],
  ])("%s", (_, base, head, live, merged) => {
    expect(threeWayMerge(THING, [base], head, live)).toEqual(merged);
  });
});

describe("what Kubernetes puts in the place of what the head no longer has", () => {
  const pod = (container: JsonObject, more: JsonObject = {}) => ({
    spec: { template: { spec: { containers: [{ name: "a", image: "a:1", ...container }], ...more } } },
  });
  test.each<[string, { group: string; kind: string }, JsonObject, JsonObject, JsonObject]>([
    ["the default of a number", DEPLOYMENT, { spec: { replicas: 3 } }, { spec: {} }, { spec: { replicas: 1 } }],
    [
      "the default of a map",
      DEPLOYMENT,
      { spec: { strategy: { type: "Recreate" } } },
      { spec: {} },
      { spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } } } },
    ],
    [
      "what the image says",
      DEPLOYMENT,
      pod({ imagePullPolicy: "Never" }),
      pod({ image: "a" }),
      pod({ image: "a", imagePullPolicy: "Always" }),
    ],
    [
      "what the port says",
      SERVICE,
      { spec: { ports: [{ port: 80, targetPort: 8080 }] } },
      { spec: { ports: [{ port: 80 }] } },
      { spec: { ports: [{ port: 80, targetPort: 80 }] } },
    ],
    [
      "a probe's",
      DEPLOYMENT,
      pod({ readinessProbe: { timeoutSeconds: 5 } }),
      pod({ readinessProbe: {} }),
      pod({ readinessProbe: { timeoutSeconds: 1 } }),
    ],
    ["nothing, of a kind that is not Kubernetes' own", THING, { spec: { replicas: 3 } }, { spec: {} }, { spec: {} }],
  ])("%s", (_, type, running, head, merged) => {
    expect(threeWayMerge({ ...THING, ...type }, [running], head, running)).toEqual(merged);
  });

  test("a default that is already there stays", () => {
    const live = pod({ imagePullPolicy: "IfNotPresent", resources: {} }, { dnsPolicy: "ClusterFirst" });
    const base = pod({ imagePullPolicy: "IfNotPresent" }, { dnsPolicy: "ClusterFirst" });
    expect(threeWayMerge(DEPLOYMENT, [base], pod({}), live)).toEqual(live);
  });

  test("nothing of what is empty and never stored, and pointers to it are stored", () => {
    const head = pod(
      { env: [], readinessProbe: { initialDelaySeconds: 0 }, tty: false, securityContext: { runAsNonRoot: false } },
      { hostNetwork: false },
    );
    const live = pod({ readinessProbe: {}, securityContext: {} });
    expect(threeWayMerge(DEPLOYMENT, [pod({})], head, live)).toEqual(
      pod({ readinessProbe: {}, securityContext: { runAsNonRoot: false } }),
    );
  });

  test("another strategy, or another source of a volume, takes away what the old one had", () => {
    const live = {
      spec: {
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } },
        template: { spec: { volumes: [{ name: "v", emptyDir: {} }] } },
      },
    };
    const head = {
      spec: {
        strategy: { type: "Recreate" },
        template: { spec: { volumes: [{ name: "v", configMap: { name: "c" } }] } },
      },
    };
    expect(threeWayMerge(DEPLOYMENT, [{}], head, live)).toEqual(head);
  });
});

describe("other spellings of a quantity", () => {
  const HPA = { ...THING, group: "autoscaling", kind: "HorizontalPodAutoscaler" };
  const metric = (averageValue: Json) => ({ spec: { metrics: [{ pods: { target: { averageValue } } }] } });
  const limits = (value: Json) => ({
    spec: { template: { spec: { resources: { limits: { "example.com/gpu": value } } } } },
  });
  test.each<[string, { group: string; kind: string }, JsonObject, JsonObject]>([
    ["of a metric", HPA, metric("1.5"), metric("1500m")],
    ["of a resource with dots in its name", DEPLOYMENT, limits("1e0"), limits("1")],
    [
      "of a limit range",
      { group: "", kind: "LimitRange" },
      { spec: { limits: [{ max: { memory: "1Gi" } }] } },
      { spec: { limits: [{ max: { memory: "1024Mi" } }] } },
    ],
  ])("%s", (_, type, head, live) => {
    expect(threeWayMerge({ ...THING, ...type }, [], head, live)).toEqual(live);
  });
});

describe("lists by position", () => {
  test.each<[string, readonly Json[], readonly Json[], readonly Json[], readonly Json[]]>([
    ["the elements are the head's", [1, 2], [2, 3], [1, 2], [2, 3]],
    ["defaults stay with their element", [{ a: 1 }], [{ a: 2 }], [{ a: 1, z: 0 }], [{ a: 2, z: 0 }]],
    [
      "defaults move with an element",
      [{ a: 1 }, { a: 2 }],
      [{ a: 9 }, { a: 1 }, { a: 2 }],
      [
        { a: 1, z: 1 },
        { a: 2, z: 2 },
      ],
      [{ a: 9 }, { a: 1, z: 1 }, { a: 2, z: 2 }],
    ],
    [
      "an element goes",
      [{ a: 1 }, { a: 2 }],
      [{ a: 2 }],
      [
        { a: 1, z: 1 },
        { a: 2, z: 2 },
      ],
      [{ a: 2, z: 2 }],
    ],
  ])("%s", (_, base, head, live, merged) => {
    expect(threeWayMerge(THING, [{ l: base }], { l: head }, { l: live })).toEqual({ l: merged });
  });
});

describe("lists by key", () => {
  const ports = (...list: readonly Json[]) => ({ spec: { ports: list } });
  test.each<[string, JsonObject, JsonObject, JsonObject, JsonObject]>([
    [
      "the live order stays while the head has no other",
      ports({ port: 1 }, { port: 2 }),
      ports({ port: 1 }, { port: 2, name: "x" }),
      ports({ port: 9 }, { port: 1, nodePort: 11 }, { port: 2 }),
      ports({ port: 9 }, { port: 1, nodePort: 11 }, { port: 2, name: "x" }),
    ],
    [
      "the head's order when it differs, others behind",
      ports({ port: 1 }, { port: 2 }),
      ports({ port: 2 }, { port: 1 }),
      ports({ port: 9 }, { port: 1 }, { port: 2 }),
      ports({ port: 2 }, { port: 1 }, { port: 9 }),
    ],
    [
      "a new one comes behind its neighbour",
      ports({ port: 1 }, { port: 2 }),
      ports({ port: 0 }, { port: 1 }, { port: 3 }, { port: 2 }),
      ports({ port: 1, nodePort: 1 }, { port: 2 }),
      ports({ port: 0 }, { port: 1, nodePort: 1 }, { port: 3 }, { port: 2 }),
    ],
    [
      "the same number with another protocol is another port",
      ports({ port: 1 }),
      ports({ port: 1, protocol: "UDP" }),
      ports({ port: 1, protocol: "TCP", nodePort: 1 }),
      ports({ port: 1, protocol: "UDP" }),
    ],
    [
      "keys that are not unique fall back to positions",
      ports({ port: 1 }, { port: 1 }),
      ports({ port: 1 }, { port: 1 }),
      ports({ port: 1, z: 1 }, { port: 1, z: 2 }),
      ports({ port: 1, z: 1 }, { port: 1, z: 2 }),
    ],
  ])("%s", (_, base, head, live, merged) => {
    expect(threeWayMerge(SERVICE, [base], head, live)).toEqual(merged);
  });

  test("what any of the earlier ones had and the head has not goes", () => {
    const containers = (...names: readonly string[]) => ({
      spec: { template: { spec: { containers: names.map((name) => ({ name })) } } },
    });
    const merged = threeWayMerge(
      DEPLOYMENT,
      [containers("a", "base"), undefined, containers("a", "applied")],
      containers("a"),
      containers("base", "a", "applied", "injected"),
    );
    expect(merged).toEqual(containers("a", "injected"));
  });
});

test("long lists take no long time", () => {
  const list = (text: string) => Array.from({ length: 20_000 }, (_, at) => ({ cidr: `${text}${at}` }));
  const started = process.cpuUsage();
  const merged = threeWayMerge(THING, [{ l: list("a") }], { l: list("b") }, { l: list("a") });
  expect(merged).toEqual({ l: list("b") });
  expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
});
