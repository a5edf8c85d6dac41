import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../../src/core/model/change-request.js";
import { StoredValueUnreadable, StoreUnavailable } from "../../../src/core/model/errors.js";
import { wrapPort } from "../../../src/observe/wrap-port.js";
import { readOpenapi } from "../../../src/web/api/api.js";
import { evaluated, resource, sampleApplication, sampleCheck, samplePlan } from "../../comments/samples.js";
import { fillStores, HEAD, MERGE, PULL } from "../sample-stores.js";
import { startSite, type SiteUnderTest } from "../site-under-test.js";
import type { Visitor } from "../visitor.js";
import { expectDescribed } from "./described.js";

let site: SiteUnderTest;
let admin: Visitor;

beforeEach(async () => {
  site = await startSite();
  await fillStores(site.stores, site.clock);
  admin = await site.visitor("olga");
});
afterEach(() => site.stop());

async function get(operation: string, path: string): Promise<unknown> {
  const answer = await admin.ask(path, { headers: { accept: "application/json" } });
  expectDescribed(operation, answer);
  return JSON.parse(answer.text);
}

test("the description has a value for each of its members", () => {
  // In YAML, a comma ends an unquoted text inside { }, and its rest becomes a member of its own.
  const empty: string[] = [];
  JSON.stringify(readOpenapi(), (key, value: unknown) => {
    if (value === null) empty.push(key);
    return value;
  });
  expect(empty).toEqual([]);
});

test("locks are the records of the store, with the address of the change request", async () => {
  expect(await get("get /api/v1/locks/{app}", "/api/v1/locks/argocd-extra%2Fshop")).toEqual({
    lock: {
      application: "argocd-extra/shop",
      pr_number: 3,
      repository: "acme/shop/deploy",
      host: "hostb",
      user: "bo",
      timestamp: expect.any(String),
      plan_revision: HEAD,
      url: "https://git.example.com/acme/shop/deploy/-/merge_requests/3",
    },
  });
  const all = (await get("get /api/v1/locks", "/api/v1/locks")) as { locks: { application: string }[] };
  expect(all.locks.map(({ application }) => application)).toEqual(["api", "argocd-extra/shop", "web"]);
});

/** Whose commit status and plan are to be brought up to date. */
async function marked(): Promise<readonly ChangeRequestRef[]> {
  const ever = new Date(site.clock.now().getTime() + 24 * 60 * 60_000);
  return (await site.stores.marks.take(ever, ever, 10)).map(({ change }) => change);
}

describe("releasing a lock", () => {
  const unlock = () => admin.ask("/api/v1/locks/web", { method: "DELETE" });

  test("frees the application, records who did it and updates the commit status", async () => {
    const answer = await unlock();
    expect(JSON.parse(answer.text)).toEqual({ status: "unlocked", application: "web" });
    expect(await site.stores.locks.find(applicationName("web"))).toBeUndefined();
    const [entry] = await site.stores.audit.list({ limit: 1 });
    expect(entry).toMatchObject({
      who: { host: "basic", login: "olga" },
      action: "force-unlocked",
      change: PULL,
      head: HEAD,
      applications: [{ application: "web", outcome: "released", detail: "was locked by ana" }],
    });
    expect(await marked()).toEqual([PULL]);
    expect(site.pushed[0]).toEqual({
      kind: "lock-lost",
      change: PULL,
      delivery: "unlock-run-1",
      by: "olga",
      applications: ["web"],
      waits: [],
    });
  });

  test.each([
    ["of one application", "/api/v1/locks/web"],
    ["of a change request", "/api/v1/locks?change=hosta%2Facme%2Fdeploy%2F7"],
  ])("%s whose answer is lost is recorded all the same", async (_, path) => {
    const { locks } = site.stores;
    const release = locks.release.bind(locks);
    locks.release = async (application, by) => {
      const released = await release(application, by);
      if (application !== "web" || !released) return released;
      throw new StoreUnavailable("failed to connect to Redis: timed out");
    };
    const answer = await admin.ask(path, { method: "DELETE" });
    expect(JSON.parse(answer.text)).toMatchObject({ status: "unlocked" });
    const [entry] = await site.stores.audit.list({ limit: 1 });
    expect(entry?.action).toBe("force-unlocked");
    expect(entry?.applications.map(({ application }) => application)).toContain("web");
  });

  test("that no longer exists is reported, and nothing is recorded", async () => {
    await unlock();
    const again = await unlock();
    expect(again.status).toBe(404);
    expectDescribed("delete /api/v1/locks/{app}", again);
    expect(again.text).toContain("no lock is held on the application");
    expect(await marked()).toEqual([PULL]);
  });
});

describe("releasing all locks of a change request", () => {
  const unlock = (change: string) =>
    admin.ask(`/api/v1/locks?change=${encodeURIComponent(change)}`, { method: "DELETE" });

  test("frees its applications and no others, with one entry in the trail", async () => {
    const answer = await unlock("hosta/acme/deploy/7");
    expect(JSON.parse(answer.text)).toEqual({ status: "unlocked", applications: ["api", "web"] });
    expectDescribed("delete /api/v1/locks", answer);
    const left = await site.stores.locks.list();
    expect(left.map(({ application }) => application)).toEqual(["argocd-extra/shop"]);
    const [entry, before] = await site.stores.audit.list({ limit: 2 });
    expect(entry).toMatchObject({
      who: { login: "olga" },
      action: "force-unlocked",
      change: PULL,
      applications: [{ application: "api" }, { application: "web", detail: "was locked by ana" }],
    });
    expect(before?.action).toBe("refused");
    expect(await marked()).toEqual([PULL]);
    expect(site.pushed[0]).toEqual({
      kind: "lock-lost",
      change: PULL,
      delivery: "unlock-run-1",
      by: "olga",
      applications: ["api", "web"],
      waits: [],
    });
  });

  test("leaves what another change request took meanwhile", async () => {
    const { locks } = site.stores;
    const list = locks.list.bind(locks);
    locks.list = async (holder) => {
      const found = await list(holder);
      const taken = { application: applicationName("web"), holder: MERGE, user: "bo", sourceFile: undefined };
      await locks.release(applicationName("web"), PULL);
      await locks.acquire({ ...taken, planRevision: HEAD }, site.clock.now());
      return found;
    };
    const answer = await unlock("hosta/acme/deploy/7");
    expect(JSON.parse(answer.text)).toEqual({ status: "unlocked", applications: ["api"] });
    expect((await locks.find(applicationName("web")))?.holder).toEqual(MERGE);
  });

  test("that nobody names is asked for", async () => {
    const { status, text } = await admin.ask("/api/v1/locks", { method: "DELETE" });
    expect([status, JSON.parse(text)]).toEqual([
      400,
      { error: 'query parameter "change": must be <github or gitlab>/<owner>/<repo>/<number>' },
    ]);
  });

  test("that holds none is reported", async () => {
    const answer = await unlock("hosta/acme/deploy/8");
    expect([answer.status, answer.text]).toEqual([404, expect.stringContaining("acme/deploy#8 holds no lock")]);
    expectDescribed("delete /api/v1/locks", answer);
    expect(await marked()).toEqual([]);
  });
});

test.each([
  ["a hold", "held", "POST", "/api/v1/holds", { applications: ["web"], reason: "migration" }],
  ["the release of a hold", "released", "DELETE", "/api/v1/holds/one", undefined],
  ["a role", "role-changed", "PUT", "/api/v1/users/basic%3Aolga/role", { role: "admin" }],
] as const)("%s whose answer is lost is recorded all the same", async (_what, action, method, path, json) => {
  const { holds, users, audit } = site.stores;
  const by = { provider: "basic", id: "basic:olga", login: "olga" } as const;
  const [since, until] = [site.clock.now(), new Date(site.clock.now().getTime() + 60_000)].map((at) =>
    at.toISOString(),
  );
  await holds.save(
    { id: "one", applications: ["api"], reason: "x", by, since: since ?? "", until: until ?? "" },
    site.clock.now(),
  );
  let lost = false;
  const lose = async <T>(done: Promise<T>): Promise<T> => {
    const answer = await done;
    if (lost) return answer;
    lost = true;
    throw new StoreUnavailable("failed to connect to Redis: timed out");
  };
  const [save, remove, setRole] = [holds.save.bind(holds), holds.remove.bind(holds), users.setRole.bind(users)];
  holds.save = (...given) => lose(save(...given));
  holds.remove = (...given) => lose(remove(...given));
  users.setRole = (...given) => lose(setRole(...given));
  const answer = await admin.ask(path, { method, ...(json && { json }) });
  expect([answer.status, answer.text, lost]).toEqual([200, expect.any(String), true]);
  expect((await audit.list({ limit: 10, filter: { action } })).map(({ who }) => who)).toEqual([
    { host: "basic", id: "basic:olga", login: "olga" },
  ]);
  expect(await holds.list()).toHaveLength(action === "held" ? 2 : action === "released" ? 0 : 1);
});

describe("changing a role", () => {
  const put = (options: Parameters<Visitor["ask"]>[1]) =>
    admin.ask("/api/v1/users/basic%3Aolga/role", { method: "PUT", ...options });
  const json = { "content-type": "application/json" };

  test.each([
    ["an unknown field", { json: { role: "user", name: "x" } }, 400, 'unknown field \\"name\\"'],
    ["a role that there is not", { json: { role: "owner" } }, 400, 'field \\"role\\": must be admin or user'],
    ["no role", { json: {} }, 400, 'field \\"role\\"'],
    ["a list", { json: ["admin"] }, 400, "not a JSON object"],
    ["a form", { form: { role: "admin" } }, 415, "application/json"],
    ["nothing", {}, 415, "application/json"],
    ["half a JSON", { form: { role: "admin" }, headers: json }, 400, "not a valid JSON"],
    ["too much", { json: { role: "x".repeat(20_000) } }, 413, "larger than 10 kB"],
    ["a packed body", { json: { role: "user" }, headers: { "content-encoding": "gzip" } }, 415, "encoding"],
  ] as const)("with %s is refused", async (_what, options, status, words) => {
    const answer = await put(options);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
    expectDescribed("put /api/v1/users/{id}/role", answer);
  });

  test("of an unknown user is refused", async () => {
    const answer = await admin.ask("/api/v1/users/nobody/role", { method: "PUT", json: { role: "user" } });
    expect(answer.status).toBe(404);
    expectDescribed("put /api/v1/users/{id}/role", answer);
  });
});

test("what the cluster differs by already stands beside the change, here and on the page", async () => {
  const both = await site.stores.plans.find(PULL);
  if (both === undefined) throw new Error("no plan");
  const drift = [resource("ConfigMap shop/settings", "update", "@@ -1 +1 @@\n-a: by hand\n+a: in git\n")];
  const basis = { kind: "both", approximate: [], alreadyThere: [], kept: [], drift } as const;
  await site.stores.plans.save({ ...both, applications: [sampleApplication("web", evaluated([], { basis }))] });
  const body = await get("get /api/v1/plans/{host}/{owner}/{repo}/{number}", "/api/v1/plans/hosta/acme/deploy/7");
  expect(body).toMatchObject({
    plan: {
      applications: [
        { compared_with: "both", resources: [], drift: [{ title: "ConfigMap shop/settings", action: "update" }] },
      ],
    },
  });
  const { text } = await admin.ask("/changes/github/acme/deploy/7");
  expect(text).toContain('<span class="badge">drift</span>');
});

test("a plan tells which resources a sync leaves, as the page and the comment do", async () => {
  const kept = { ...resource("ConfigMap shop/settings", "update", "@@ -1 +1 @@\n-a: 1\n+a: 2\n"), left: true };
  const stays = resource("PersistentVolumeClaim shop/data", "delete", "@@ -1 +0,0 @@\n-a: 1\n");
  const diff = { updated: 0, deleted: 0, stay: 1 };
  const web = sampleApplication("web", evaluated([stays, kept], diff));
  await site.stores.plans.save(samplePlan([web], { change: PULL }));
  expect(
    await get("get /api/v1/plans/{host}/{owner}/{repo}/{number}", "/api/v1/plans/hosta/acme/deploy/7"),
  ).toMatchObject({
    plan: {
      applications: [
        {
          changes: { create: 0, update: 0, delete: 0, stay: 1, left: 1, hooks: 0 },
          resources: [{ action: "delete" }, { action: "update", left: true }],
        },
      ],
    },
  });
  const { text } = await admin.ask("/changes/github/acme/deploy/7");
  expect(text).toContain("0 to create · 0 to update · 1 left in the cluster · 1 left as is");
});

test("a plan tells what Argo CD does besides when an application goes and its objects stay", async () => {
  const caution = "Argo CD runs hooks of it";
  const preview = { kind: "left-behind", objects: ["ConfigMap shop/settings"], caution } as const;
  const web = sampleApplication("web", { kind: "deleted", preview });
  await site.stores.plans.save(samplePlan([web], { change: PULL }));
  expect(
    await get("get /api/v1/plans/{host}/{owner}/{repo}/{number}", "/api/v1/plans/hosta/acme/deploy/7"),
  ).toMatchObject({ plan: { applications: [{ preview: { kind: "left-behind", cautions: [caution] } }] } });
  const { text } = await admin.ask("/changes/github/acme/deploy/7");
  expect(text).toContain(caution);
});

test("a plan tells how its checks ended", async () => {
  const outcome = { kind: "broken", reason: "it did not end within 1m", output: "reading" } as const;
  const checks = [sampleCheck("kubeconform"), sampleCheck("conftest", outcome)];
  const web = sampleApplication("web", { ...evaluated([]), checks });
  await site.stores.plans.save(samplePlan([web], { change: PULL }));
  expect(
    await get("get /api/v1/plans/{host}/{owner}/{repo}/{number}", "/api/v1/plans/hosta/acme/deploy/7"),
  ).toMatchObject({
    plan: {
      applications: [
        {
          checks: [
            { name: "kubeconform", required: true, kind: "passed" },
            { name: "conftest", required: true, kind: "broken", reason: "it did not end within 1m", output: "reading" },
          ],
        },
      ],
    },
  });
});

test("a plan is complete; a missing one is reported with what to do", async () => {
  const { plan } = (await get(
    "get /api/v1/plans/{host}/{owner}/{repo}/{number}",
    "/api/v1/plans/hosta/acme/deploy/7",
  )) as { plan: { head: string; applications: { application: string; resources?: { diff: string }[] }[] } };
  expect(plan.head).toBe(HEAD);
  expect(plan.applications.find(({ application }) => application === "web")?.resources?.[1]?.diff).toContain("key-39:");
  const missing = await admin.ask("/api/v1/plans/hosta/acme/deploy/8");
  expect([missing.status, missing.text]).toEqual([404, expect.stringContaining("`svc plan`")]);
});

describe("the activity", () => {
  const OPERATION = "get /api/v1/activity";

  test("comes a page at a time", async () => {
    const first = (await get(OPERATION, "/api/v1/activity?limit=2")) as { entries: { run_id: string }[]; next: string };
    expect(first.entries.map(({ run_id }) => run_id)).toEqual(["run-c", "run-b"]);
    const second = (await get(OPERATION, `/api/v1/activity?limit=2&before=${first.next}`)) as typeof first;
    expect([second.entries.map(({ run_id }) => run_id), second.next]).toEqual([["run-a"], undefined]);
  });

  test("leaves out what Argo CD said, which is for those who see the diffs", async () => {
    const [entry] = await site.stores.audit.list({ limit: 1 });
    if (entry === undefined) throw new Error("the trail is empty");
    const application = { application: applicationName("web"), outcome: "failed", detail: undefined };
    await site.stores.audit.record({ ...entry, applications: [{ ...application, message: "replicas: 7" }] });
    const { entries } = (await get(OPERATION, "/api/v1/activity?limit=1")) as { entries: { applications: object[] }[] };
    expect(entries[0]?.applications).toEqual([{ application: "web", outcome: "failed" }]);
    expect((await admin.ask("/activity")).text).not.toContain("replicas: 7");
  });

  test.each([
    ["action=refused", ["run-c"]],
    ["application=docs", ["run-b"]],
    ["login=ANA", ["run-c", "run-b"]],
    ["change=hosta/acme/deploy/7", ["run-c", "run-b", "run-a"]],
    ["change=hostb/acme/shop/deploy/3", []],
  ])("is filtered by %s", async (query, runs) => {
    const { entries } = (await get(OPERATION, `/api/v1/activity?${query}`)) as { entries: { run_id: string }[] };
    expect(entries.map(({ run_id }) => run_id)).toEqual(runs);
  });

  test.each([
    ["limit=201", "limit"],
    ["limit=1&limit=2", "limit"],
    ["before=../x", "before"],
    // Redis knows no entry before the first possible id, and no id of more than 64 bits.
    ["before=0", "before"],
    ["before=0-0", "before"],
    ["before=99999999999999999999", "before"],
    ["before=1-99999999999999999999", "before"],
    ["action=stolen", "action"],
    ["change=acme", "change"],
    ["sort=at", "sort"],
  ])("is refused with %s", async (query, name) => {
    const answer = await admin.ask(`/api/v1/activity?${query}`);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(name)]);
    expectDescribed(OPERATION, answer);
  });
});

test.each([
  [503, "connection refused", new StoreUnavailable("failed to connect to Redis: connection refused")],
  [500, "delete the key", new StoredValueUnreadable("svc:lock:web cannot be read: delete the key")],
  [500, "an unexpected error", new Error("locks is undefined")],
])("what the store cannot tell is reported with %i: %s", async (status, text, error) => {
  const list = () => Promise.reject(error);
  const other = await startSite({ over: ({ locks }) => ({ locks: wrapPort(locks, { list }) }) });
  try {
    const answer = await (await other.visitor("ana")).ask("/api/v1/locks");
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(text)]);
    expectDescribed("get /api/v1/locks", answer);
  } finally {
    await other.stop();
  }
});

test("an unknown address below /api/v1 is reported", async () => {
  const answer = await admin.ask("/api/v1/nothing");
  expect([answer.status, answer.text]).toEqual([404, expect.stringContaining("openapi.json")]);
});
