import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { hashOfToken, newApiToken } from "../../../src/config/server/server-parts.js";
import { applicationName } from "../../../src/core/model/brand.js";
import { MOST_ATTEMPTS } from "../../../src/web/auth/api-tokens.js";
import { fillStores, PULL } from "../sample-stores.js";
import { startSite, type SiteUnderTest } from "../site-under-test.js";
import type { Visited, VisitOptions } from "../visitor.js";
import { expectDescribed } from "./described.js";

const READER = newApiToken();
const ADMIN = newApiToken();
const SELF_CHOSEN = "svc_api_letmein";
const TOKENS = [
  { name: "backstage", hash: READER.hash, role: "user" },
  { name: "ci", hash: ADMIN.hash, role: "admin" },
  { name: "weak", hash: hashOfToken(SELF_CHOSEN), role: "admin" },
];

let site: SiteUnderTest;

beforeEach(async () => {
  site = await startSite({ auth: { api_tokens: TOKENS, diffs: "readers" } });
  await fillStores(site.stores, site.clock);
});
afterEach(() => site.stop());

function bearer(token: string, scheme = "Bearer"): Readonly<Record<string, string>> {
  return { authorization: `${scheme} ${token}`, accept: "application/json" };
}

/** A request of a program: no cookie. */
async function ask(operation: string, path: string, token: string, options: VisitOptions = {}): Promise<Visited> {
  const [method = ""] = operation.split(" ");
  const headers = { ...bearer(token), ...options.headers };
  const answer = await site.stranger().ask(path, { ...options, method: method.toUpperCase(), headers });
  expectDescribed(operation, answer);
  expect(answer.headers.getSetCookie()).toEqual([]);
  return answer;
}

describe("an API token with the role user", () => {
  test.each([
    ["get /api/v1/openapi.json", "/api/v1/openapi.json", 200],
    ["get /api/v1/locks", "/api/v1/locks", 200],
    ["get /api/v1/locks/{app}", "/api/v1/locks/web", 200],
    ["get /api/v1/activity", "/api/v1/activity", 200],
    ["get /api/v1/plans/{host}/{owner}/{repo}/{number}", "/api/v1/plans/hosta/acme/deploy/7", 403],
    ["get /api/v1/users", "/api/v1/users", 403],
    ["delete /api/v1/locks/{app}", "/api/v1/locks/web", 403],
    ["delete /api/v1/locks", "/api/v1/locks?change=hosta/acme/deploy/7", 403],
    ["put /api/v1/users/{id}/role", "/api/v1/users/basic%3Aolga/role", 403],
  ])("%s is answered at %s with %i", async (operation, path, status) => {
    const json = operation.startsWith("put") ? { role: "user" } : undefined;
    expect((await ask(operation, path, READER.token, { json })).status).toBe(status);
  });

  test("is told how it could read plans, and reads them where everybody may", async () => {
    const operation = "get /api/v1/plans/{host}/{owner}/{repo}/{number}";
    const refused = await ask(operation, "/api/v1/plans/hosta/acme/deploy/7", READER.token);
    expect(refused.text).toContain("API token with the role user. Have the operator give it the role admin");
    await site.stop();
    site = await startSite({ auth: { api_tokens: TOKENS, diffs: "all" } });
    await fillStores(site.stores, site.clock);
    expect((await ask(operation, "/api/v1/plans/hosta/acme/deploy/7", READER.token)).status).toBe(200);
  });
});

describe("an API token with the role admin", () => {
  test("acts under its name, which the audit trail, the API and the page show", async () => {
    const json = { role: "admin" };
    await site.visitor("ana");
    const role = await ask("put /api/v1/users/{id}/role", "/api/v1/users/basic%3Aana/role", ADMIN.token, { json });
    expect([role.status, (await site.stores.users.find("basic:ana"))?.role]).toEqual([200, "admin"]);
    expect(await site.stores.audit.list({ limit: 1 })).toMatchObject([
      {
        who: { host: "api-token", id: "api-token:ci", login: "ci" },
        action: "role-changed",
        change: undefined,
        applications: [],
        reason: "ana (basic:ana) has the role admin",
      },
    ]);
    const plan = "get /api/v1/plans/{host}/{owner}/{repo}/{number}";
    expect((await ask(plan, "/api/v1/plans/hosta/acme/deploy/7", ADMIN.token)).status).toBe(200);
    expect((await ask("delete /api/v1/locks/{app}", "/api/v1/locks/web", ADMIN.token)).status).toBe(200);
    expect(await site.stores.locks.find(applicationName("web"))).toBeUndefined();
    const [entry] = await site.stores.audit.list({ limit: 1 });
    expect(entry).toMatchObject({
      who: { host: "api-token", id: "api-token:ci", login: "ci" },
      action: "force-unlocked",
      change: PULL,
    });
    const activity = await ask("get /api/v1/activity", "/api/v1/activity?login=CI&limit=1", READER.token);
    expect(JSON.parse(activity.text)).toMatchObject({ entries: [{ who: { kind: "token", name: "ci" } }] });
    const page = (await (await site.visitor("ana")).ask("/activity")).text;
    expect(page).toContain("ci (API token)");
    expect(page).toContain("ana (basic:ana) has the role admin");
    const roles = await ask("get /api/v1/activity", "/api/v1/activity?action=role-changed", READER.token);
    expect(JSON.parse(roles.text)).toMatchObject({ entries: [{ who: { name: "ci" }, action: "role-changed" }] });
  });

  test("needs no page of this site: a token proves the sender, whatever origin the request names", async () => {
    const headers = { origin: "https://portal.example.com", "sec-fetch-site": "cross-site" };
    const answer = await ask("delete /api/v1/locks/{app}", "/api/v1/locks/web", ADMIN.token, { headers });
    expect(answer.status).toBe(200);
  });

  test("is accepted with any spelling of the scheme, and works for the API alone", async () => {
    const visitor = site.stranger();
    expect((await visitor.ask("/api/v1/users", { headers: bearer(ADMIN.token, "bearer") })).status).toBe(200);
    expect((await visitor.ask("/auth/me", { headers: bearer(ADMIN.token) })).status).toBe(401);
    expect((await visitor.ask("/users", { headers: bearer(ADMIN.token) })).status).toBe(302);
    const live = "/changes/hosta/acme/deploy/7/live";
    expect((await visitor.ask(live, { headers: bearer(ADMIN.token) })).status).toBe(401);
  });
});

describe("a token that is not known", () => {
  test.each([
    ["another one", newApiToken().token],
    ["a hash in its place", `svc_api_${ADMIN.hash.slice(-43)}`],
    ["one with a letter more", `${ADMIN.token}x`],
    ["one that somebody chose, although its hash is listed", SELF_CHOSEN],
  ])("is refused: %s", async (_what, token) => {
    const answer = await ask("get /api/v1/locks", "/api/v1/locks", token);
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(answer.text).toContain("auth.api_tokens");
  });

  test("is refused even beside the session of an admin, and a page of another site gains nothing by sending one", async () => {
    const olga = await site.visitor("olga");
    const options = { method: "DELETE", headers: { ...bearer(newApiToken().token), "sec-fetch-site": "cross-site" } };
    expect((await olga.ask("/api/v1/locks/web", options)).status).toBe(401);
    expect(await site.stores.locks.find(applicationName("web"))).toBeDefined();
  });

  test("is not looked for in the bearers of others, such as those that a proxy adds to a session", async () => {
    const headers = bearer("eyJhbGciOi.of-a-proxy");
    expect((await (await site.visitor("olga")).ask("/api/v1/users", { headers })).status).toBe(200);
    expect((await site.stranger().ask("/api/v1/users", { headers })).status).toBe(401);
    const forged = { ...headers, "sec-fetch-site": "cross-site" };
    const answer = await (await site.visitor("olga")).ask("/api/v1/locks/web", { method: "DELETE", headers: forged });
    expect(answer.status).toBe(403);
  });

  test("makes its address wait when it comes again and again, while known tokens and people get in", async () => {
    const wrong = newApiToken().token;
    for (let sent = 1; sent < MOST_ATTEMPTS; sent += 1) await site.stores.attempts.add("api-token:127.0.0.1", 60_000);
    expect((await ask("get /api/v1/locks", "/api/v1/locks", wrong)).status).toBe(401);
    const answer = await ask("get /api/v1/locks", "/api/v1/locks", wrong);
    expect([answer.status, Number(answer.headers.get("retry-after")) > 0]).toEqual([429, true]);
    expect((await ask("get /api/v1/locks", "/api/v1/locks", READER.token)).status).toBe(200);
    await site.visitor("olga");
    expect(site.log.lines.filter(({ text }) => text === "refused an unknown API token")).toHaveLength(1);
    expect(JSON.stringify(site.log.lines)).not.toContain(wrong);
  });
});

test("without authentication there is nothing that a token could open", async () => {
  const off = await startSite({ auth: false });
  try {
    const answer = await off.stranger().ask("/api/v1/locks", { headers: bearer(ADMIN.token) });
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("auth.enabled")]);
  } finally {
    await off.stop();
  }
});
