import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { RawConnection } from "../../raw-connection.js";
import { fillStores } from "../sample-stores.js";
import { PEOPLE, SESSION_TTL_MS, startSite, type SiteUnderTest } from "../site-under-test.js";
import type { Visited, Visitor, VisitOptions } from "../visitor.js";
import { expectDescribed, OPERATIONS } from "./described.js";

/** Who calls: the columns of the table. */
const CALLERS = ["nobody", "expired", "user", "admin", "other site", "malformed", "auth off"] as const;
type Caller = (typeof CALLERS)[number];

interface Endpoint {
  readonly operation: string;
  readonly path: string;
  /** The same, wrong in a way that the answer has to name; by an admin. */
  readonly malformed: string;
  readonly json?: unknown;
  /** The status for each caller, in the order of `CALLERS`. */
  readonly statuses: readonly [number, number, number, number, number, number, number];
}

const OPEN = [200, 200, 200, 200, 200] as const;
const READ = [401, 401, 200, 200, 200] as const;
const ADMIN_READ = [401, 401, 403, 200, 200] as const;
const ADMIN_WRITE = [401, 401, 403, 200, 403] as const;

const ENDPOINTS: readonly Endpoint[] = [
  {
    operation: "get /api/v1/openapi.json",
    path: "/api/v1/openapi.json",
    malformed: "/api/v1/openapi.json?x=1",
    statuses: [...OPEN, 400, 200],
  },
  {
    operation: "get /api/v1/locks",
    path: "/api/v1/locks",
    malformed: "/api/v1/locks?who=ana",
    statuses: [...READ, 400, 403],
  },
  {
    operation: "get /api/v1/locks/{app}",
    path: "/api/v1/locks/argocd-extra%2Fshop",
    malformed: "/api/v1/locks/%E0%A4%A",
    statuses: [...READ, 400, 403],
  },
  {
    operation: "delete /api/v1/locks/{app}",
    path: "/api/v1/locks/web",
    malformed: "/api/v1/locks/%zz",
    statuses: [...ADMIN_WRITE, 400, 403],
  },
  {
    operation: "delete /api/v1/locks",
    path: "/api/v1/locks?change=hostb/acme/shop/deploy/3",
    malformed: "/api/v1/locks?change=hostb/deploy",
    statuses: [...ADMIN_WRITE, 400, 403],
  },
  {
    operation: "get /api/v1/holds",
    path: "/api/v1/holds",
    malformed: "/api/v1/holds?who=ana",
    statuses: [...READ, 400, 403],
  },
  {
    operation: "post /api/v1/holds",
    path: "/api/v1/holds",
    malformed: "/api/v1/holds?x=1",
    json: { applications: ["shop"], reason: "freeze" },
    statuses: [...ADMIN_WRITE, 400, 403],
  },
  {
    operation: "delete /api/v1/holds/{id}",
    path: "/api/v1/holds/one",
    malformed: "/api/v1/holds/%zz",
    statuses: [401, 401, 403, 404, 403, 400, 403],
  },
  {
    operation: "get /api/v1/users",
    path: "/api/v1/users",
    malformed: "/api/v1/users?role=admin",
    statuses: [...ADMIN_READ, 400, 403],
  },
  {
    operation: "put /api/v1/users/{id}/role",
    path: "/api/v1/users/basic%3Abo/role",
    malformed: "/api/v1/users/basic%3/role",
    json: { role: "user" },
    statuses: [...ADMIN_WRITE, 400, 403],
  },
  {
    operation: "get /api/v1/plans/{host}/{owner}/{repo}/{number}",
    path: "/api/v1/plans/hostb/acme%2Fshop/deploy/3",
    malformed: "/api/v1/plans/hostb/acme%2Fshop/deploy/0",
    // Nobody here has an account on GitLab.
    statuses: [401, 401, 403, 200, 200, 400, 403],
  },
  {
    operation: "get /api/v1/activity",
    path: "/api/v1/activity?limit=2&action=synced&change=hosta/acme/deploy/7",
    malformed: "/api/v1/activity?limit=0",
    statuses: [...READ, 400, 403],
  },
];

test("the table has every operation of the API's description", () => {
  const described = OPERATIONS.filter((operation) => operation.includes(" /api/"));
  expect(ENDPOINTS.map(({ operation }) => operation).sort()).toEqual([...described].sort());
});

describe.each(["memory", "redis"] as const)("over the store %s", (store) => {
  let site: SiteUnderTest;
  let open: SiteUnderTest;
  const visitors = new Map<Caller, Visitor>();

  beforeAll(async () => {
    site = await startSite({ store, auth: { diffs: "readers" } });
    open = await startSite({ auth: false });
    visitors.set("nobody", site.stranger());
    visitors.set("expired", await site.visitor("ana"));
    site.clock.advance(SESSION_TTL_MS + 1000);
    await fillStores(site.stores, site.clock);
    visitors.set("user", await site.visitor("ana"));
    await site.visitor("bo");
    const admin = await site.visitor("olga");
    for (const caller of ["admin", "other site", "malformed"] as const) visitors.set(caller, admin);
    visitors.set("auth off", open.stranger());
  });
  afterAll(() => Promise.all([site.stop(), open.stop()]));

  function call({ operation, path, malformed, json }: Endpoint, caller: Caller): Promise<Visited> {
    const [method = ""] = operation.split(" ");
    const options: VisitOptions = {
      method: method.toUpperCase(),
      json: caller === "malformed" && json !== undefined ? { ...(json as object), extra: 1 } : json,
      headers: { accept: "application/json", ...(caller === "other site" ? { "sec-fetch-site": "cross-site" } : {}) },
    };
    return (visitors.get(caller) ?? site.stranger()).ask(caller === "malformed" ? malformed : path, options);
  }

  describe.each(ENDPOINTS)("$operation", (endpoint) => {
    test.each(
      CALLERS.filter((caller) => caller !== "admin").map((one) => [one, endpoint.statuses[CALLERS.indexOf(one)]]),
    )("answers %s with %i", async (caller, status) => {
      const answer = await call(endpoint, caller as Caller);
      expect(answer.status).toBe(status);
      expectDescribed(endpoint.operation, answer);
      if (caller !== "other site" && !endpoint.path.includes("openapi")) {
        expect(answer.headers.get("cache-control")).toBe("no-store");
      }
    });

    // Last: it changes something.
    test(`answers admin with ${endpoint.statuses[3]}`, async () => {
      const answer = await call(endpoint, "admin");
      expect(answer.status).toBe(endpoint.statuses[3]);
      expectDescribed(endpoint.operation, answer);
    });
  });

  test.each([
    ["nobody", "not logged in"],
    ["expired", "Session expired"],
    ["auth off", "auth.enabled"],
  ] as const)("tells %s why, with what to do", async (caller, words) => {
    const answer = await (visitors.get(caller) ?? site.stranger()).ask("/api/v1/locks");
    expect(answer.text).toContain(words);
  });

  test("a role that an admin removes is gone at the next request", async () => {
    const admin = await site.visitor("olga");
    const other = await site.visitor("bo");
    const path = "/api/v1/users/basic%3Abo/role";
    expect((await other.ask("/api/v1/users")).status).toBe(403);
    const raised = await admin.ask(path, { method: "PUT", json: { role: "admin" } });
    expect(JSON.parse(raised.text)).toMatchObject({ user: { username: "bo", role: "admin", provider: "basic" } });
    expect((await other.ask("/api/v1/users")).status).toBe(200);
    await admin.ask(path, { method: "PUT", json: { role: PEOPLE.bo } });
    expect((await other.ask("/api/v1/users")).status).toBe(403);
  });
});

test("a request for the server as a whole, which has no path, is answered and is no failure", async () => {
  const site = await startSite();
  const connection = await RawConnection.open(site.url);
  try {
    connection.post("*", { "content-length": 0 });
    expect((await connection.answer()).status).toBe(404);
    expect(site.log.lines.filter(({ level }) => level === "error")).toEqual([]);
  } finally {
    connection.close();
    await site.stop();
  }
});
