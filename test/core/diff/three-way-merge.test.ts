import { describe, expect, test } from "@jest/globals";
import { type Answered, threeWayMerge } from "../../../src/core/diff/live/three-way-merge.js";
import type { Json, JsonObject } from "../../../src/core/model/json.js";

const THING = { group: "example.com", kind: "Thing", namespace: "a", name: "b", generateName: "" };
const SERVICE = { ...THING, group: "", kind: "Service" };
const DEPLOYMENT = { ...THING, group: "apps", kind: "Deployment" };

type Identity = typeof THING;

const EMPTY = { a: {}, b: false, c: [], d: 0, e: "" };
function merge(
  identity: Identity,
  previous: readonly (JsonObject | undefined)[],
  head: JsonObject,
  live: JsonObject,
  answer?: Answered,
): JsonObject {
  return threeWayMerge(identity, { previous, head, live, answer });
}

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
    ["empty and gone from a custom kind, which stores them", EMPTY, EMPTY, {}, EMPTY],
    ["empty and new", {}, { a: {} }, {}, { a: {} }],
    ["empty and other than before", { a: true }, { a: false }, {}, { a: false }],
    ["null, which takes away what others wrote", {}, { a: null }, { a: 1, b: 2 }, { b: 2 }],
    ["null as before, which does so only once", { a: null }, { a: null }, { a: 1 }, { a: 1 }],
    ["null where nothing is", {}, { a: null }, {}, {}],
    ["null before, and gone", { a: null }, {}, { a: 1 }, {}],
    [
      "with names that every object has",
      {},
      {},
      { constructor: "x", toString: "y" },
      { constructor: "x", toString: "y" },
    ],
    ["with such a name in the head only", {}, { constructor: "x" }, {}, { constructor: "x" }],
  ])("%s", (_, base, head, live, merged) => {
    expect(merge(THING, [base], head, live)).toEqual(merged);
  });

  test("empty and not stored by a kind of Kubernetes", () => {
    expect(merge(DEPLOYMENT, [EMPTY], EMPTY, {})).toEqual({});
  });
});

const pod = (container: JsonObject, more: JsonObject = {}) => ({
  spec: { template: { spec: { containers: [{ name: "a", image: "a:1", ...container }], ...more } } },
});

describe("what Kubernetes answered", () => {
  const cpu = (value: string) => pod({ resources: { limits: { cpu: value } } });
  const ingress = (...ports: readonly Json[]) => ({ spec: { ingress: [{ ports }] } });
  const webhooks = (...list: readonly Json[]) => ({ spec: { webhooks: list } });
  /** Applied before, the head, the cluster, and what the answer makes of that; the last is expected. */
  test.each<[string, Identity, JsonObject, JsonObject, JsonObject, JsonObject, JsonObject]>([
    ["another spelling stays", DEPLOYMENT, cpu("500m"), cpu("0.5"), cpu("500m"), cpu("500m"), cpu("500m")],
    ["another value is spelled as there", DEPLOYMENT, cpu("500m"), cpu("0.7"), cpu("500m"), cpu("700m"), cpu("700m")],
    ["an empty map is not stored", THING, { a: 1 }, { a: 1, b: {} }, { a: 1 }, { a: 1 }, { a: 1 }],
    [
      "an empty map that is stored is new",
      THING,
      { a: 1 },
      { a: 1, b: {} },
      { a: 1 },
      { a: 1, b: {} },
      { a: 1, b: {} },
    ],
    ["a value that is not empty and not answered is written", THING, {}, { b: 1 }, {}, {}, { b: 1 }],
    [
      "a default that follows from the change",
      THING,
      { a: 1 },
      { a: 2 },
      { a: 1, c: 1 },
      { a: 2, c: 2 },
      { a: 2, c: 2 },
    ],
    ["a default that goes with the change", THING, { a: 1 }, { a: 2 }, { a: 1, c: 1 }, { a: 2 }, { a: 2 }],
    [
      "a removed member goes although the answer keeps it",
      THING,
      { a: 1, b: 1 },
      { a: 1 },
      { a: 1, b: 1 },
      { a: 1, b: 1 },
      { a: 1 },
    ],
    [
      "a removed element goes, too",
      DEPLOYMENT,
      pod({ env: [{ name: "A" }, { name: "B" }] }),
      pod({ env: [{ name: "A" }] }),
      pod({ env: [{ name: "A" }, { name: "B" }, { name: "injected" }] }),
      pod({ env: [{ name: "A" }, { name: "B" }, { name: "injected" }] }),
      pod({ env: [{ name: "A" }, { name: "injected" }] }),
    ],
    [
      "defaults of the elements of a list without keys",
      THING,
      ingress({ port: 80 }),
      ingress({ port: 81 }, { port: 80 }),
      ingress({ port: 80, protocol: "TCP" }),
      ingress({ port: 81, protocol: "TCP" }, { port: 80, protocol: "TCP" }),
      ingress({ port: 81, protocol: "TCP" }, { port: 80, protocol: "TCP" }),
    ],
    [
      "another order, which the answer may not have, with keys",
      DEPLOYMENT,
      pod({ env: [{ name: "A" }, { name: "B" }] }),
      pod({ env: [{ name: "B" }, { name: "A" }] }),
      pod({ env: [{ name: "A" }, { name: "B" }] }),
      pod({ env: [{ name: "A" }, { name: "B" }] }),
      pod({ env: [{ name: "B" }, { name: "A" }] }),
    ],
    [
      "and without",
      THING,
      webhooks({ id: "a" }, { id: "b" }),
      webhooks({ id: "b" }, { id: "a" }),
      webhooks({ id: "a", z: 1 }, { id: "b", z: 2 }),
      webhooks({ id: "a", z: 1 }, { id: "b", z: 2 }),
      webhooks({ id: "b", z: 2 }, { id: "a", z: 1 }),
    ],
    [
      "an element that goes from a list whose keys are not known",
      THING,
      webhooks({ id: "a" }, { id: "b" }),
      webhooks({ id: "a" }),
      webhooks({ id: "a" }, { id: "b" }),
      webhooks({ id: "a" }, { id: "b" }),
      webhooks({ id: "a" }),
    ],
    [
      "a member that goes from an element of such a list, wherever that was",
      THING,
      webhooks({ id: "a" }, { id: "b", x: 1 }),
      webhooks({ id: "b" }, { id: "c" }),
      webhooks({ id: "a" }, { id: "b", x: 1 }),
      webhooks({ id: "b", x: 1 }, { id: "c" }),
      webhooks({ id: "b" }, { id: "c" }),
    ],
  ])("%s", (_, identity, previous, head, live, after, merged) => {
    expect(merge(identity, [previous], head, live, { before: live, after, whole: live })).toEqual(merged);
  });

  /** The head, the cluster, and the paths that Argo CD ignores, which neither state of the answer has. */
  test.each<[string, JsonObject, JsonObject, JsonObject, JsonObject]>([
    ["what is ignored and written is written", { a: 1, b: 3 }, { a: 1, b: 2 }, { a: 1 }, { a: 1, b: 3 }],
    ["also if it is written as zero", { a: 1, b: 0 }, { a: 1, b: 2 }, { a: 1 }, { a: 1, b: 0 }],
    ["and what only the cluster has stays", { a: 1 }, { a: 1, b: 2 }, { a: 1 }, { a: 1, b: 2 }],
    [
      "in elements without keys, too",
      { l: [{ a: 1, b: 3 }] },
      { l: [{ a: 1, b: 2 }] },
      { l: [{ a: 1 }] },
      { l: [{ a: 1, b: 3 }] },
    ],
    ["an ignored element of a list", { l: [1, 3] }, { l: [1, 2] }, { l: [1] }, { l: [1, 3] }],
    ["in what is new", { n: { a: 1, b: 3 } }, {}, { n: { a: 1 } }, { n: { a: 1, b: 3 } }],
  ])("%s", (_, head, whole, after, merged) => {
    expect(merge(THING, [], head, whole, { before: after.n === undefined ? after : {}, after, whole })).toEqual(merged);
  });

  test("a zero that the normalised live object lacks alone is a change", () => {
    const answer = { before: { a: 1 }, after: { a: 1 }, whole: { a: 1, b: 2 } };
    expect(merge(THING, [{ a: 1, b: 2 }], { a: 1, b: 0 }, { a: 1 }, answer)).toEqual({ a: 1, b: 0 });
  });
});

describe("what is removed", () => {
  const rolling = { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } };
  test.each<[string, Identity, JsonObject, JsonObject, JsonObject]>([
    ["gets its default", DEPLOYMENT, { spec: { replicas: 3 } }, { spec: {} }, { spec: { replicas: 1 } }],
    [
      "gets that of a map",
      DEPLOYMENT,
      { spec: { strategy: { type: "Recreate" } } },
      { spec: {} },
      { spec: { strategy: rolling } },
    ],
    [
      "gets a probe's",
      DEPLOYMENT,
      pod({ readinessProbe: { timeoutSeconds: 5 } }),
      pod({ readinessProbe: {} }),
      pod({ readinessProbe: { timeoutSeconds: 1 } }),
    ],
    ["goes, of a kind that is not Kubernetes' own", THING, { spec: { replicas: 3 } }, { spec: {} }, { spec: {} }],
  ])("%s", (_, identity, running, head, merged) => {
    expect(merge(identity, [running], head, running)).toEqual(merged);
    const answer = { before: running, after: running, whole: running };
    expect(merge(identity, [running], head, running, answer)).toEqual(merged);
  });

  test("is taken along by another strategy, or another source of a volume", () => {
    const volumes = (volume: JsonObject) => pod({}, { volumes: [{ name: "v", ...volume }] });
    const [live, head] = [volumes({ emptyDir: {} }), volumes({ configMap: { name: "c" } })];
    expect(merge(DEPLOYMENT, [{}], head, live)).toEqual(head);
    const strategy = { spec: { strategy: { type: "Recreate" } } };
    expect(merge(DEPLOYMENT, [{}], strategy, { spec: { strategy: rolling } })).toEqual(strategy);
  });
});

describe("without an answer", () => {
  test("an empty member that is new is shown", () => {
    const spec = (value: JsonObject) => ({ spec: value });
    expect(merge(DEPLOYMENT, [spec({})], spec({ paused: false }), spec({}))).toEqual(spec({ paused: false }));
  });

  test.each<[string, string, string, boolean]>([
    ["a container's", "apps", "0.5", true],
    ["another value", "apps", "0.6", false],
    ["of a kind that is not Kubernetes' own", "example.com", "0.5", false],
  ])("an amount in another spelling: %s", (_, group, written, same) => {
    const limits = (cpu: string) => ({ spec: { resources: { limits: { "example.com/cpu": cpu } } } });
    const [head, live] = [limits(written), limits("500m")];
    expect(merge({ ...THING, group }, [], head, live)).toEqual(same ? live : head);
  });

  test("a member that any earlier list had is taken away from a changed element", () => {
    const [base, live] = [{ l: [{ a: 1, x: 1 }] }, { l: [{ a: 1, x: 1 }, { c: 1 }] }];
    expect(merge(THING, [base], { l: [{ a: 1 }, { c: 1 }] }, live)).toEqual({ l: [{ a: 1 }, { c: 1 }] });
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
    [
      "a list that has the head's elements already keeps its order",
      [{}, [], "x"],
      [[], {}, {}],
      [[], { z: 1 }, { z: 2 }],
      [[], { z: 1 }, { z: 2 }],
    ],
    [
      "an element of another length's list is not the live one's render",
      [{ a: 1 }, {}, {}],
      [{}, {}],
      [{ a: 1 }, {}],
      [{}, {}],
    ],
  ])("%s", (_, base, head, live, merged) => {
    expect(merge(THING, [{ l: base }], { l: head }, { l: live })).toEqual({ l: merged });
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
      "new ones come last",
      ports({ port: 1 }, { port: 2 }),
      ports({ port: 0 }, { port: 1 }, { port: 2 }),
      ports({ port: 1, nodePort: 1 }, { port: 2 }),
      ports({ port: 1, nodePort: 1 }, { port: 2 }, { port: 0 }),
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
    expect(merge(SERVICE, [base], head, live)).toEqual(merged);
  });

  test("what any of the earlier ones had and the head has not goes", () => {
    const containers = (...names: readonly string[]) => ({
      spec: { template: { spec: { containers: names.map((name) => ({ name })) } } },
    });
    const merged = merge(
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
  const merged = merge(THING, [{ l: list("a") }], { l: list("b") }, { l: list("a") });
  expect(merged).toEqual({ l: list("b") });
  expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
});
