import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { MOST_ATTEMPTS } from "../../../src/web/auth/api-tokens.js";
import { RedisServer } from "../../redis-server.js";
import type { Visited, Visitor } from "../visitor.js";
import { startSite, STORE_KINDS, type Site, type SiteOptions } from "./site.js";

const USERS = [
  { username: "olga", password: "correct horse", role: "admin" },
  { username: "ana", password: "battery staple", role: "user" },
];

function start(options: SiteOptions = {}): Promise<Site> {
  return startSite({ ...options, auth: { basic: { users: USERS }, ...options.auth } });
}

function logIn(visitor: Visitor, username = "olga", password = "correct horse"): Promise<Visited> {
  return visitor.ask("/auth/basic/login", { json: { username, password } });
}

async function whoIs(visitor: Visitor): Promise<unknown> {
  return JSON.parse((await visitor.ask("/status")).text);
}

const olga = { id: "basic:olga", provider: "basic", username: "olga", role: "admin" };
const anonymous = { kind: "anonymous", expired: false };

describe.each(STORE_KINDS)("logging in by password, with the %s store", (store) => {
  test("a program receives its user and a session", async () => {
    const site = await start({ store });
    const visitor = site.visitor();
    const answer = await logIn(visitor);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { user: olga }]);
    expect(await whoIs(visitor)).toEqual({ kind: "account", account: olga });
    const me = await visitor.ask("/auth/me");
    expect([me.status, JSON.parse(me.text), me.headers.get("cache-control")]).toEqual([
      200,
      { user: olga },
      "no-store",
    ]);
    expect(await whoIs(site.visitor())).toEqual(anonymous);
  });

  test("a form leads back to the requested page", async () => {
    const site = await start({ store });
    const visitor = site.visitor();
    const form = { username: "ana", password: "battery staple", return_to: "/status?a=1" };
    const answer = await visitor.ask("/auth/basic/login", { form });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/status?a=1"]);
    expect(await whoIs(visitor)).toMatchObject({ account: { username: "ana", role: "user" } });
  });

  test("a role set by an admin applies to the next request and survives the next login", async () => {
    const site = await start({ store });
    const [admin, user] = [site.visitor(), site.visitor()];
    await logIn(admin);
    await logIn(user, "ana", "battery staple");
    const [, by] = await site.stores.users.list();
    if (by === undefined) throw new Error("two people are active");
    await site.stores.users.setRole("basic:ana", "admin", by);
    expect(await whoIs(user)).toMatchObject({ account: { role: "admin" } });
    await user.ask("/auth/logout", { method: "POST" });
    await logIn(user, "ana", "battery staple");
    expect(await whoIs(user)).toMatchObject({ account: { role: "admin" } });
  });

  test("logging out ends the session everywhere", async () => {
    const site = await start({ store });
    const visitor = site.visitor();
    await logIn(visitor);
    const copied = visitor.cookie("svc_session")?.value;
    const answer = await visitor.ask("/auth/logout", { method: "POST" });
    expect(answer.status).toBe(204);
    expect(visitor.cookie("svc_session")).toBeUndefined();
    expect(await site.stores.users.list()).toEqual([]);
    visitor.setCookie("svc_session", copied);
    expect(await whoIs(visitor)).toEqual({ kind: "anonymous", expired: true });
    await logIn(visitor);
    const form = await visitor.ask("/auth/logout", { form: {} });
    expect([form.status, form.headers.get("location")]).toEqual([303, "/login"]);
  });

  test("a session ends at session_ttl, even if it is in use", async () => {
    const site = await start({ store, auth: { session_ttl: "2h" } });
    const visitor = site.visitor();
    await logIn(visitor);
    site.clock.advance(119 * 60_000);
    expect(await whoIs(visitor)).toMatchObject({ kind: "account" });
    site.clock.advance(60_000);
    expect(await whoIs(visitor)).toEqual({ kind: "anonymous", expired: true });
    const me = await visitor.ask("/auth/me");
    expect([me.status, JSON.parse(me.text)]).toEqual([401, { error: "Session expired" }]);
    const page = await visitor.open("/login");
    expect(page.text).toContain("Session expired");
    expect((await visitor.open("/login")).text).not.toContain("Session expired");
  });

  test("a login changes the id of the session", async () => {
    const site = await start({ store });
    const visitor = site.visitor();
    await logIn(visitor);
    const first = visitor.cookie("svc_session")?.value;
    await logIn(visitor);
    const second = visitor.cookie("svc_session")?.value;
    expect(second).not.toBe(first);
    visitor.setCookie("svc_session", first);
    expect(await whoIs(visitor)).toMatchObject({ expired: true });
  });

  test("an address with too many attempts has to wait", async () => {
    const site = await start({ store });
    const visitor = site.visitor();
    const statuses: number[] = [];
    for (let tries = 0; tries <= MOST_ATTEMPTS; tries += 1) {
      statuses.push((await logIn(visitor, "olga", "wrong")).status);
    }
    expect(new Set(statuses.slice(0, -1))).toEqual(new Set([401]));
    const refused = await logIn(visitor);
    expect([statuses.at(-1), refused.status]).toEqual([429, 429]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(200);
    expect(refused.text).toContain("Too many sign-ins from your address");
    expect((await visitor.ask("/auth/me")).status).toBe(401);
    const page = await visitor.ask("/auth/basic/login", { form: { username: "olga", password: "wrong" } });
    expect([page.status, page.text.includes("Back to the sign-in page")]).toEqual([429, true]);
    if (store !== "memory") return;
    site.clock.advance(4 * 60_000);
    const later = await logIn(visitor);
    expect([later.headers.get("retry-after"), later.text.includes("Wait 60 seconds")]).toEqual(["60", true]);
    site.clock.advance(60_000);
    expect((await logIn(visitor)).status).toBe(200);
  });
});

test("an address is the same on each connection, also where a proxy writes the port behind it", async () => {
  const site = await start({ server: { trust_proxy: true } });
  const attempt = (port: number) =>
    site.visitor().ask("/auth/basic/login", {
      json: { username: "olga", password: "wrong" },
      headers: { "x-forwarded-for": `203.0.113.7:${port}` },
    });
  for (let tries = 1; tries <= MOST_ATTEMPTS; tries += 1) expect((await attempt(50_000 + tries)).status).toBe(401);
  expect((await attempt(60_000)).status).toBe(429);
});

describe("refusals", () => {
  test.each([
    [{ username: "olga", password: "wrong" }, 401, "Wrong username or password"],
    [{ username: "nobody", password: "correct horse" }, 401, "Wrong username or password"],
    [{ username: "ana", password: "correct horse" }, 401, "Wrong username or password"],
    [{ password: "correct horse" }, 400, "username: must be a non-empty text"],
    [{ username: "olga", password: 7 }, 400, "password: must be a non-empty text"],
    [{ username: { $ne: "" }, password: "x" }, 400, "username: must be a non-empty text"],
    [[], 400, "the body: must be an object with username and password"],
  ])("%j is answered %i", async (json, status, text) => {
    const site = await start();
    const visitor = site.visitor();
    const answer = await visitor.ask("/auth/basic/login", { json });
    expect([answer.status, answer.text.includes(text)]).toEqual([status, true]);
    expect(answer.text).not.toContain("correct horse");
    expect(visitor.cookie("svc_session")).toBeUndefined();
  });

  test("incomplete JSON is a bad request, shown as a page to a form and as JSON to a program", async () => {
    const site = await start();
    const half = { method: "POST", headers: { "content-type": "application/json" } };
    const answer = await fetch(`${site.url}/auth/basic/login`, { ...half, body: '{"username' });
    expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ error: expect.any(String) })]);
  });

  test("a wrong password in a form stays on the sign-in page, with the name and where to go", async () => {
    const site = await start();
    const form = { username: "<b>olga", password: "wrong", return_to: "/status" };
    const answer = await site.visitor().ask("/auth/basic/login", { form });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain("Wrong username or password");
    expect(answer.text).toContain('<form method="post" action="/auth/basic/login"');
    expect(answer.text).toContain('name="return_to" value="/status"');
    expect(answer.text).toContain('value="&lt;b&gt;olga"');
    expect(answer.text).not.toContain('wrong"');
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });
});

describe("the cookie", () => {
  test.each([
    [{}, ["Path=/", "HttpOnly", "SameSite=Lax"], ["Secure", "Domain"]],
    [{ cookie_domain: "svc.example.com" }, ["Domain=svc.example.com"], ["Secure"]],
  ])("with %j has %j and not %j", async (auth, present, absent) => {
    const site = await start({ auth });
    const visitor = site.visitor();
    await logIn(visitor);
    const { value = "", attributes = "" } = visitor.cookie("svc_session") ?? {};
    for (const text of present) expect(attributes).toContain(text);
    for (const text of absent) expect(attributes).not.toContain(text);
    expect(decodeURIComponent(value)).toMatch(/^s:[\w-]{32}\./);
  });

  test("is Secure behind a proxy that ends TLS", async () => {
    const site = await start({ server: { trust_proxy: true }, auth: { cookie_secure: true } });
    const visitor = site.visitor();
    const headers = { "x-forwarded-proto": "https" };
    const json = { username: "olga", password: "correct horse" };
    await visitor.ask("/auth/basic/login", { json, headers });
    expect(visitor.cookie("svc_session")?.secure).toBe(true);
    const there = BASE_HTTPS;
    expect((await visitor.ask(`${there}/status`, { headers })).text).toContain("basic:olga");
    expect((await visitor.ask("/status")).text).toContain("anonymous");
  });

  test.each([
    [false, {}, "Open this service by its https address"],
    [false, { "x-forwarded-proto": "https" }, "set server.trust_proxy to true"],
    [true, {}, "let it send the header X-Forwarded-Proto"],
    [true, { "x-forwarded-proto": "http" }, "Open this service by its https address"],
  ])("a login over plain http is refused with the cure (trust_proxy %s, %j)", async (trust, headers, cure) => {
    const site = await start({ server: { trust_proxy: trust }, auth: { cookie_secure: true } });
    const form = { username: "olga", password: "correct horse" };
    for (let times = 0; times < 2; times += 1) {
      const answer = await site.visitor().ask("/auth/basic/login", { form, headers });
      expect([answer.status, answer.text.includes(cure)]).toEqual([400, true]);
    }
    const warnings = site.lines.filter(({ text }) => text === "a login came over plain http");
    expect(warnings).toHaveLength(1);
  });

  test.each([
    ["forged", "s%3AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA.c2lnbmF0dXJl"],
    ["unsigned", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
    ["broken", "s%3A%E0%A4%A"],
    ["empty", ""],
  ])("one that is %s belongs to nobody", async (_kind, value) => {
    const visitor = (await start()).visitor();
    visitor.setCookie("svc_session", value);
    expect(await whoIs(visitor)).toEqual(anonymous);
  });
});

const BASE_HTTPS = "https://svc.example.com";

describe("with authentication off", () => {
  test.each(["/auth/providers", "/auth/me", "/auth/hosta/login", "/auth/oidc/callback", "/login"])(
    "%s is not there",
    async (path) => {
      const site = await start({ auth: { enabled: false } });
      expect((await site.visitor().ask(path)).status).toBe(404);
    },
  );

  test("every viewer is unguarded, and nobody can log in", async () => {
    const site = await start({ auth: { enabled: false } });
    const visitor = site.visitor();
    expect(await whoIs(visitor)).toEqual({ kind: "unguarded" });
    expect((await logIn(visitor)).status).toBe(404);
    expect((await visitor.ask("/auth/logout", { method: "POST" })).status).toBe(404);
  });
});

describe("the sign-in page", () => {
  test("has the form and says that it is for development", async () => {
    const page = await (await start()).visitor().open("/login?return_to=%2Fstatus");
    expect(page.text).toContain("For local development only");
    expect(page.text).toContain('name="return_to" value="/status"');
    expect(page.headers.get("cache-control")).toBe("no-store");
  });

  test("says how to configure a provider when there is none", async () => {
    const site = await startSite({});
    expect((await site.visitor().open("/login")).text).toContain("No way to sign in is configured");
    const providers = await site.visitor().ask("/auth/providers");
    expect(JSON.parse(providers.text)).toEqual({ providers: [] });
  });

  test("redirects users who are logged in already", async () => {
    const visitor = (await start()).visitor();
    await logIn(visitor);
    const answer = await visitor.ask("/login?return_to=/status");
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/status"]);
  });
});

describe("while the store is unavailable", () => {
  test("no user counts as logged out, and nothing crashes", async () => {
    const site = await start({ store: "redis" });
    const visitor = site.visitor();
    await logIn(visitor);
    await site.redis?.kill();
    const page = await visitor.ask("/status");
    expect([page.status, page.text.includes("failed to connect to Redis")]).toEqual([503, true]);
    const me = await visitor.ask("/auth/me", { headers: { accept: "application/json" } });
    expect([me.status, JSON.parse(me.text)]).toEqual([503, { error: expect.stringContaining("failed to connect") }]);
    expect((await logIn(site.visitor())).status).toBe(503);
    expect((await site.visitor().ask("/login")).status).toBe(200);
    expect(visitor.cookie("svc_session")).toBeDefined();
  });

  test("sessions work again when the store does", async () => {
    const site = await start({ store: "redis" });
    const visitor = site.visitor();
    await logIn(visitor);
    site.redis?.freeze();
    expect((await visitor.ask("/status")).status).toBe(503);
    site.redis?.thaw();
    expect(await whoIs(visitor)).toEqual({ kind: "account", account: olga });
  });

  test("a service that started without it allows logins once it is available", async () => {
    const redis = await RedisServer.start();
    await redis.kill();
    const site = await start({ redis });
    expect((await logIn(site.visitor())).status).toBe(503);
    await redis.restart();
    let status = 503;
    for (let tries = 0; status === 503 && tries < 100; tries += 1) {
      await site.stores.ping().catch(() => delay(50));
      ({ status } = await logIn(site.visitor()));
    }
    expect(status).toBe(200);
  });
});

test("two replicas on one store share sessions, roles and the count of attempts", async () => {
  const redis = await RedisServer.start();
  const [one, two] = [await start({ redis }), await start({ redis })];
  const visitor = one.visitor();
  await logIn(visitor);
  const there = two.visitor();
  there.setCookie("svc_session", visitor.cookie("svc_session")?.value);
  expect(await whoIs(there)).toEqual({ kind: "account", account: olga });
  expect(await two.stores.users.list()).toEqual([{ ...olga, email: undefined }]);
  const sites = [one, two];
  const statuses: number[] = [];
  for (let tries = 1; tries <= MOST_ATTEMPTS; tries += 1) {
    statuses.push((await logIn(sites[tries % 2]?.visitor() ?? visitor, "olga", "wrong")).status);
  }
  expect(statuses.slice(-2)).toEqual([401, 429]);
});
