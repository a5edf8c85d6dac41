import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listAt, objectAt } from "../../../sandbox/argocd/json.js";
import { refusal, startConversation, type Conversation } from "./conversation.js";
import { repositoryUrl } from "./recorded-world.js";

let c: Conversation;
beforeAll(async () => {
  c = await startConversation();
  c.add("plain", "apps/plain");
  c.add("outer", "apps/plain", { metadata: { namespace: "team-a" } });
});
afterAll(() => c.stop());

const garbage = "token is malformed: could not base64 decode header: illegal base64 data at input byte 0";

describe("content type and token", () => {
  test.each([
    ["missing, on DELETE", "DELETE", undefined],
    ["with a character set, on DELETE", "DELETE", "application/json; charset=utf-8"],
    ["with a character set, on POST", "POST", "application/json; charset=utf-8"],
    ["of a form, on PUT", "PUT", "application/x-www-form-urlencoded"],
  ])("content type %s: 415 in plain text", async (_case, method, contentType) => {
    const answer = await c.send({ method, path: "/api/v1/applications/plain", who: "svc", contentType });
    expect(answer).toEqual({ status: 415, answer: "Invalid content type\n" });
  });

  test("content type in another case is fine", async () => {
    const path = "/api/v1/applications/none?project=default&cascade=false";
    expect((await c.send({ method: "DELETE", path, who: "svc", contentType: "Application/JSON" })).status).toBe(404);
  });

  test.each([
    ["no token", undefined, "no session information"],
    ["three parts of garbage", "Bearer a.b.c", `invalid session: ${garbage}`],
    ["one part", "Bearer abc", "no session information"],
    ["another scheme", "Basic a.b.c", "no session information"],
  ])("%s: 401", async (_case, authorization, message) => {
    const headers = authorization === undefined ? undefined : { authorization };
    const response = await fetch(`${c.argocd.url}/api/v1/applications`, { headers });
    expect({ status: response.status, answer: await response.json() }).toEqual(refusal(401, 16, message));
  });

  test("a token that was revoked: 401 with the reason", async () => {
    const token = c.argocd.addAccount("gone", { permissions: "all" });
    c.argocd.refuseToken(token);
    const response = await fetch(`${c.argocd.url}/api/v1/applications`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await response.json()).toMatchObject({
      code: 16,
      message: "invalid session: token is revoked, please re-login",
    });
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

  test.each([
    ["GET", "/api/v1/none", 404, "Not Found\n"],
    ["PATCH", "/api/v1/applications", 405, "Method Not Allowed\n"],
  ])("%s %s: %d in plain text", async (method, path, status, text) => {
    expect(await c.call(method, path)).toEqual({ status, answer: text });
  });
});

describe("unknown, forbidden and elsewhere", () => {
  test.each([
    ["unknown application without project", "/nope", refusal(403, 7, "permission denied")],
    [
      "unknown application with project",
      "/nope?project=default",
      refusal(404, 5, 'applications.argoproj.io "nope" not found'),
    ],
    [
      "existing application with the project of another",
      "/plain?project=win",
      refusal(404, 5, 'applications.argoproj.io "plain" not found'),
    ],
    ["application in another namespace without appNamespace", "/outer", refusal(403, 7, "permission denied")],
    ["namespace that is not enabled", "/plain?appNamespace=kube-system", refusal(403, 7, "permission denied")],
    ["two projects", "/plain?project=a&project=b", refusal(400, 3, "multiple projects specified")],
  ])("%s", async (_case, path, expected) => {
    expect(await c.call("GET", `/api/v1/applications${path}`)).toEqual(expected);
  });

  test("with appNamespace it is found", async () => {
    const answer = await c.ok("GET", "/api/v1/applications/outer?appNamespace=team-a&project=default");
    expect(objectAt(answer, "metadata")).toMatchObject({ name: "outer", namespace: "team-a" });
  });

  test("an application whose project is gone: 400 with the vague text", async () => {
    c.add("orphan", "apps/plain", { spec: { project: "gone" } });
    const message = 'app is not allowed in project "gone", or the project does not exist';
    expect(await c.call("GET", "/api/v1/applications/orphan")).toEqual(refusal(400, 3, message));
  });
});

describe("lists", () => {
  test("repo is compared as text: without the trailing .git the list is empty", async () => {
    const without = repositoryUrl.replace(".git", "");
    expect(await c.ok("GET", `/api/v1/applications?repo=${without}`)).toMatchObject({ items: null });
    expect(listAt(await c.ok("GET", `/api/v1/applications?repo=${repositoryUrl}`), "items").length).toBeGreaterThan(0);
  });

  test("who sees nothing gets items null", async () => {
    const { answer } = await c.call("GET", "/api/v1/applications", { who: "nobody" });
    expect(answer).toEqual({ metadata: { resourceVersion: expect.any(String) }, items: null });
  });

  test("labels select, projects select, project wins over projects", async () => {
    c.add("labelled", "apps/plain", { metadata: { labels: { "svc.dev/temporary": "true" } } });
    const names = async (query: string): Promise<unknown[]> =>
      listAt(await c.ok("GET", `/api/v1/applications?${query}`), "items").map(
        (item) => objectAt(item, "metadata").name,
      );
    expect(await names("selector=svc.dev/temporary")).toEqual(["labelled"]);
    expect(await names("selector=svc.dev/temporary%3Dfalse")).toEqual([]);
    expect(await names("projects=gone&project=win")).toEqual([]);
    expect(await names("projects=gone")).toEqual(["orphan"]);
  });

  test("fields choose members, absent ones come back as null; gzip when asked", async () => {
    const fields = ["name", "namespace", "labels", "annotations", "deletionTimestamp"].map(
      (one) => `items.metadata.${one}`,
    );
    const url = `${c.argocd.url}/api/v1/applications?name=plain&fields=${[...fields, "items.spec"].join(",")}`;
    const { request } = await import("node:http");
    const [encoding, body] = await new Promise<[string | undefined, Buffer]>((resolve, reject) => {
      const headers = { authorization: `Bearer ${c.tokens.svc}`, "accept-encoding": "gzip" };
      request(url, { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve([response.headers["content-encoding"], Buffer.concat(chunks)]));
      })
        .on("error", reject)
        .end();
    });
    expect(encoding).toBe("gzip");
    const metadata = { name: "plain", namespace: "argocd", labels: null, annotations: null, deletionTimestamp: null };
    expect(JSON.parse(gunzipSync(body).toString())).toEqual({
      items: [{ metadata, spec: expect.objectContaining({ project: "default" }) }],
      metadata: { resourceVersion: expect.any(String) },
    });
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

  test("can-i answers for the caller", async () => {
    const ask = async (who: "svc" | "readonly"): Promise<unknown> =>
      (await c.call("GET", "/api/v1/account/can-i/applications/create/default/svc-tmp", { who })).answer;
    expect([await ask("svc"), await ask("readonly")]).toEqual([{ value: "yes" }, { value: "no" }]);
  });

  test("a project role's token sees its project only", async () => {
    c.add("winapp", "apps/plain", { spec: { project: "win" } });
    const { answer } = await c.call("GET", "/api/v1/applications", { who: "proj" });
    expect(listAt(answer, "items").map((item) => objectAt(item, "metadata").name)).toEqual(["winapp"]);
    const user = await c.call("GET", "/api/v1/session/userinfo", { who: "proj" });
    expect(user.answer).toEqual({ loggedIn: true, username: "proj:win:r1", iss: "argocd" });
    const refused = await c.call("POST", "/api/v1/applications/winapp/sync", { who: "proj", body: { project: "win" } });
    expect(objectAt(refused.answer).message).toMatch(
      /^permission denied: applications, sync, win\/winapp, sub: proj:win:r1, iat: \S+Z$/,
    );
  });
});
