import { describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import type { GitHubForge } from "../../../sandbox/github/github-forge.js";
import { RawConnection } from "../../raw-connection.js";
import type { Visitor } from "../visitor.js";
import { CLIENT, startLoginGitHub } from "./forges.js";
import { startSite, STORE_KINDS, type Site, type SiteOptions } from "./site.js";

interface Scene {
  readonly github: GitHubForge;
  readonly site: Site;
  readonly visitor: Visitor;
}

async function start(hosta: object = {}, more: SiteOptions = {}): Promise<Scene> {
  const github = await startLoginGitHub();
  const site = await startSite({
    ...more,
    hosta: { api_url: github.apiUrl, web_url: github.url },
    auth: { hosta: { ...CLIENT, ...hosta }, ...more.auth },
  });
  return { github, site, visitor: site.visitor() };
}

/** All keys and values of the Redis behind a site. */
async function everythingIn({ redis }: Site): Promise<unknown> {
  if (redis === undefined) return [];
  const raw = new Redis(redis.port, "127.0.0.1");
  try {
    const dump = async (key: string) => [key, key.includes(":{user}:") ? await raw.hgetall(key) : await raw.get(key)];
    return await Promise.all((await raw.keys("*")).map(dump));
  } finally {
    raw.disconnect();
  }
}

async function roleOf(visitor: Visitor): Promise<unknown> {
  return (JSON.parse((await visitor.ask("/status")).text) as { account?: { role: string } }).account?.role;
}

const ACTIVE = { members: new Map([["ana", "active" as const]]) };
const PENDING = { members: new Map([["ana", "pending" as const]]) };

describe.each(STORE_KINDS)("logging in with GitHub, with the %s store", (store) => {
  test("leads to GitHub, back, and to the requested page", async () => {
    const { github, site, visitor } = await start({}, { store });
    const page = await visitor.open("/login?return_to=/status");
    expect(page.text).toContain('href="/auth/hosta/login?return_to=%2Fstatus"');
    expect(page.text).toContain("Sign in with GitHub");
    const who = await visitor.open("/auth/hosta/login?return_to=/status");
    const id = JSON.parse(who.text) as { account: { id: string } };
    expect(who.url.pathname).toBe("/status");
    expect(id).toEqual({
      kind: "account",
      account: {
        id: expect.stringMatching(/^hosta:\d+$/),
        provider: "hosta",
        username: "ana",
        email: "ana@example.com",
        role: "user",
      },
    });
    expect(github.violations).toEqual([]);
    expect(await site.stores.users.list()).toEqual([id.account]);
    const kept = JSON.stringify(site.lines) + JSON.stringify(await everythingIn(site));
    if (store === "redis") expect(kept).toContain("svc:session:");
    for (const secret of ["gho_", CLIENT.client_secret]) expect(kept).not.toContain(secret);
  });

  test("every login uses its own state and challenge, and the exact callback address", async () => {
    const { visitor } = await start({}, { store });
    const [one, two] = [await visitor.ask("/auth/hosta/login"), await visitor.ask("/auth/hosta/login")].map(
      ({ headers }) => new URL(headers.get("location") ?? "").searchParams,
    );
    expect(Object.fromEntries(one ?? [])).toEqual({
      client_id: "svc-login",
      response_type: "code",
      redirect_uri: "http://svc.example.com/auth/hosta/callback",
      scope: "read:user user:email read:org",
      allow_signup: "false",
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
    });
    for (const name of ["state", "code_challenge"]) expect(one?.get(name)).not.toBe(two?.get(name));
  });

  test("a callback works once, in the browser that started it, within ten minutes", async () => {
    const { site, visitor } = await start({}, { store });
    const comeBack = async (from: Visitor) => {
      const github = (await from.ask("/auth/hosta/login")).headers.get("location") ?? "";
      return (await from.ask(github)).headers.get("location") ?? "";
    };
    const callback = await comeBack(visitor);
    const stranger = await site.visitor().ask(callback);
    expect([stranger.status, stranger.text.includes("This sign-in was not started here")]).toEqual([400, true]);
    expect((await visitor.ask(callback)).status).toBe(303);
    expect((await visitor.ask(callback)).status).toBe(400);
    expect(await roleOf(visitor)).toBe("user");
    const late = site.visitor();
    const again = await comeBack(late);
    site.clock.advance(10 * 60_000);
    expect((await late.ask(again)).status).toBe(400);
    expect((await late.ask("/auth/me")).status).toBe(401);
  });

  test("a callback at an address that is none is refused like any other that was not started here", async () => {
    const { site } = await start({}, { store });
    const connection = await RawConnection.open(site.url);
    connection.write(
      "GET http://:99999/auth/hosta/callback?state=x HTTP/1.1\r\nhost: x\r\naccept: application/json\r\n\r\n",
    );
    expect((await connection.answer()).status).toBe(400);
    connection.close();
  });

  test("two tabs can log in at the same time", async () => {
    const { visitor } = await start({}, { store });
    const first = (await visitor.ask("/auth/hosta/login?return_to=/status?tab=1")).headers.get("location") ?? "";
    const second = (await visitor.ask("/auth/hosta/login?return_to=/status?tab=2")).headers.get("location") ?? "";
    const back = (await visitor.ask(first)).headers.get("location") ?? "";
    expect((await visitor.ask(second)).status).toBe(302);
    expect((await visitor.ask(back)).headers.get("location")).toBe("/status?tab=1");
  });
});

describe("organizations and teams", () => {
  test.each<[string, object, (github: GitHubForge) => void, string | undefined, number]>([
    [
      "a member",
      { allowed_orgs: ["other", "acme"] },
      ({ login }) => login.setOrganization("acme", ACTIVE),
      undefined,
      200,
    ],
    [
      "a member in other case",
      { allowed_orgs: ["ACME"] },
      ({ login }) => login.setOrganization("acme", ACTIVE),
      undefined,
      200,
    ],
    ["no member", { allowed_orgs: ["acme"] }, () => undefined, "User not in allowed organization", 403],
    [
      "somebody invited",
      { allowed_orgs: ["acme"] },
      ({ login }) => login.setOrganization("acme", PENDING),
      "User not in allowed organization",
      403,
    ],
    [
      "a member of an organization that hides it",
      { allowed_orgs: ["acme"] },
      ({ login }) => login.setOrganization("acme", { ...ACTIVE, policy: "hidden" }),
      "User not in allowed organization",
      403,
    ],
    [
      "a member of an organization that restricts applications",
      { allowed_orgs: ["acme"] },
      ({ login }) => login.setOrganization("acme", { ...ACTIVE, policy: "restricted" }),
      "An owner of the organization acme has to approve this application",
      502,
    ],
    [
      "a member without a single sign-on session",
      { allowed_orgs: ["acme"] },
      ({ login }) => login.setOrganization("acme", { ...ACTIVE, policy: "sso" }),
      "The organization requires single sign-on",
      502,
    ],
    [
      "somebody about whom GitHub has no answer",
      { allowed_orgs: ["acme"] },
      ({ login, faults }) => {
        login.setOrganization("acme", ACTIVE);
        faults.add({ path: /memberships\/orgs/, fault: { kind: "status", status: 502 } });
      },
      "Could not verify whether you belong to an allowed organization",
      502,
    ],
    [
      "somebody whose rate limit is used up",
      { allowed_teams: ["acme/ops"] },
      ({ faults }) => {
        const headers = { "x-ratelimit-remaining": "0" };
        faults.add({ path: /teams\/ops/, fault: { kind: "status", status: 403, headers } });
      },
      "Its rate limit is used up",
      502,
    ],
    [
      "a member of the team",
      { allowed_teams: ["acme/ops"] },
      (github) => github.setTeam("acme/ops", ["ana"]),
      undefined,
      200,
    ],
    [
      "a member of another team",
      { allowed_teams: ["acme/ops"] },
      (github) => github.setTeam("acme/dev", ["ana"]),
      "User not a member of allowed groups",
      403,
    ],
    [
      "a member of the team with which a name begins that no team of GitHub can have",
      { allowed_teams: ["acme/ops/night"] },
      (github) => github.setTeam("acme/ops", ["ana"]),
      "User not a member of allowed groups",
      403,
    ],
    [
      "a member of the organization but not of the team",
      { allowed_orgs: ["acme"], allowed_teams: ["acme/ops"] },
      ({ login }) => login.setOrganization("acme", ACTIVE),
      "User not a member of allowed groups",
      403,
    ],
    [
      "a member of one organization while another one does not answer",
      { allowed_orgs: ["broken", "acme"] },
      ({ login, faults }) => {
        login.setOrganization("acme", ACTIVE);
        faults.add({ path: /orgs\/broken/, fault: { kind: "drop" } });
      },
      undefined,
      200,
    ],
  ])("%s with %j", async (_who, hosta, prepare, refusal, status) => {
    const { github, site, visitor } = await start(hosta);
    prepare(github);
    const page = await visitor.open("/auth/hosta/login?return_to=/status");
    expect(page.status).toBe(status);
    expect(await roleOf(visitor)).toBe(refusal === undefined ? "user" : undefined);
    if (refusal !== undefined) {
      expect(page.text).toContain(refusal);
      expect(page.text).toContain('href="/login?return_to=%2Fstatus"');
      expect(visitor.cookie("svc_session") && (await site.stores.users.list())).toEqual([]);
    }
    expect(github.violations).toEqual([]);
  });
});

describe("roles", () => {
  const byTeam = [{ pattern: "@acme/ops", provider: "hosta", role: "admin" }];
  const byAnyTeam = [{ pattern: "@acme/*", provider: "hosta", role: "admin" }];
  const byDomain = [{ pattern: "*@example.com", role: "admin" }];

  const byLongName = [{ pattern: "@acme/ops/night", provider: "hosta", role: "admin" }];

  test.each<[string, readonly object[], (github: GitHubForge) => void, string]>([
    ["a team whose name goes on", byLongName, (github) => github.setTeam("acme/ops", ["ana"]), "user"],
    ["a team that is named", byTeam, (github) => github.setTeam("acme/ops", ["ana"]), "admin"],
    ["another team", byTeam, (github) => github.setTeam("acme/dev", ["ana"]), "user"],
    ["any team of an organization", byAnyTeam, (github) => github.setTeam("acme/dev", ["ana"]), "admin"],
    ["a team of another organization", byAnyTeam, (github) => github.setTeam("other/dev", ["ana"]), "user"],
    ["the primary address", byDomain, () => undefined, "admin"],
    [
      "an address that is not verified",
      byDomain,
      ({ login }) => login.setEmails("ana", [{ email: "ana@example.com", primary: true, verified: false }]),
      "user",
    ],
    [
      "an address that is not the primary one",
      byDomain,
      ({ login }) =>
        login.setEmails("ana", [
          { email: "ana@elsewhere.org", primary: true, verified: true },
          { email: "ana@example.com", primary: false, verified: true },
        ]),
      "user",
    ],
  ])("by %s", async (_what, assignments, prepare, role) => {
    const { github, visitor } = await start({}, { auth: { role_assignments: assignments, hosta: CLIENT } });
    prepare(github);
    await visitor.open("/auth/hosta/login?return_to=/status");
    expect(await roleOf(visitor)).toBe(role);
    expect(github.violations).toEqual([]);
  });

  test("a team that GitHub cannot confirm gives nobody a guessed role", async () => {
    const { github, visitor } = await start({}, { auth: { role_assignments: byTeam, hosta: CLIENT } });
    github.faults.add({ path: /teams\/ops/, fault: { kind: "status", status: 503 } });
    const page = await visitor.open("/auth/hosta/login");
    expect([page.status, page.text.includes("Could not verify whether you belong to @acme/ops")]).toEqual([502, true]);
    expect(await roleOf(visitor)).toBeUndefined();
  });

  test("only the relevant teams are requested", async () => {
    const { github, visitor } = await start(
      { allowed_orgs: ["acme"] },
      { auth: { role_assignments: [...byTeam, { pattern: "x", provider: "hostb", role: "admin" }] } },
    );
    github.login.setOrganization("acme", ACTIVE);
    await visitor.open("/auth/hosta/login?return_to=/status");
    const asked = github.requests.map(({ path }) => path).filter((path) => path.startsWith("/api/v3/"));
    expect([...asked].sort()).toEqual([
      "/api/v3/orgs/acme/teams/ops/memberships/ana",
      "/api/v3/user",
      "/api/v3/user/emails",
      "/api/v3/user/memberships/orgs/acme",
    ]);
  });
});

describe("when GitHub says no", () => {
  test("a person who cancels sees that", async () => {
    const { github, visitor } = await start();
    github.login.signedIn = "cancel";
    const page = await visitor.open("/auth/hosta/login");
    expect([page.status, page.text.includes("You did not give access at GitHub")]).toEqual([403, true]);
  });

  test.each(["redirect", "page"] as const)("a callback address that is not registered (%s)", async (onMismatch) => {
    const { github, visitor, site } = await start();
    const callbackUrl = "http://svc.example.com/auth/hosta/callback/else";
    github.login.registerApp({
      clientId: CLIENT.client_id,
      clientSecret: CLIENT.client_secret,
      callbackUrl,
      onMismatch,
    });
    const page = await visitor.open("/auth/hosta/login");
    if (onMismatch === "page") {
      expect(page.text).toContain("is not associated with this application");
    } else {
      expect(page.status).toBe(404);
      const { search } = page.url;
      const answer = await visitor.ask(`/auth/hosta/callback${search}`);
      expect([answer.status, answer.text.includes("Invalid redirect URI")]).toEqual([502, true]);
      expect(answer.text).toContain("http://svc.example.com/auth/hosta/callback");
    }
    const logged = site.lines.find(({ text }) => text === "register exactly this callback address");
    expect(logged?.fields).toMatchObject({ callback: "http://svc.example.com/auth/hosta/callback" });
  });

  test.each([
    ["incorrect_client_credentials", 502, "GitHub does not accept this application", "auth.github.client_secret"],
    ["redirect_uri_mismatch", 502, "Invalid redirect URI", "http://svc.example.com/auth/hosta/callback"],
    ["bad_verification_code", 400, "GitHub no longer accepts this sign-in", "Sign in again"],
    ["something_else", 502, "GitHub refused the sign-in", "something_else"],
  ])("its error %s, which comes with status 200, is understood", async (error, status, sentence, cure) => {
    const { github, visitor } = await start();
    const body = JSON.stringify({ error, error_description: "words", error_uri: "https://docs.github.com" });
    const headers = { "content-type": "application/json" };
    github.faults.add({ path: /access_token/, fault: { kind: "status", status: 200, body, headers } });
    const page = await visitor.open("/auth/hosta/login");
    expect(page.status).toBe(status);
    for (const text of [sentence, cure]) expect(page.text).toContain(text);
  });

  test.each([
    ["access_token", { kind: "drop" } as const, "GitHub could not be reached"],
    ["access_token", { kind: "status", status: 500 } as const, "The answer of GitHub could not be trusted"],
    ["user$", { kind: "drop" } as const, "GitHub could not be reached"],
    ["user$", { kind: "status", status: 401 } as const, "Could not verify who you are"],
    ["user$", { kind: "half-json" } as const, "Could not verify who you are"],
    ["user$", { kind: "redirect", to: "http://127.0.0.1:9/" } as const, "GitHub could not be reached"],
    ["emails", { kind: "status", status: 404 } as const, "user:email"],
  ])("a broken %s (%j) lets nobody in", async (path, fault, text) => {
    const { github, visitor } = await start();
    github.faults.add({ path: new RegExp(path), fault });
    const page = await visitor.open("/auth/hosta/login");
    expect(page.status).toBe(502);
    expect(page.text).toContain(text);
    expect(await roleOf(visitor)).toBeUndefined();
  });

  test("texts in the callback address are shown only to the browser that started the login, and never as HTML", async () => {
    const { visitor } = await start();
    const evil = "error=x&error_description=<script>call+555</script>";
    const stranger = await visitor.ask(`/auth/hosta/callback?${evil}`);
    expect([stranger.status, stranger.text.includes("555")]).toEqual([400, false]);
    const state = new URL((await visitor.ask("/auth/hosta/login")).headers.get("location") ?? "").searchParams.get(
      "state",
    );
    const mine = await visitor.ask(`/auth/hosta/callback?${evil}&state=${state ?? ""}`);
    expect(mine.status).toBe(502);
    expect(mine.text).toContain("&lt;script&gt;call 555");
    expect(mine.text).not.toContain("<script>");
  });

  test("an issuer that is not GitHub is refused", async () => {
    const { visitor } = await start();
    const github = (await visitor.ask("/auth/hosta/login")).headers.get("location") ?? "";
    const back = new URL((await visitor.ask(github)).headers.get("location") ?? "");
    back.searchParams.set("iss", "https://evil.example.org");
    const page = await visitor.ask(back.href);
    expect([page.status, page.text.includes("could not be trusted")]).toEqual([502, true]);
  });
});

test("a service that only serves GitLab allows logins with github.com", async () => {
  const site = await startSite({ hosta: false, auth: { hosta: CLIENT } });
  const started = (await site.visitor().ask("/auth/hosta/login")).headers.get("location");
  expect(started).toContain("https://github.com/login/oauth/authorize?");
});

test("a provider that is not configured does not exist", async () => {
  const { visitor } = await start();
  for (const path of ["/auth/hostb/login", "/auth/oidc/callback", "/auth/basic/login"]) {
    expect((await visitor.ask(path)).status).toBe(404);
  }
  const listed = JSON.parse((await visitor.ask("/auth/providers")).text) as unknown;
  expect(listed).toEqual({ providers: [{ id: "hosta", name: "GitHub", login_url: "/auth/hosta/login" }] });
});

test("without base_url nobody is redirected", async () => {
  const github = await startLoginGitHub();
  const hosta = { api_url: github.apiUrl, web_url: github.url };
  const site = await startSite({ hosta, server: { base_url: undefined }, auth: { hosta: CLIENT } });
  const page = await site.visitor().ask("/auth/hosta/login");
  expect([page.status, page.text.includes("set server.base_url")]).toEqual([500, true]);
});
