import { describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import type { GitHubForge } from "../../../sandbox/github/github-forge.js";
import type { GitLabForge } from "../../../sandbox/gitlab/gitlab-forge.js";
import { RedisServer } from "../../redis-server.js";
import type { Visited, Visitor } from "../visitor.js";
import { CLIENT, startLoginGitHub, startLoginGitLab } from "./forges.js";
import { OIDC_CLIENT, startIdentityProvider } from "./identity-provider.js";
import { startSite, STORE_KINDS, type Site, type SiteOptions } from "./site.js";

const MINUTE_MS = 60_000;
const DUE_MS = 15 * MINUTE_MS;

const HOSTS = ["hosta", "hostb"] as const;
type Host = (typeof HOSTS)[number];

interface Scene {
  readonly forge: GitHubForge | GitLabForge;
  readonly site: Site;
  readonly visitor: Visitor;
  /** Requests to the API for people so far. */
  asked(): number;
}

/** Ana is logged in with the role admin, as a member of acme/ops, which alone may log in. */
async function start(host: Host, more: SiteOptions = {}): Promise<Scene> {
  const forge = host === "hosta" ? await startLoginGitHub() : await startLoginGitLab();
  for (const team of ["acme/ops", "acme/admins"]) forge.setTeam(team, ["ana"]);
  const allowed = host === "hosta" ? { allowed_teams: ["acme/ops"] } : { allowed_groups: ["acme/ops"], url: forge.url };
  const pattern = host === "hosta" ? "@acme/admins" : "acme/admins";
  const site = await startSite({
    ...more,
    ...("apiUrl" in forge ? { hosta: { api_url: forge.apiUrl, web_url: forge.url } } : {}),
    auth: { [host]: { ...CLIENT, ...allowed }, role_assignments: [{ pattern, provider: host, role: "admin" }] },
  });
  forge.login.now = () => site.clock.now().getTime();
  const visitor = site.visitor();
  await visitor.open(`/auth/${host}/login?return_to=/status`);
  expect(await roleOf(visitor)).toBe("admin");
  const asked = () => forge.requests.filter(({ path }) => /^\/api\/v[34]\/user$/.test(path)).length;
  return { forge, site, visitor, asked };
}

/** A request that svc has read the session of, until it may go on. */
interface Held {
  readonly waits: Promise<Visited>;
  readonly goOn: () => void;
}

/** The role in the answer to one request; undefined for somebody who is not logged in. */
async function roleOf(visitor: Visitor): Promise<string | undefined> {
  return (JSON.parse((await visitor.ask("/status")).text) as { account?: { role: string } }).account?.role;
}

describe.each(STORE_KINDS)("with the %s store", (store) => {
  describe.each(HOSTS)("a person who logged in with %s", (host) => {
    test("loses the role with the team, after 15 minutes at the latest", async () => {
      const { forge, site, visitor, asked } = await start(host, { store });
      const before = asked();
      forge.setTeam("acme/admins", []);
      site.clock.advance(DUE_MS - 1);
      expect([await roleOf(visitor), asked() - before]).toEqual(["admin", 0]);
      site.clock.advance(1);
      expect([await roleOf(visitor), asked() - before]).toEqual(["user", 1]);
      forge.setTeam("acme/admins", ["ana"]);
      expect([await roleOf(visitor), asked() - before]).toEqual(["user", 1]);
      site.clock.advance(DUE_MS);
      expect([await roleOf(visitor), asked() - before]).toEqual(["admin", 2]);
      expect(forge.violations).toEqual([]);
    });

    test("is logged out everywhere when the provider no longer admits them, and can log in again when it does", async () => {
      const { forge, site, visitor } = await start(host, { store });
      const other = site.visitor();
      await other.open(`/auth/${host}/login`);
      forge.setTeam("acme/ops", []);
      site.clock.advance(DUE_MS);
      expect(await roleOf(visitor)).toBeUndefined();
      expect([await roleOf(other), await site.stores.users.list()]).toEqual([undefined, []]);
      const page = await visitor.open(`/auth/${host}/login`);
      expect(page.text).toContain("User not a member of allowed groups");
      forge.setTeam("acme/ops", ["ana"]);
      await visitor.open(`/auth/${host}/login`);
      expect([await roleOf(visitor), await roleOf(other)]).toEqual(["admin", undefined]);
      expect(site.lines.find(({ text }) => text.startsWith("a session was ended"))?.fields).toMatchObject({
        reason: "not-in-group",
      });
    });

    test("is logged out by the request that starts a login in the old session, which does not come back", async () => {
      const { forge, site, visitor } = await start(host, { store });
      const other = site.visitor();
      await other.open(`/auth/${host}/login`);
      forge.setTeam("acme/ops", []);
      site.clock.advance(DUE_MS);
      await other.ask(`/auth/${host}/login`);
      forge.setTeam("acme/ops", ["ana"]);
      await visitor.open(`/auth/${host}/login`);
      expect([await roleOf(visitor), await roleOf(other)]).toEqual(["admin", undefined]);
    });

    test("is logged out although a login in the same session starts at that moment", async () => {
      const { site, visitor } = await start(host, { store });
      const thief = site.visitor();
      thief.setCookie("svc_session", visitor.cookie("svc_session")?.value);
      const { users } = site.stores;
      const find = users.find.bind(users);
      const { waits, goOn } = await new Promise<Held>((begun) => {
        users.find = async (id) => {
          users.find = find;
          await new Promise<void>((resume) => begun({ waits: starting, goOn: resume }));
          return find(id);
        };
        const starting = thief.ask(`/auth/${host}/login`);
      });
      expect((await visitor.ask("/auth/logout", { form: {} })).status).toBe(303);
      goOn();
      expect((await waits).status).toBe(302);
      expect(await roleOf(thief)).toBeUndefined();
    });

    test("is logged out, too, with a role that an admin set, which outlasts that", async () => {
      const { forge, site, visitor } = await start(host, { store });
      const [ana] = await site.stores.users.list();
      await site.stores.users.setRole(ana?.id ?? "", "admin", { ...ana, id: "basic:olga" });
      forge.setTeam("acme/admins", []);
      site.clock.advance(DUE_MS);
      expect(await roleOf(visitor)).toBe("admin");
      forge.setTeam("acme/ops", []);
      site.clock.advance(DUE_MS);
      expect(await roleOf(visitor)).toBeUndefined();
    });

    test("is logged out after they removed the application from their account", async () => {
      const { forge, site, visitor } = await start(host, { store });
      forge.login.revoke("ana");
      site.clock.advance(DUE_MS);
      expect(await roleOf(visitor)).toBeUndefined();
    });

    test("keeps the role while the provider does not answer, for an hour at most", async () => {
      const { forge, site, visitor } = await start(host, { store });
      forge.setTeam("acme/ops", []);
      forge.faults.add({ path: /\/api\/v[34]\//, times: 1000, fault: { kind: "status", status: 503 } });
      for (let quarter = 1; quarter < 4; quarter += 1) {
        site.clock.advance(DUE_MS);
        expect([quarter, await roleOf(visitor)]).toEqual([quarter, "admin"]);
      }
      site.clock.advance(DUE_MS);
      expect(await roleOf(visitor)).toBeUndefined();
    });

    test("is asked about once, however many requests come at the same time", async () => {
      const { site, visitor, asked } = await start(host, { store });
      const before = asked();
      site.clock.advance(DUE_MS);
      const roles = await Promise.all(Array.from({ length: 10 }, () => roleOf(visitor)));
      expect(roles).toEqual(roles.map(() => "admin"));
      expect(asked() - before).toBe(1);
    });

    test("stays logged in for hours, longer than a token of GitLab lasts", async () => {
      const { site, visitor, asked } = await start(host, { store });
      const before = asked();
      for (let hour = 1; hour < 9; hour += 1) {
        site.clock.advance(60 * MINUTE_MS);
        expect([hour, await roleOf(visitor)]).toEqual([hour, "admin"]);
      }
      expect(asked() - before).toBe(8);
    });
  });
});

test.each([
  "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
  "API rate limit exceeded for user ID 4711.",
])("a limit of GitHub that only its message tells logs nobody out: %s", async (message) => {
  const { forge, site, visitor } = await start("hosta");
  forge.faults.add({ path: /\/user$/, fault: { kind: "status", status: 403, body: JSON.stringify({ message }) } });
  site.clock.advance(DUE_MS);
  expect(await roleOf(visitor)).toBe("admin");
  forge.faults.clear();
  site.clock.advance(DUE_MS);
  expect(await roleOf(visitor)).toBe("admin");
});

test("two replicas ask about a person once", async () => {
  const redis = await RedisServer.start();
  const { forge, site, visitor, asked } = await start("hostb", { redis });
  const second = await startSite({
    redis,
    auth: { hostb: { ...CLIENT, url: forge.url, allowed_groups: ["acme/ops"] } },
  });
  const there = second.visitor();
  there.setCookie("svc_session", visitor.cookie("svc_session")?.value);
  const before = asked();
  for (const { clock } of [site, second]) clock.advance(3 * 60 * MINUTE_MS);
  const roles = await Promise.all([roleOf(visitor), roleOf(there), roleOf(visitor), roleOf(there)]);
  expect(roles.every((role) => role !== undefined)).toBe(true);
  expect(asked() - before).toBe(1);
});

test("a provider that was removed from the configuration keeps nobody logged in", async () => {
  const redis = await RedisServer.start();
  const { visitor } = await start("hosta", { redis });
  const second = await startSite({ redis, auth: { basic: { users: [] } } });
  const there = second.visitor();
  there.setCookie("svc_session", visitor.cookie("svc_session")?.value);
  expect(await roleOf(there)).toBeUndefined();
  expect(await roleOf(visitor)).toBe("admin");
});

test("the store holds no token that could be used", async () => {
  const redis = await RedisServer.start();
  const { forge, site } = await start("hosta", { redis });
  const tokens = forge.requests.flatMap(({ authorization = "" }) => /^Bearer (gho_\S+)/.exec(authorization)?.[1] ?? []);
  expect(tokens.length).toBeGreaterThan(0);
  const raw = new Redis(redis.port, "127.0.0.1");
  const dump = async (key: string) => ((await raw.type(key)) === "hash" ? raw.hgetall(key) : raw.get(key));
  const kept = JSON.stringify(await Promise.all((await raw.keys("*")).map(dump)));
  raw.disconnect();
  expect(kept).toContain("sealed");
  for (const token of tokens) expect(kept + JSON.stringify(site.lines)).not.toContain(token);
});

describe("a person who logged in with OpenID Connect", () => {
  const RULES = [{ pattern: "ops", provider: "oidc", role: "admin" }];

  async function startOidc(options: { readonly refresh: boolean; readonly inIdToken?: boolean }) {
    const idp = await startIdentityProvider({ inIdToken: options.inIdToken, refreshTokens: options.refresh });
    idp.claims = { ...idp.claims, groups: ["ops"] };
    const oidc = {
      name: "Acme Login",
      issuer_url: idp.issuer,
      ...OIDC_CLIENT,
      scopes: ["openid", "email", "profile", "groups"],
      groups_claim: "groups",
      allowed_domains: ["example.com"],
    };
    const site = await startSite({ auth: { oidc, role_assignments: RULES } });
    const visitor = site.visitor();
    await visitor.open("/auth/oidc/login?return_to=/status");
    expect(await roleOf(visitor)).toBe("admin");
    return { idp, site, visitor };
  }

  test.each([true, false])("loses role and login with their claims (in the ID token: %s)", async (inIdToken) => {
    const { idp, site, visitor } = await startOidc({ refresh: true, inIdToken });
    site.clock.advance(DUE_MS);
    expect(await roleOf(visitor)).toBe("admin");
    idp.claims = { ...idp.claims, groups: ["dev"] };
    site.clock.advance(DUE_MS);
    expect(await roleOf(visitor)).toBe("user");
    idp.claims = { ...idp.claims, email: "ana@elsewhere.org" };
    site.clock.advance(DUE_MS);
    expect(await roleOf(visitor)).toBeUndefined();
  });

  test("cannot be asked about without a refresh token, and stays until the session ends", async () => {
    const { idp, site, visitor } = await startOidc({ refresh: false });
    idp.claims = { ...idp.claims, groups: [] };
    site.clock.advance(30 * MINUTE_MS);
    expect(await roleOf(visitor)).toBe("admin");
  });
});

test("users of the file follow the file: who was removed is logged out, and roles are those of the file", async () => {
  const redis = await RedisServer.start();
  const start = async (people: Readonly<Record<string, string>>) => {
    const users = Object.entries(people).map(([username, role]) => ({ username, password: "p", role }));
    return startSite({ redis, auth: { basic: { users } } });
  };
  const first = await start({ ana: "user", bo: "admin", cy: "user", olga: "admin" });
  const cookies = new Map<string, string | undefined>();
  for (const username of ["ana", "bo", "cy"]) {
    const visitor = first.visitor();
    await visitor.ask("/auth/basic/login", { json: { username, password: "p" } });
    cookies.set(username, visitor.cookie("svc_session")?.value);
  }
  const [cy] = (await first.stores.users.list()).filter(({ username }) => username === "cy");
  if (cy === undefined) throw new Error("cy is not logged in");
  await first.stores.users.setRole("basic:cy", "admin", cy);
  const second = await start({ bo: "user", cy: "user", olga: "admin" });
  for (const [username, role] of [
    ["ana", undefined],
    ["bo", "user"],
    ["cy", "admin"],
  ] as const) {
    const there = second.visitor();
    there.setCookie("svc_session", cookies.get(username));
    expect([username, await roleOf(there)]).toEqual([username, role]);
  }
});
