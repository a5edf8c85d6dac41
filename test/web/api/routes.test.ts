import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readOpenapi } from "../../../src/web/api/api.js";
import { fillStores } from "../sample-stores.js";
import { startSite, type SiteUnderTest } from "../site-under-test.js";
import type { Visitor } from "../visitor.js";
import { expectDescribed, OPERATIONS } from "./described.js";

const CLIENT = { client_id: "svc", client_secret: "secret-of-the-client" };

let site: SiteUnderTest;
let admin: Visitor;

beforeAll(async () => {
  site = await startSite({
    auth: {
      hosta: CLIENT,
      hostb: CLIENT,
      oidc: { ...CLIENT, name: "Company", issuer_url: "https://id.example.com" },
    },
  });
  await fillStores(site.stores, site.clock);
  admin = await site.visitor("olga");
});
afterAll(() => site.stop());

test("every route of the server is described, and every described one is there", () => {
  expect([...site.routes].sort()).toEqual([...OPERATIONS].sort());
});

test("every operation has an id of its own", () => {
  const { paths } = readOpenapi() as { paths: Record<string, Record<string, { operationId?: string }>> };
  const ids = OPERATIONS.map((operation) => {
    const [method = "", path = ""] = operation.split(" ");
    return paths[path]?.[method]?.operationId;
  });
  expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id ?? ""))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(["get /health", "get /ready"])("%s answers as it is described", async (operation) => {
  const answer = await site.stranger().ask(operation.replace("get ", ""));
  expect(answer.status).toBe(200);
  expectDescribed(operation, answer);
});

describe("a query parameter that is not described", () => {
  const API = OPERATIONS.filter((operation) => operation.includes(" /api/v1/"));

  test.each(API)("is refused by %s", async (operation) => {
    const [method = "", path = ""] = operation.split(" ");
    const real = path.replace("{app}", "web").replace("{id}", "basic%3Aolga");
    const address = real.replace("{host}/{owner}/{repo}/{number}", "hosta/acme/deploy/7");
    const needed = operation === "delete /api/v1/locks" ? "change=hosta/acme/deploy/7&" : "";
    const answer = await admin.ask(`${address}?${needed}nonsense=1`, { method: method.toUpperCase() });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([400, { error: 'unknown query parameter "nonsense"' }]);
    expectDescribed(operation, answer);
  });

  test.each(["/health", "/auth/providers", "/auth/me", "/status"])("is ignored by %s", async (path) => {
    expect((await admin.ask(`${path}?nonsense=1`)).status).toBe(200);
  });
});
