import { describe, expect, test } from "@jest/globals";
import { readQuery, writeResponse, type ServerSideDiffQuery } from "../../../sandbox/argocd/grpc/messages.js";
import type { TrialObject } from "../../../src/core/ports/deployer.js";
import { argocd, neverAsked, settings, withArgoCd } from "./scripted-argocd.js";
import { CHANGE, live, TOKEN, underTest } from "./under-test.js";

withArgoCd();

const CALL = "/application.ApplicationService/ServerSideDiff";
const MANAGED = "/api/v1/applications/plain/managed-resources";
const GRPC_WEB = { "content-type": "application/grpc-web+proto" };
const { signal } = new AbortController();

function object(name: string, changes: Partial<TrialObject> = {}): TrialObject {
  const manifest = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "guestbook" },
    data: { a: "2" },
  };
  return { group: "", kind: "ConfigMap", namespace: "guestbook", name, manifest, ...changes };
}
const liveState = (name: string) =>
  JSON.stringify({ metadata: { name, managedFields: [{ manager: "x" }] }, data: { a: "1" } });

function version(text = "v3.5.1+abc") {
  return argocd.get("/api/version").reply(200, { Version: text });
}
function managed(...names: readonly string[]) {
  const items = names.map((name) => ({ kind: "ConfigMap", namespace: "guestbook", name, liveState: liveState(name) }));
  return argocd.get(MANAGED).query({ project: "default" }).reply(200, { items });
}

function frame(flag: number, content: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag);
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}
const ANOTHER_PROGRAM =
  /^Argo CD at http:\S+ gave an unreadable answer to a gRPC-Web call: check argocd.server_url and the proxy in front of it$/;
const TRAILERS = frame(0x80, Buffer.from("grpc-status: 0\r\n"));
const accepting = ({ liveResources }: ServerSideDiffQuery) =>
  Buffer.concat([frame(0, writeResponse({ items: liveResources, modified: false })), TRAILERS]);

/** Answers questions by what `refuse` says of the names in them: an error text, or undefined. Returns what was asked. */
function kubernetes(refuse: (names: readonly string[]) => string | undefined, code = 2): ServerSideDiffQuery[] {
  const asked: ServerSideDiffQuery[] = [];
  argocd
    .post(CALL)
    .persist()
    .replyWith(({ headers, body }) => {
      expect(headers).toMatchObject({ ...GRPC_WEB, token: TOKEN });
      const query = readQuery(body.subarray(5));
      asked.push(query);
      const error = refuse(query.liveResources.map(({ name }) => name));
      if (error === undefined) return [200, accepting(query), GRPC_WEB];
      return [200, "", { ...GRPC_WEB, "grpc-status": String(code), "grpc-message": error.replaceAll("ü", "%C3%BC") }];
    });
  return asked;
}

function refusal(name: string, text: string): string {
  return `error performing state diffs: error running server side apply in dryrun mode for resource ConfigMap/${name}: ${text}`;
}

function ask(deployer: ReturnType<typeof underTest>["deployer"], objects: readonly TrialObject[]) {
  return deployer.tryObjects({ application: live(), objects, change: CHANGE }, signal);
}

test("live objects are sent as they came, targets in their namespace, all in one call", async () => {
  version();
  managed("a", "other");
  const asked = kubernetes(() => undefined);
  const bare = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
  expect(await ask(underTest().deployer, [object("a", { manifest: bare }), object("new")])).toEqual([
    { kind: "accepted" },
    { kind: "accepted" },
  ]);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({
    appName: "plain",
    appNamespace: "",
    project: "default",
    liveResources: [
      { kind: "ConfigMap", namespace: "guestbook", name: "a", liveState: liveState("a") },
      { kind: "ConfigMap", namespace: "guestbook", name: "new", liveState: "" },
    ],
  });
  expect(asked[0]?.targetManifests.map((text): unknown => JSON.parse(text))).toEqual([
    { ...bare, metadata: { name: "a", namespace: "guestbook" } },
    object("new").manifest,
  ]);
});

test("Kubernetes is asked about an integer of 64 bits as it is, and so is its answer read", async () => {
  version();
  managed("a");
  const id = "9007199254740993";
  const states = { liveState: `{"data":{"id":1}}`, targetState: `{"data":{"id":${id}}}` };
  const item = { kind: "ConfigMap", namespace: "guestbook", name: "a", group: "", modified: true, ...states };
  const targets: string[] = [];
  argocd.post(CALL).replyWith(({ body }) => {
    targets.push(...readQuery(body.subarray(5)).targetManifests);
    return [200, Buffer.concat([frame(0, writeResponse({ items: [item], modified: true })), TRAILERS]), GRPC_WEB];
  });
  const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { id: `${id} (a number)` } };
  const [trial] = await ask(underTest().deployer, [object("a", { manifest })]);
  expect(targets).toEqual([expect.stringContaining(`"data":{"id":${id}}`)]);
  expect(trial).toMatchObject({ answer: { after: `{"data":{"id":"${id} (a number)"}}` } });
});

test.each<[string, string, string, unknown]>([
  [
    "both states",
    '{"data":{"a":"1"}}',
    '{"data":{"a":"2"}}',
    { before: '{"data":{"a":"1"}}', after: '{"data":{"a":"2"}}' },
  ],
  ["no state after it", '{"data":{}}', "null", undefined],
  ["a state that is no JSON", "{", "{}", undefined],
  ["a state that is no object", "[]", "{}", undefined],
  ["no states", "", "", undefined],
])("what becomes of a live object is told as answered, of what is no object nothing: %s", async (...row) => {
  const [, before, after, expected] = row;
  version();
  managed("a");
  const item = { kind: "ConfigMap", namespace: "guestbook", name: "a", liveState: before, targetState: after };
  const items = [{ ...item, group: "", modified: false }];
  const message = writeResponse({ items, modified: false });
  argocd.post(CALL).reply(200, Buffer.concat([frame(0, message), TRAILERS]), GRPC_WEB);
  const whole = { whole: liveState("a"), lastApplied: undefined };
  const answer = expected === undefined ? undefined : { ...(expected as object), ...whole };
  expect(await ask(underTest().deployer, [object("a")])).toEqual([{ kind: "accepted", answer }]);
});

test("the live objects that a plan has just been compared with are not read again, and those of another plan are", async () => {
  const { deployer } = underTest();
  const application = live();
  version();
  settings();
  argocd.get("/api/v1/applications/plain").query({ project: "default", refresh: "normal" }).reply(200, {});
  argocd.get("/api/v1/clusters").reply(200, { items: [] });
  managed("a");
  const asked = kubernetes(() => undefined);
  const { resources } = await deployer.liveResources(application);
  expect(resources).toHaveLength(1);
  const order = { objects: [object("a")], change: CHANGE };
  expect(await deployer.tryObjects({ ...order, application }, signal)).toEqual([{ kind: "accepted" }]);
  expect(asked[0]?.liveResources).toMatchObject([{ name: "a", liveState: liveState("a") }]);
  managed("b");
  await deployer.tryObjects({ ...order, application }, signal);
  expect(asked[1]?.liveResources).toMatchObject([{ name: "a", liveState: "" }]);
});

test("where one is refused the halves are asked about, until it is found", async () => {
  version();
  const names = Array.from({ length: 20 }, (_, at) => `m${at}`);
  managed(...names);
  const asked = kubernetes((some) =>
    some.includes("m7")
      ? refusal("m7", 'ConfigMap "m7" is invalid: data: Forbidden: fü field is immutable')
      : undefined,
  );
  const trials = await ask(
    underTest().deployer,
    names.map((name) => object(name)),
  );
  expect(trials.filter(({ kind }) => kind === "accepted")).toHaveLength(19);
  expect(trials[7]).toEqual({
    kind: "refused",
    cause: "immutable",
    message: "data: Forbidden: fü field is immutable",
    created: false,
    lastApplied: undefined,
  });
  expect(asked.length).toBeLessThanOrEqual(11);
});

test("many refusals have an end", async () => {
  version();
  const names = Array.from({ length: 100 }, (_, at) => `m${at}`);
  managed(...names);
  const asked = kubernetes((some) => refusal(some[0] ?? "", `ConfigMap "${some[0] ?? ""}" is invalid: data: no`));
  const trials = await ask(
    underTest().deployer,
    names.map((name) => object(name)),
  );
  expect(asked).toHaveLength(60);
  expect(trials.at(-1)).toEqual({
    kind: "untried",
    reason: "too many changed objects, or too many that Kubernetes refuses",
  });
});

test("large objects go in several calls, and those that fit into no cluster in none", async () => {
  version();
  managed();
  const asked = kubernetes(() => undefined);
  const filled = (name: string, size: number) =>
    object(name, {
      manifest: { kind: "ConfigMap", metadata: { name, namespace: "guestbook" }, data: { a: "x".repeat(size) } },
    });
  const trials = await ask(underTest().deployer, [filled("a", 200_000), filled("b", 200_000), filled("c", 3_000_000)]);
  expect(trials.map(({ kind }) => kind)).toEqual(["accepted", "accepted", "untried"]);
  expect(asked.map(({ liveResources }) => liveResources.map(({ name }) => name))).toEqual([["a"], ["b"]]);
});

test("nobody sounds out a cluster: new objects are tried where the application has some, and nowhere else", async () => {
  version();
  managed("a");
  const elsewhere = object("x", {
    namespace: "kube-system",
    manifest: { kind: "ConfigMap", metadata: { name: "x", namespace: "kube-system" } },
  });
  const wide = object("x", {
    kind: "ClusterRole",
    namespace: "",
    manifest: { kind: "ClusterRole", metadata: { name: "x" } },
  });
  const unknown = object("x", { kind: "Shop", manifest: { kind: "Shop", metadata: { name: "x" } } });
  const trials = await ask(underTest().deployer, [elsewhere, wide, unknown]);
  expect(trials).toEqual([
    { kind: "untried", reason: "new, in a namespace where the application has nothing yet" },
    { kind: "untried", reason: "new and cluster-wide" },
    { kind: "untried", reason: "new, and whether it belongs in a namespace is not known" },
  ]);
});

test.each([{}, { namespace: "shops" }])(
  "a cluster-scoped object of a custom kind is found by its live one: %j",
  async (at) => {
    version();
    const text = JSON.stringify({ kind: "Shop", metadata: { name: "x" } });
    argocd
      .get(MANAGED)
      .query(true)
      .reply(200, { items: [{ group: "e.com", kind: "Shop", name: "x", liveState: text }] });
    const asked = kubernetes(() => undefined);
    const manifest = { kind: "Shop", metadata: { name: "x", ...at } };
    const shop = object("x", { group: "e.com", kind: "Shop", manifest, ...at });
    expect(await ask(underTest().deployer, [shop])).toEqual([{ kind: "accepted" }]);
    expect(asked[0]?.targetManifests).toEqual(['{"kind":"Shop","metadata":{"name":"x"}}']);
  },
);

describe("what cannot be asked is said to be untried", () => {
  test.each([
    ["v3.1.9", "Argo CD 3.1 cannot try objects in the cluster; 3.2 or newer can"],
    ["v2.13.9+x", "Argo CD 2.13 cannot try objects in the cluster; 3.2 or newer can"],
    ["latest", "the version of Argo CD is not known"],
  ])("Argo CD %s", async (text, reason) => {
    version(text);
    expect(await ask(underTest().deployer, [object("a")])).toEqual([{ kind: "untried", reason }]);
  });

  test.each<[string, number, string, string]>([
    ["a method that Argo CD lacks", 12, "unknown method", "this Argo CD cannot try objects in the cluster"],
    ["a token without the right", 7, "permission denied", "permission denied: applications, get"],
    [
      "a cluster that is away",
      2,
      refusal("a", "Patch: dial tcp 10.0.0.1:443: i/o timeout"),
      "Argo CD cannot reach the cluster: Patch: dial tcp 10.0.0.1:443: i/o timeout",
    ],
    [
      "a cluster that is slow",
      4,
      "context deadline exceeded",
      "Argo CD did not finish in time: context deadline exceeded",
    ],
  ])("%s: one call, and none for the others", async (_, code, text, reason) => {
    version();
    managed("a", "b");
    const asked = kubernetes(() => text, code);
    const { deployer, lines } = underTest();
    expect(await ask(deployer, [object("a"), object("b")])).toEqual([
      { kind: "untried", reason },
      { kind: "untried", reason },
    ]);
    expect(asked).toHaveLength(1);
    expect(JSON.stringify(lines)).toContain("could not try objects in the cluster");
  });

  test("what is no refusal in an answer about one object", async () => {
    version();
    managed("a", "b");
    kubernetes((names) =>
      names.includes("a") ? refusal("a", "Internal error occurred: failed calling webhook") : undefined,
    );
    expect(await ask(underTest().deployer, [object("a"), object("b")])).toEqual([
      { kind: "untried", reason: "Internal error occurred: failed calling webhook" },
      { kind: "accepted" },
    ]);
  });

  test.each<[string, number, string | Buffer, Record<string, string>, string | RegExp]>([
    [
      "a page of a proxy",
      404,
      "<html>",
      {},
      "gRPC-Web does not get through to Argo CD: let the proxy in front of it pass it",
    ],
    ["something else", 200, "{}", { "content-type": "application/json" }, ANOTHER_PROGRAM],
    ["half a frame", 200, frame(0, Buffer.alloc(9)).subarray(0, 8), GRPC_WEB, ANOTHER_PROGRAM],
    ["no trailers", 200, frame(0, Buffer.alloc(0)), GRPC_WEB, ANOTHER_PROGRAM],
    [
      "no message",
      200,
      Buffer.concat([frame(0, Buffer.from([0xff, 0xff])), TRAILERS]),
      GRPC_WEB,
      "Argo CD's answer is incomplete or not a protobuf message",
    ],
    [
      "other objects",
      200,
      Buffer.concat([frame(0, Buffer.alloc(0)), TRAILERS]),
      GRPC_WEB,
      "Argo CD's answer leaves them out",
    ],
    [
      "an error in the trailers",
      200,
      frame(0x80, Buffer.from("Grpc-Status: 14\r\nGrpc-Message: gone\r\n")),
      GRPC_WEB,
      "a part of Argo CD is unavailable: gone",
    ],
  ])("%s", async (_, status, body, headers, reason) => {
    version();
    managed("a");
    argocd.post(CALL).reply(status, body, headers);
    const expected = typeof reason === "string" ? reason : expect.stringMatching(reason);
    expect(await ask(underTest().deployer, [object("a")])).toEqual([{ kind: "untried", reason: expected }]);
  });

  test("live resources that cannot be read", async () => {
    version();
    argocd.get(MANAGED).query(true).reply(500, { code: 2, message: "boom", error: "boom" });
    expect(await ask(underTest().deployer, [object("a")])).toEqual([{ kind: "untried", reason: "boom" }]);
  });

  test("no answer at all, within the time for one request", async () => {
    version();
    managed("a");
    argocd.post(CALL).replyWith(() => "silence");
    const [trial] = await ask(underTest({ requestTimeoutMs: 300 }).deployer, [object("a")]);
    expect(trial).toEqual({ kind: "untried", reason: "failed to connect to Argo CD: no answer within 1 s" });
  });
});

test("a cluster that did not answer is left alone for a minute, and the version is asked for once in five", async () => {
  version();
  managed("a");
  argocd.post(CALL).reply(200, "", { ...GRPC_WEB, "grpc-status": "14", "grpc-message": "gone" });
  const { deployer, clock } = underTest();
  const reason = "a part of Argo CD is unavailable: gone";
  expect(await ask(deployer, [object("a")])).toEqual([{ kind: "untried", reason }]);
  expect(await ask(deployer, [object("a")])).toEqual([{ kind: "untried", reason }]);
  expect(neverAsked()).toEqual([]);
  clock.forward(60_000);
  managed("a");
  kubernetes(() => undefined);
  expect(await ask(deployer, [object("a")])).toEqual([{ kind: "accepted" }]);
});

test("an answer that is too large keeps nobody else from asking", async () => {
  version();
  managed("a");
  managed("a");
  argocd.post(CALL).reply(200, Buffer.alloc(17 * 2 ** 20), GRPC_WEB);
  const { deployer } = underTest();
  const reason = "Argo CD's answer is larger than 16 MiB and was not read";
  expect(await ask(deployer, [object("a")])).toEqual([{ kind: "untried", reason }]);
  kubernetes(() => undefined);
  expect(await ask(deployer, [object("a")])).toEqual([{ kind: "accepted" }]);
});

test("an abort ends the question", async () => {
  const stop = new AbortController();
  const reason = new Error("pushed");
  stop.abort(reason);
  const request = { application: live(), objects: [object("a")], change: CHANGE };
  await expect(underTest().deployer.tryObjects(request, stop.signal)).rejects.toBe(reason);
});
