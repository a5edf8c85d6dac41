import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { StoreUnavailable } from "../../../src/core/model/errors.js";
import { PASSWORD, SESSION_TTL_MS, startSite, type SiteUnderTest } from "../site-under-test.js";
import type { VisitOptions } from "../visitor.js";
import { expectDescribed, OPERATIONS } from "./described.js";

let site: SiteUnderTest;

beforeEach(async () => {
  site = await startSite();
});
afterEach(() => site.stop());

/** Without those that send a browser to a provider and back. */
const LOGIN_OPERATIONS = OPERATIONS.filter((operation) => / \/auth\/(?!(?:hosta|hostb|oidc)\/)/.test(operation));

const JSON_ONLY = { accept: "application/json" };
const login = (json: unknown): VisitOptions => ({ method: "POST", json });

test("every answer of the login routes matches the description", async () => {
  const visitor = site.stranger();
  const seen: string[] = [];
  const expectAnswer = async (operation: string, options: VisitOptions, status: number, text?: object) => {
    const [method = "", path = ""] = operation.split(" ");
    const answer = await visitor.ask(path, { method: method.toUpperCase(), headers: JSON_ONLY, ...options });
    expect([operation, answer.status]).toEqual([operation, status]);
    if (status !== 204) expectDescribed(operation, answer);
    if (text !== undefined) expect(JSON.parse(answer.text)).toEqual(text);
    seen.push(operation);
  };
  const user = { id: "basic:ana", username: "ana", role: "user", provider: "basic" };
  await expectAnswer("get /auth/providers", {}, 200);
  await expectAnswer("get /auth/me", {}, 401);
  await expectAnswer("post /auth/basic/login", login({ username: "ana", password: "wrong" }), 401);
  await expectAnswer("post /auth/basic/login", login({ username: "ana" }), 400);
  await expectAnswer("post /auth/basic/login", login({ username: "ana", password: PASSWORD }), 200, { user });
  await expectAnswer("get /auth/me", {}, 200, { user });
  await expectAnswer("post /auth/logout", { headers: { ...JSON_ONLY, "sec-fetch-site": "cross-site" } }, 403);
  await expectAnswer("post /auth/logout", {}, 204);
  await expectAnswer("get /auth/me", {}, 401);
  await expectAnswer("post /auth/basic/login", login({ username: "ana", password: PASSWORD }), 200);
  site.clock.advance(SESSION_TTL_MS + 1000);
  await expectAnswer("get /auth/me", {}, 401, { error: "Session expired" });
  expect([...new Set(seen)].sort()).toEqual([...LOGIN_OPERATIONS].sort());
});

test.each(["get /auth/providers", "get /auth/me", "post /auth/logout", "get /api/v1/openapi.json"])(
  "%s answers as it is described while the store is away",
  async (operation) => {
    const visitor = await site.visitor("ana");
    site.stores.sessions.get = (_id, done) => done(new StoreUnavailable("failed to connect to Redis"));
    const [method = "", path = ""] = operation.split(" ");
    const answer = await visitor.ask(path, { method: method.toUpperCase(), headers: JSON_ONLY });
    expect(answer.status).toBe(503);
    expectDescribed(operation, answer);
  },
);

test.each([
  ["get /auth/providers", "/auth/providers"],
  ["get /auth/me", "/auth/me"],
  ["get /changes/{host}/{owner}/{repo}/{number}/live", "/changes/github/acme/deploy/1/live"],
])("%s answers a program that accepts anything as it is described while the store is away", async (operation, path) => {
  const visitor = await site.visitor("ana");
  site.stores.sessions.get = (_id, done) => done(new StoreUnavailable("failed to connect to Redis"));
  const answer = await visitor.ask(path, { headers: { accept: "*/*" } });
  expect(answer.status).toBe(503);
  expectDescribed(operation, answer);
});

describe("with authentication off", () => {
  test.each(OPERATIONS.filter((operation) => operation.includes(" /auth/")))("%s is not there", async (operation) => {
    const off = await startSite({ auth: false });
    try {
      const [method = "", path = ""] = operation.split(" ");
      const answer = await off.stranger().ask(path, { method: method.toUpperCase(), headers: JSON_ONLY });
      expect(answer.status).toBe(404);
      expectDescribed(operation, answer);
    } finally {
      await off.stop();
    }
  });
});
