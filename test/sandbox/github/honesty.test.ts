import { createSign, generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { describeOperation } from "../../../sandbox/github/description.js";
import { connected, keys } from "./connected.js";

const name = "acme/deploy";
let world: Awaited<ReturnType<typeof connected>>;
let token: string;
let installation: number;
let noted = 0;

beforeAll(async () => {
  world = await connected();
  await world.github.createRepository(name, { "a.yaml": "one\n" });
  await world.github.createRepository("acme/other", { "a.yaml": "one\n" });
  await world.github.createRepository("acme/secret", { "a.yaml": "one\n" }, { private: true });
  await world.github.open({ repository: name, by: "ana", changes: { "a.yaml": "two\n" } });
  const app = await world.probot.auth();
  installation = (await app.rest.apps.listInstallations()).data[0]?.id ?? 0;
  token = await newToken({});
});
afterAll(() => world.stop());
beforeEach(() => {
  noted = world.github.violations.length;
});

function jwt(claims: object, key = keys.privateKey, alg = "RS256"): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg, typ: "JWT" })}.${part(claims)}`;
  return `${text}.${createSign("RSA-SHA256").update(text).sign(key, "base64url")}`;
}

function seconds(offset: number): number {
  return Math.floor(Date.now() / 1000) + offset;
}

async function newToken(body: object): Promise<string> {
  const answer = await call("POST", `/app/installations/${installation}/access_tokens`, body, appToken());
  return String(answer.body.token);
}

function appToken(): string {
  return jwt({ iss: 4242, iat: seconds(-30), exp: seconds(300) });
}

async function call(
  method: string,
  path: string,
  body?: unknown,
  bearer: string | undefined = token,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(world.github.apiUrl + path, {
    method,
    headers: {
      ...(bearer === "" ? {} : { authorization: `Bearer ${bearer}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

function news(): string {
  return world.github.violations.slice(noted).join("\n");
}

describe("what GitHub does not know is noted", () => {
  test.each([
    {
      what: "an invented member",
      ask: () => call("POST", `/repos/${name}/issues/1/comments`, { body: "x", colour: "red" }),
      status: 201,
      says: /POST \/repos\/.*comments: body\.colour is not described/,
    },
    {
      what: "an invented parameter",
      ask: () => call("GET", `/repos/${name}/pulls/1?stat=open`),
      status: 200,
      says: /query\.stat is not described/,
    },
    {
      what: "a missing member",
      ask: () => call("POST", `/repos/${name}/issues/1/comments`, {}),
      status: 422,
      says: /must have required property 'body'/,
    },
    {
      what: "a value outside the list",
      ask: () => call("PUT", `/repos/${name}/pulls/1/merge`, { merge_method: "octopus" }),
      status: 422,
      says: /must be equal to one of the allowed values/,
    },
    {
      what: "a body where none is described",
      ask: () => call("DELETE", `/repos/${name}/git/refs/heads/nowhere`, { force: true }),
      status: 422,
      says: /body: none is described/,
    },
    {
      what: "an invented path",
      ask: () => call("GET", `/repos/${name}/pulls/1/approve`),
      status: 404,
      says: /not served by this sandbox/,
    },
  ])("$what", async ({ ask, status, says }) => {
    expect((await ask()).status).toBe(status);
    expect(news()).toMatch(says);
  });

  test.each([
    { what: "a comment without its id", status: 201, body: { body: "x" }, says: /must have required property 'id'/ },
    { what: "a status that is not described", status: 299, body: {}, says: /status 299 is not described/ },
  ])("in an answer: $what", ({ status, body, says }) => {
    const operation = describeOperation("post", "/repos/{owner}/{repo}/issues/{issue_number}/comments");
    expect(operation?.wrongInAnswer(status, body).join("\n")).toMatch(says);
  });
});

describe("only the App with its own key is let in", () => {
  const stranger = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  }).privateKey;

  test.each([
    { what: "a good token", bearer: appToken, status: 200 },
    {
      what: "another key",
      bearer: () => jwt({ iss: 4242, iat: seconds(-30), exp: seconds(300) }, stranger),
      status: 401,
    },
    { what: "another App", bearer: () => jwt({ iss: 1, iat: seconds(-30), exp: seconds(300) }), status: 401 },
    { what: "an expired token", bearer: () => jwt({ iss: 4242, iat: seconds(-900), exp: seconds(-300) }), status: 401 },
    {
      what: "a token for a day",
      bearer: () => jwt({ iss: 4242, iat: seconds(-30), exp: seconds(86_400) }),
      status: 401,
    },
    {
      what: "a token from the future",
      bearer: () => jwt({ iss: 4242, iat: seconds(300), exp: seconds(500) }),
      status: 401,
    },
    {
      what: "another algorithm",
      bearer: () => jwt({ iss: 4242, iat: 1, exp: seconds(300) }, undefined, "none"),
      status: 401,
    },
    { what: "no JSON", bearer: () => "a.b.c", status: 401 },
    { what: "an installation's token", bearer: () => token, status: 401 },
    { what: "nothing", bearer: () => "", status: 401 },
  ])("$what: $status", async ({ bearer, status }) => {
    expect((await call("GET", "/app", undefined, bearer())).status).toBe(status);
    expect(news()).toBe("");
  });
});

describe("an installation's token", () => {
  test("is long, lives an hour and says what it may", async () => {
    const { status, body } = await call(
      "POST",
      `/app/installations/${installation}/access_tokens`,
      undefined,
      appToken(),
    );
    expect(status).toBe(201);
    expect(String(body.token)).toMatch(/^ghs_.{200,}$/);
    const minutes = (Date.parse(String(body.expires_at)) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(58);
    expect(minutes).toBeLessThanOrEqual(60);
    expect(body).toMatchObject({ repository_selection: "all", permissions: { contents: "write", metadata: "read" } });
  });

  test("can be narrowed to repositories and permissions", async () => {
    const narrow = await newToken({ repositories: ["deploy"], permissions: { contents: "read" } });
    expect((await call("GET", `/repos/${name}/pulls/1`, undefined, narrow)).status).toBe(200);
    expect((await call("POST", `/repos/${name}/issues/1/comments`, { body: "x" }, narrow)).status).toBe(403);
    expect((await call("GET", "/repos/acme/secret/branches/main", undefined, narrow)).status).toBe(404);
    expect((await call("GET", "/repos/acme/secret/branches/main")).status).toBe(200);
    const elsewhere = await newToken({ repositories: ["other"] });
    expect((await call("POST", `/repos/${name}/issues/1/comments`, { body: "x" }, elsewhere)).status).toBe(403);
    expect(news()).toBe("");
  });

  test("reacts to a comment on a pull request with the permission for pull requests, not with that for issues", async () => {
    const { id } = (await call("POST", `/repos/${name}/issues/1/comments`, { body: "svc plan" })).body;
    const react = async (permissions: object) => {
      const as = await newToken({ permissions });
      return (await call("POST", `/repos/${name}/issues/comments/${String(id)}/reactions`, { content: "eyes" }, as))
        .status;
    };
    expect(await react({ pull_requests: "read", issues: "read" })).toBe(403);
    expect(await react({ pull_requests: "write" })).toBe(201);
    expect(news()).toBe("");
  });

  test.each([
    { what: "more than the App was granted", body: { permissions: { contents: "read", administration: "write" } } },
    { what: "a repository that is not the installation's", body: { repositories: ["deploy", "nowhere"] } },
  ])("is not given for $what", async ({ body }) => {
    expect((await call("POST", `/app/installations/${installation}/access_tokens`, body, appToken())).status).toBe(422);
    expect(news()).toBe("");
  });
});

test.each(["{", "[", '"text'])("a body that is no JSON: %s", async (body) => {
  const answer = await call("POST", `/repos/${name}/issues/1/comments`, body);
  expect(answer).toMatchObject({ status: 400, body: { message: "Problems parsing JSON" } });
});

test.each([
  "/repos/acme/none/pulls/1",
  `/repos/${name}/pulls/99`,
  `/repos/${name}/issues/99/comments`,
  `/repos/${name}/pulls/x`,
])("%s is not found", async (path) => {
  expect(await call("GET", path)).toMatchObject({ status: 404, body: { message: "Not Found", status: "404" } });
  expect(news()).toBe("");
});

test("requests are logged, those that meet a fault too", async () => {
  const remove = world.github.faults.add({ path: /\/pulls\/1$/, times: 1, fault: { kind: "status", status: 502 } });
  const before = world.github.requests.length;
  const path = `/repos/${name}/pulls/1`;
  const response = await fetch(world.github.apiUrl + path, { headers: { authorization: `token ${token}` } });
  expect(response.status).toBe(502);
  expect((await call("GET", path)).status).toBe(200);
  expect(world.github.requests.slice(before)).toEqual([
    { method: "GET", path: `/api/v3${path}`, authorization: `token ${token}` },
    { method: "GET", path: `/api/v3${path}`, authorization: `Bearer ${token}` },
  ]);
  remove();
});
