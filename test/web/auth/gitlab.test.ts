import { describe, expect, test } from "@jest/globals";
import type { GitLabForge } from "../../../sandbox/gitlab/gitlab-forge.js";
import type { Visitor } from "../visitor.js";
import { CLIENT, startLoginGitLab } from "./forges.js";
import { startSite, STORE_KINDS, type Site, type SiteOptions } from "./site.js";

interface Scene {
  readonly gitlab: GitLabForge;
  readonly site: Site;
  readonly visitor: Visitor;
}

async function start(hostb: object = {}, more: SiteOptions = {}): Promise<Scene> {
  const gitlab = await startLoginGitLab();
  const auth = { hostb: { ...CLIENT, url: gitlab.url, ...hostb }, ...more.auth };
  const site = await startSite({ ...more, auth });
  return { gitlab, site, visitor: site.visitor() };
}

async function roleOf(visitor: Visitor): Promise<unknown> {
  return (JSON.parse((await visitor.ask("/status")).text) as { account?: { role: string } }).account?.role;
}

describe.each(STORE_KINDS)("logging in with GitLab, with the %s store", (store) => {
  test("leads to GitLab, back, and to the requested page", async () => {
    const { gitlab, site, visitor } = await start({}, { store });
    const started = new URL((await visitor.ask("/auth/hostb/login")).headers.get("location") ?? "");
    expect(started.href.startsWith(`${gitlab.url}/oauth/authorize?`)).toBe(true);
    expect(started.searchParams.get("scope")).toBe("read_user read_api");
    const who = await visitor.open("/auth/hostb/login?return_to=/status");
    expect(who.url.pathname).toBe("/status");
    expect(JSON.parse(who.text)).toEqual({
      kind: "account",
      account: {
        id: expect.stringMatching(/^hostb:\d+$/),
        provider: "hostb",
        username: "ana",
        email: "ana@example.com",
        role: "user",
      },
    });
    expect(gitlab.violations).toEqual([]);
    expect(JSON.stringify(site.lines)).not.toMatch(/[0-9a-f]{64}/);
  });
});

describe("groups", () => {
  const inGroup = (path: string) => (gitlab: GitLabForge) => gitlab.setTeam(path, ["ana"]);
  test.each<[string, readonly string[], (gitlab: GitLabForge) => void, string | undefined, number]>([
    ["a member", ["other", "acme"], inGroup("acme"), undefined, 200],
    ["a member in other case", ["ACME/Ops"], inGroup("acme/ops"), undefined, 200],
    [
      "a member of the group above",
      ["acme/ops"],
      (gitlab) => {
        gitlab.setTeam("acme", ["ana"]);
        gitlab.setTeam("acme/ops", []);
      },
      undefined,
      200,
    ],
    [
      "a member of the group below",
      ["acme"],
      (gitlab) => {
        gitlab.setTeam("acme", []);
        gitlab.setTeam("acme/ops", ["ana"]);
      },
      "User not a member of allowed groups",
      403,
    ],
    [
      "somebody with Minimal Access, as single sign-on gives everybody",
      ["acme"],
      (gitlab) => {
        gitlab.setTeam("acme", ["ana"]);
        gitlab.webhooks.setGroupLevel("acme", 5, "ana");
      },
      "User not a member of allowed groups",
      403,
    ],
    ["nobody there", ["acme"], () => undefined, "User not a member of allowed groups", 403],
    [
      "somebody about whom GitLab has no answer",
      ["acme"],
      (gitlab) => {
        gitlab.setTeam("acme", ["ana"]);
        gitlab.faults.add({ path: /members\/all/, fault: { kind: "status", status: 500 } });
      },
      "Could not verify whether you belong to an allowed group",
      502,
    ],
    [
      "somebody whose group enforces single sign-on",
      ["acme"],
      ({ faults }) => void faults.add({ path: /members\/all/, fault: { kind: "status", status: 403 } }),
      "If the group enforces single sign-on, sign in there first",
      502,
    ],
    [
      "somebody too many",
      ["acme"],
      ({ faults }) => void faults.add({ path: /members\/all/, fault: { kind: "status", status: 429 } }),
      "Its rate limit is used up",
      502,
    ],
  ])("%s with allowed_groups %j", async (_who, groups, prepare, refusal, status) => {
    const { gitlab, visitor } = await start({ allowed_groups: groups });
    prepare(gitlab);
    const page = await visitor.open("/auth/hostb/login?return_to=/status");
    expect(page.status).toBe(status);
    expect(await roleOf(visitor)).toBe(refusal === undefined ? "user" : undefined);
    if (refusal !== undefined) expect(page.text).toContain(refusal);
    expect(gitlab.violations).toEqual([]);
  });

  test.each([
    ["acme/ops", "acme/ops", "admin"],
    ["acme/*", "acme/ops", "admin"],
    ["acme/*", "other/ops", "user"],
    ["acme/ops", "acme", "admin"],
    ["acme", "acme/ops", "user"],
  ])("the assignment %s gives a member of %s the role %s", async (pattern, group, role) => {
    const assignments = [{ pattern, provider: "hostb", role: "admin" }];
    const { gitlab, visitor } = await start({}, { auth: { role_assignments: assignments } });
    for (const path of ["acme", "acme/ops", "other", "other/ops"]) gitlab.setTeam(path, path === group ? ["ana"] : []);
    await visitor.open("/auth/hostb/login");
    expect(await roleOf(visitor)).toBe(role);
    expect(gitlab.violations).toEqual([]);
  });
});

test("Minimal Access of a group gives no role of an assignment for its members", async () => {
  const assignments = [{ pattern: "acme", provider: "hostb", role: "admin" }];
  const { gitlab, visitor } = await start({}, { auth: { role_assignments: assignments } });
  gitlab.setTeam("acme", ["ana"]);
  gitlab.webhooks.setGroupLevel("acme", 5, "ana");
  await visitor.open("/auth/hostb/login");
  expect(await roleOf(visitor)).toBe("user");
});

describe("when GitLab says no", () => {
  test("an account that is not confirmed is refused", async () => {
    const { gitlab, visitor } = await start(
      {},
      { auth: { role_assignments: [{ pattern: "*@example.com", role: "admin" }] } },
    );
    gitlab.login.setAccount("ana", { email: "ana@example.com", confirmed: false });
    const page = await visitor.open("/auth/hostb/login");
    expect([page.status, page.text.includes("Your GitLab account is not active")]).toEqual([403, true]);
    expect(await roleOf(visitor)).toBeUndefined();
  });

  test("a blocked account is refused", async () => {
    const { gitlab, visitor } = await start();
    gitlab.block("ana");
    expect((await visitor.open("/auth/hostb/login")).status).toBe(502);
    expect(await roleOf(visitor)).toBeUndefined();
  });

  test("a person who cancels sees that", async () => {
    const { gitlab, visitor } = await start();
    gitlab.login.signedIn = "deny";
    const page = await visitor.open("/auth/hostb/login");
    expect([page.status, page.text.includes("You did not give access at GitLab")]).toEqual([403, true]);
  });

  test("missing scopes are named", async () => {
    const { gitlab, visitor } = await start();
    gitlab.login.registerApplication({
      clientId: CLIENT.client_id,
      clientSecret: CLIENT.client_secret,
      redirectUris: ["http://svc.example.com/auth/hostb/callback"],
      scopes: ["read_user"],
    });
    const page = await visitor.open("/auth/hostb/login");
    expect([page.status, page.text.includes("invalid_scope")]).toEqual([502, true]);
  });

  test("a wrong client secret names the keys to check", async () => {
    const { visitor } = await start({ client_secret: "another-secret-of-the-tests" });
    const page = await visitor.open("/auth/hostb/login");
    expect([page.status, page.text.includes("auth.gitlab.client_secret")]).toEqual([502, true]);
    expect(page.text).not.toContain("another-secret-of-the-tests");
  });

  test("a code that comes too late asks to start again", async () => {
    const { gitlab, visitor } = await start();
    const authorize = (await visitor.ask("/auth/hostb/login")).headers.get("location") ?? "";
    const back = (await visitor.ask(authorize)).headers.get("location") ?? "";
    gitlab.login.now = () => Date.now() + 600_000;
    const page = await visitor.ask(back);
    expect([page.status, page.text.includes("GitLab no longer accepts this sign-in")]).toEqual([400, true]);
  });
});

test("an address below a path of the host keeps its path", async () => {
  const site = await startSite({ auth: { hostb: { ...CLIENT, url: "https://example.org/gitlab/" } } });
  const started = (await site.visitor().ask("/auth/hostb/login")).headers.get("location");
  expect(started).toContain("https://example.org/gitlab/oauth/authorize?");
});
