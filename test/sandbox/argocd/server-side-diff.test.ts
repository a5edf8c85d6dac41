import { readFileSync } from "node:fs";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type ArgoCd, startArgoCd } from "../../../sandbox/argocd/argocd.js";
import { type JsonObject, listAt, objectAt, stringAt } from "../../../sandbox/argocd/json.js";
import type { Manifest } from "../../../sandbox/argocd/manifest.js";
import { framed, readGrpcAnswer } from "../../../src/deployer/argocd/client.js";
import { SERVER_SIDE_DIFF, writeQuery } from "../../../src/deployer/argocd/server-side-diff.js";
import { startConversation } from "./conversation.js";

interface Item {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly liveState: string;
  readonly targetState: string;
  readonly modified: number;
}
interface Recorded {
  readonly requestFrames: readonly [
    {
      readonly message: {
        readonly liveResources: readonly Item[];
        readonly targetManifests: readonly string[];
        readonly appName: string;
        readonly appNamespace: string;
        readonly project: string;
      };
    },
  ];
  readonly answerHeaders: Readonly<Record<string, string>>;
  readonly answerFrames: readonly {
    readonly message?: { readonly items: readonly Item[]; readonly modified: number };
  }[];
}

const file = new URL("../../fixtures/argocd/server-side-diff.json", import.meta.url);
const recorded = JSON.parse(readFileSync(file, "utf8")) as readonly Recorded[];

let argocd: ArgoCd;
let token: string;
beforeAll(async () => {
  argocd = await startArgoCd({ repositories: () => undefined });
  token = argocd.addAccount("svc", { permissions: "readonly" });
});
afterAll(() => argocd.stop());

async function send(message: Uint8Array, as = token, to = argocd.url) {
  const headers = { "content-type": "application/grpc-web+proto", token: as };
  const response = await fetch(to + SERVER_SIDE_DIFF, { method: "POST", headers, body: framed(message) });
  expect(response.status).toBe(200);
  return readGrpcAnswer(new Map(response.headers), new Uint8Array(await response.arrayBuffer()));
}

/** The fields of a message by number: texts, and numbers of flags. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<number, readonly (Uint8Array | number)[]> {
  const reader = new BinaryReader(bytes);
  const found = new Map<number, (Uint8Array | number)[]>();
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    found.set(field, [...(found.get(field) ?? []), type === WireType.Varint ? reader.uint32() : reader.bytes()]);
  }
  return found;
}

const text = (value: Uint8Array | number | undefined) =>
  value instanceof Uint8Array ? Buffer.from(value).toString() : "";

function itemOf(bytes: Uint8Array | number) {
  const fields = fieldsOf(bytes as Uint8Array);
  const [group, kind, namespace, name, target, live] = [1, 2, 3, 4, 5, 6].map((at) => text(fields.get(at)?.[0]));
  return shown({
    group,
    kind,
    namespace,
    name,
    targetState: target,
    liveState: live,
    modified: Number(fields.get(12)?.[0] ?? 0),
  });
}

/** With the states read, since the order of keys is nobody's business. */
function shown({ group, kind, namespace, name, targetState = "", liveState = "", modified }: Partial<Item>) {
  return {
    group,
    kind,
    namespace,
    name,
    target: JSON.parse(targetState) as unknown,
    live: JSON.parse(liveState) as unknown,
    modified,
  };
}

describe("the sandbox answers the server-side diff as Argo CD v3.5.1 did", () => {
  test.each(recorded.map((one) => [one.requestFrames[0].message.appName, one] as const))(
    "%s",
    async (name, exchange) => {
      const { liveResources, targetManifests, appNamespace, project } = exchange.requestFrames[0].message;
      for (const { liveState } of liveResources) {
        if (liveState !== "") argocd.putLiveObject(JSON.parse(liveState) as Manifest);
      }
      argocd.addApplication({
        metadata: { name },
        spec: {
          project,
          source: { repoURL: "https://git.example.com/none", path: ".", targetRevision: "main" },
          destination: { server: "https://kubernetes.default.svc", namespace: "default" },
        },
      });
      const objects = liveResources.map((one, at) => ({
        ...one,
        live: one.liveState,
        target: targetManifests[at] ?? "",
      }));
      const answer = await send(writeQuery({ appName: name, appNamespace, project }, objects));
      const { "Grpc-Status": status, "Grpc-Message": message } = exchange.answerHeaders;
      if (status !== undefined) {
        expect(answer).toEqual({ kind: "error", code: Number(status), text: message });
        return;
      }
      if (answer.kind !== "message") throw new Error(JSON.stringify(answer));
      const fields = fieldsOf(answer.message);
      const expected = exchange.answerFrames[0]?.message;
      expect((fields.get(1) ?? []).map(itemOf)).toEqual(expected?.items.map(shown));
      expect(fields.get(2)).toEqual([expected?.modified]);
    },
  );
});

test("neither state of an answer has the fields of ignoreDifferences", async () => {
  const name = "ignoring";
  const ignoreDifferences = [{ kind: "ConfigMap", jsonPointers: ["/data/a"] }];
  const source = { repoURL: "https://git.example.com/none", path: ".", targetRevision: "main" };
  const destination = { server: "https://kubernetes.default.svc", namespace: "default" };
  argocd.addApplication({ metadata: { name }, spec: { project: "default", source, destination, ignoreDifferences } });
  const object = (a: string) => ({
    ...{ apiVersion: "v1", kind: "ConfigMap" },
    ...{ metadata: { name, namespace: "default" }, data: { a, b: "1" } },
  });
  argocd.putLiveObject(object("1"));
  const states = { live: JSON.stringify(object("1")), target: JSON.stringify(object("2")) };
  const one = { group: "", kind: "ConfigMap", namespace: "default", name, ...states };
  const answer = await send(writeQuery({ appName: name, appNamespace: undefined, project: undefined }, [one]));
  if (answer.kind !== "message") throw new Error(JSON.stringify(answer));
  const [item] = (fieldsOf(answer.message).get(1) ?? []).map(itemOf);
  expect(item).toMatchObject({ live: { data: { b: "1" } }, target: { data: { b: "1" } }, modified: 0 });
  expect(JSON.stringify(item)).not.toContain('"a":');
});

test("a live state that has changed since it was told is no violation, one that was never told is", async () => {
  const c = await startConversation();
  try {
    c.add("plain", "apps/plain");
    await c.argocd.deploy("plain");
    const as = c.argocd.addAccount("reader", { permissions: "readonly" });
    const path = "/api/v1/applications/plain/managed-resources?kind=ConfigMap&name=plain";
    const told = stringAt(objectAt(listAt(await c.ok("GET", path), "items")[0]), "liveState") ?? "";
    const namespace = stringAt(JSON.parse(told) as JsonObject, "metadata", "namespace") ?? "";
    const before = c.argocd.liveObject("ConfigMap", namespace, "plain");
    c.argocd.putLiveObject({ ...before, data: { a: "changed meanwhile" } });
    const tried = async (live: string) => {
      const one = { group: "", kind: "ConfigMap", namespace: namespace, name: "plain", live, target: told };
      await send(
        writeQuery({ appName: "plain", appNamespace: undefined, project: undefined }, [one]),
        as,
        c.argocd.url,
      );
    };
    await tried(told);
    expect(c.argocd.violations).toEqual([]);
    await tried(told.replace("{", '{"invented":true,'));
    expect(c.argocd.violations).toEqual([
      `the live state of /ConfigMap/${namespace}/plain is none that managed-resources answered`,
    ]);
  } finally {
    await c.stop();
  }
});

describe("it refuses", () => {
  const query = (appName: string) => writeQuery({ appName, appNamespace: undefined, project: undefined }, []);

  test("a token that is none, and an application that is not to be seen", async () => {
    expect(await send(query("web"), "none")).toEqual({ kind: "error", code: 16, text: "no session information" });
    expect(await send(query("nobody-knows"))).toEqual({ kind: "error", code: 7, text: "permission denied" });
  });

  test("the method itself in versions that lack it", async () => {
    const old = await startArgoCd({ repositories: () => undefined, version: "v3.1.9" });
    const answer = await send(query("web"), old.addAccount("svc", { permissions: "all" }), old.url);
    await old.stop();
    expect(answer).toMatchObject({ kind: "error", code: 12 });
  });
});
