import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listAt, objectAt } from "../../../sandbox/argocd/json.js";
import { refusal, startConversation, type Conversation } from "./conversation.js";

let c: Conversation;
beforeAll(async () => {
  c = await startConversation();
  c.add("plain", "apps/plain");
  c.add("outer", "apps/plain", { metadata: { namespace: "team-a" } });
});
afterAll(() => c.stop());

describe("content type and token", () => {
  test("content type in another case is fine", async () => {
    const path = "/api/v1/applications/none?project=default&cascade=false";
    expect((await c.send({ method: "DELETE", path, who: "svc", contentType: "Application/JSON" })).status).toBe(404);
  });

  test.each([
    ["no token", undefined, "no session information"],
    ["an unknown token", "Bearer a.b.c", "invalid session: failed to verify the token"],
    ["one part", "Bearer abc", "no session information"],
    ["another scheme", "Basic a.b.c", "no session information"],
  ])("%s: 401", async (_case, authorization, message) => {
    const headers = authorization === undefined ? undefined : { authorization };
    const response = await fetch(`${c.argocd.url}/api/v1/applications`, { headers });
    expect({ status: response.status, answer: await response.json() }).toEqual(refusal(401, 16, message));
  });

  test("a body that is no JSON: 400 code 3", async () => {
    const response = await fetch(`${c.argocd.url}/api/v1/applications/plain/sync`, {
      method: "POST",
      headers: { authorization: `Bearer ${c.tokens.svc}`, "content-type": "application/json" },
      body: Buffer.from('{"revision": "ma'),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 3 });
  });
});

describe("unknown, forbidden and elsewhere", () => {
  test.each([
    ["namespace that is not enabled", "/plain?appNamespace=kube-system", refusal(403, 7, "permission denied")],
    ["two projects", "/plain?project=a&project=b", refusal(400, 3, "multiple projects specified")],
  ])("%s", async (_case, path, expected) => {
    expect(await c.call("GET", `/api/v1/applications${path}`)).toEqual(expected);
  });

  test("an application whose project is gone: 400 with the vague text", async () => {
    c.add("orphan", "apps/plain", { spec: { project: "gone" } });
    const message = 'app is not allowed in project "gone", or the project does not exist';
    expect(await c.call("GET", "/api/v1/applications/orphan")).toEqual(refusal(400, 3, message));
  });
});

describe("lists", () => {
  test("labels select, projects select, project wins over projects", async () => {
    c.add("labelled", "apps/plain", { metadata: { labels: { "svc.dev/temporary": "true" } } });
    const names = async (query: string): Promise<unknown[]> =>
      listAt(await c.ok("GET", `/api/v1/applications?${query}`), "items").map(
        (item) => objectAt(item, "metadata").name,
      );
    expect(await names("selector=svc.dev/temporary%3Dtrue")).toEqual(["labelled"]);
    expect(await names("selector=svc.dev/temporary%3Dfalse")).toEqual([]);
    expect(await names("projects=gone&project=win")).toEqual([]);
    expect(await names("projects=gone")).toEqual(["orphan"]);
  });

  test("fields choose members, absent ones come back as null; gzip when asked", async () => {
    const fields = ["name", "namespace", "labels", "annotations", "deletionTimestamp"].map(
      (one) => `items.metadata.${one}`,
    );
    const path = `/api/v1/applications?name=plain&fields=${[...fields, "items.spec"].join(",")}`;
    const metadata = { name: "plain", namespace: "argocd", labels: null, annotations: null, deletionTimestamp: null };
    expect(await c.ok("GET", path)).toEqual({
      items: [{ metadata, spec: expect.objectContaining({ project: "default" }) }],
      metadata: { resourceVersion: expect.any(String) },
    });
    const { request } = await import("node:http");
    const [encoding, body] = await new Promise<[string | undefined, Buffer]>((resolve, reject) => {
      const headers = { authorization: `Bearer ${c.tokens.svc}`, "accept-encoding": "gzip" };
      request(`${c.argocd.url}/api/v1/applications`, { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve([response.headers["content-encoding"], Buffer.concat(chunks)]));
      })
        .on("error", reject)
        .end();
    });
    expect(encoding).toBe("gzip");
    expect(JSON.parse(gunzipSync(body).toString())).toEqual(await c.ok("GET", "/api/v1/applications"));
  });

  test("the health of resources is in the GET and not in the list", async () => {
    const one = await c.ok("GET", "/api/v1/applications/plain");
    const list = await c.ok("GET", "/api/v1/applications?name=plain");
    const [resource] = listAt(one, "status", "resources");
    const [listed] = listAt(list, "items").flatMap((item) => listAt(item, "status", "resources"));
    expect(resource).toMatchObject({ status: "OutOfSync", health: { status: "Missing" } });
    expect(listed).toEqual({
      version: "v1",
      kind: "ConfigMap",
      namespace: "guestbook",
      name: "old",
      status: "OutOfSync",
    });
  });
});

describe("account, settings, version", () => {
  test("who is not logged in learns the version only, and that he is not logged in", async () => {
    expect((await c.call("GET", "/api/version", { who: null })).answer).toEqual({ Version: "v3.5.1" });
    expect((await c.call("GET", "/api/v1/session/userinfo", { who: null })).answer).toEqual({});
    const { answer } = await c.call("GET", "/api/v1/settings", { who: null });
    expect(objectAt(answer).controllerNamespace).toBeUndefined();
    expect(objectAt(await c.ok("GET", "/api/v1/settings")).controllerNamespace).toBe("argocd");
    expect(await c.call("GET", "/healthz", { who: null })).toEqual({ status: 200, answer: "ok" });
  });
});
