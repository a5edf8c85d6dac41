import { describe, expect, test } from "@jest/globals";
import type { Visited, Visitor } from "../visitor.js";
import {
  OIDC_CLIENT,
  startIdentityProvider,
  type IdentityOptions,
  type IdentityProvider,
} from "./identity-provider.js";
import { startSite, STORE_KINDS, type Site, type SiteOptions } from "./site.js";

interface Scene {
  readonly idp: IdentityProvider;
  readonly site: Site;
  readonly visitor: Visitor;
}

interface SceneOptions {
  readonly oidc?: object;
  readonly idp?: IdentityOptions;
  readonly site?: SiteOptions;
}

async function start({ oidc = {}, idp: more, site: options = {} }: SceneOptions = {}): Promise<Scene> {
  const idp = await startIdentityProvider(more);
  const section = { name: "Acme Login", issuer_url: idp.issuer, ...OIDC_CLIENT, ...oidc };
  const site = await startSite({ ...options, auth: { oidc: section, ...options.auth } });
  return { idp, site, visitor: site.visitor() };
}

async function who(visitor: Visitor): Promise<Readonly<Record<string, unknown>> | undefined> {
  const viewer = JSON.parse((await visitor.ask("/status")).text) as { account?: Readonly<Record<string, unknown>> };
  return viewer.account;
}

/** The address that the provider leads back to, not asked for yet. */
async function callbackOf(visitor: Visitor, begin: (address: URL) => void = () => undefined): Promise<URL> {
  const address = new URL((await visitor.ask("/auth/oidc/login?return_to=/status")).headers.get("location") ?? "");
  begin(address);
  let visited: Visited = await visitor.ask(address.href);
  for (;;) {
    const next = new URL(visited.headers.get("location") ?? "", visited.url);
    if (next.pathname === "/auth/oidc/callback") return next;
    visited = await visitor.ask(next.href);
  }
}

describe.each(STORE_KINDS)("logging in with an OpenID provider, with the %s store", (store) => {
  test.each([true, false])("leads there and back (claims in the ID token: %s)", async (inIdToken) => {
    const { site, visitor } = await start({ idp: { inIdToken }, site: { store } });
    expect((await visitor.open("/login")).text).toContain("Sign in with Acme Login");
    const page = await visitor.open("/auth/oidc/login?return_to=/status");
    expect(page.url.pathname).toBe("/status");
    expect(await who(visitor)).toEqual({
      id: "oidc:ana-1",
      provider: "oidc",
      username: "ana",
      email: "ana@example.com",
      role: "user",
    });
    expect(JSON.stringify(site.lines)).not.toMatch(/eyJ|an-oidc-secret/);
  });

  test("a callback works once, in the browser that started it, within ten minutes", async () => {
    const { site, visitor } = await start({ site: { store } });
    const callback = await callbackOf(visitor);
    expect((await site.visitor().ask(callback.href)).status).toBe(400);
    const wrong = new URL(callback);
    wrong.searchParams.set("state", "wrong");
    expect((await visitor.ask(wrong.href)).status).toBe(400);
    expect((await visitor.ask(callback.href)).status).toBe(303);
    expect((await visitor.ask(callback.href)).status).toBe(400);
    const late = site.visitor();
    const old = await callbackOf(late);
    site.clock.advance(10 * 60_000);
    expect((await late.ask(old.href)).status).toBe(400);
    expect(await who(late)).toBeUndefined();
  });
});

describe("what is rejected", () => {
  test("a token that was made for another login", async () => {
    const { visitor } = await start();
    const callback = await callbackOf(visitor, ({ searchParams }) => searchParams.set("nonce", "of-another-login"));
    const page = await visitor.ask(callback.href);
    expect(page.status).toBe(502);
    expect(page.text).toContain("Its token was not made for this sign-in");
    expect(await who(visitor)).toBeUndefined();
  });

  test("a token that is no longer valid", async () => {
    const { visitor } = await start({ idp: { idTokenTtl: -120 } });
    const page = await visitor.open("/auth/oidc/login");
    expect(page.status).toBe(502);
    expect(page.text).toContain("The answer of Acme Login could not be trusted");
    expect(await who(visitor)).toBeUndefined();
  });

  test("a code that belongs to another verifier", async () => {
    const { visitor } = await start();
    const challenge = "A".repeat(43);
    const callback = await callbackOf(visitor, ({ searchParams }) => searchParams.set("code_challenge", challenge));
    const page = await visitor.ask(callback.href);
    expect([page.status, page.text.includes("Acme Login no longer accepts this sign-in")]).toEqual([400, true]);
  });

  test("an answer in the name of another issuer", async () => {
    const { visitor } = await start();
    const callback = await callbackOf(visitor);
    callback.searchParams.set("iss", "https://evil.example.org");
    expect((await visitor.ask(callback.href)).status).toBe(502);
  });

  test("an invented code", async () => {
    const { visitor } = await start();
    const callback = await callbackOf(visitor);
    callback.searchParams.set("code", "invented");
    expect((await visitor.ask(callback.href)).status).toBe(400);
  });
});

describe("who may not log in", () => {
  test("a person who cancels", async () => {
    const { idp, visitor } = await start();
    idp.refuses = true;
    const page = await visitor.open("/auth/oidc/login");
    expect([page.status, page.text.includes("You did not give access at Acme Login")]).toEqual([403, true]);
  });

  test("somebody whose address the provider does not call verified, unless the operator accepts that", async () => {
    const claims = { email: "olga@example.com", preferred_username: "ana" };
    const rules = [{ pattern: "olga@example.com", role: "admin" }];
    const { idp, visitor } = await start({ site: { auth: { role_assignments: rules } } });
    idp.claims = claims;
    const page = await visitor.open("/auth/oidc/login");
    expect([page.status, page.text.includes("Your e-mail address is not verified")]).toEqual([403, true]);
    expect(await who(visitor)).toBeUndefined();
    const open = await start({ oidc: { require_verified_email: false } });
    open.idp.claims = claims;
    expect((await open.visitor.open("/auth/oidc/login?return_to=/status")).status).toBe(200);
    expect(await who(open.visitor)).toMatchObject({ email: "olga@example.com" });
  });

  const verified = { email: "ana@example.com", email_verified: true };
  test.each<[string, object, Readonly<Record<string, unknown>>, string | undefined]>([
    [
      "an address that is not verified",
      {},
      { ...verified, email_verified: false },
      "Your e-mail address is not verified",
    ],
    ["an address that is said not to be in a text", {}, { ...verified, email_verified: "false" }, "not verified"],
    ["an address without a word about it", {}, { email: "ana@example.com" }, "Your e-mail address is not verified"],
    ["an address with an empty word about it", {}, { ...verified, email_verified: null }, "not verified"],
    [
      "an address without a word about it where that is accepted",
      { require_verified_email: false },
      { email: "ana@example.com" },
      undefined,
    ],
    [
      "an address that is not verified where a missing word is accepted",
      { require_verified_email: false },
      { ...verified, email_verified: false },
      "Your e-mail address is not verified",
    ],
    [
      "an address in another claim than the one that was verified",
      { email_claim: "preferred_username", allowed_domains: ["acme.org"] },
      { ...verified, preferred_username: "ana@acme.org" },
      "Your e-mail address is not verified",
    ],
    [
      "the verified address in another claim",
      { email_claim: "preferred_username" },
      { ...verified, preferred_username: "Ana@Example.com" },
      undefined,
    ],
    ["no address", {}, { preferred_username: "ana" }, "The identity provider did not return an e-mail address"],
    ["an empty address", {}, { email: "", email_verified: true }, "did not return an e-mail address"],
    ["no claim of the configured name", { email_claim: "upn" }, verified, "has no claim <code>upn</code>"],
    ["an address in the domain", { allowed_domains: ["Example.com"] }, verified, undefined],
    [
      "an address in the domain in other case",
      { allowed_domains: ["example.com"] },
      { ...verified, email: "ana@EXAMPLE.com" },
      undefined,
    ],
    [
      "an address in another domain",
      { allowed_domains: ["acme.org"] },
      verified,
      "Only addresses at acme.org may log in",
    ],
    ["an address in a domain below", { allowed_domains: ["com"] }, verified, "not in an allowed domain"],
    [
      "two addresses in one",
      { allowed_domains: ["acme.org"] },
      { ...verified, email: "ana@example.com@acme.org" },
      "did not return an e-mail",
    ],
  ])("%s", async (_what, oidc, claims, refusal) => {
    const { idp, visitor } = await start({ oidc });
    idp.claims = claims;
    const page = await visitor.open("/auth/oidc/login?return_to=/status");
    expect(page.status).toBe(refusal === undefined ? 200 : 403);
    expect((await who(visitor)) === undefined).toBe(refusal !== undefined);
    if (refusal !== undefined) expect(page.text.replaceAll("&#39;", "'")).toContain(refusal);
  });
});

describe("roles", () => {
  const assignments = [
    { pattern: "ops", provider: "oidc", role: "admin" },
    { pattern: "boss@example.com", role: "admin" },
  ];
  const oidc = { scopes: ["openid", "email", "profile", "groups"], groups_claim: "groups" };
  test.each<[object, Readonly<Record<string, unknown>>, string]>([
    [oidc, { groups: ["dev", "ops"] }, "admin"],
    [oidc, { groups: "ops" }, "admin"],
    [oidc, { groups: ["dev"] }, "user"],
    [oidc, { groups: [{ name: "ops" }] }, "user"],
    [oidc, {}, "user"],
    [{ ...oidc, groups_claim: undefined }, { groups: ["ops"] }, "user"],
    [oidc, { email: "Boss@example.com" }, "admin"],
  ])("with %j and the claims %j: %s", async (section, claims, role) => {
    const { idp, visitor } = await start({ oidc: section, site: { auth: { role_assignments: assignments } } });
    idp.claims = { email: "ana@example.com", email_verified: true, ...claims };
    await visitor.open("/auth/oidc/login");
    expect(await who(visitor)).toMatchObject({ role });
  });
});

describe("the description of the provider", () => {
  test("that is missing is read again at the next login, and cached after that", async () => {
    const { idp, site, visitor } = await start();
    idp.discovery = false;
    const page = await visitor.open("/auth/oidc/login");
    expect(page.status).toBe(502);
    expect(page.text).toContain("OIDC discovery failed");
    expect(page.text).toContain("auth.oidc.issuer_url");
    expect(site.lines.some(({ text }) => text === "OIDC discovery failed")).toBe(true);
    idp.discovery = true;
    for (let times = 0; times < 3; times += 1) await visitor.open("/auth/oidc/login");
    expect(await who(visitor)).toBeDefined();
    expect(idp.discoveries()).toBe(2);
    site.clock.advance(3_600_000);
    await site.visitor().open("/auth/oidc/login");
    expect(idp.discoveries()).toBe(3);
  });

  test.each([
    ["http://127.0.0.1:9", "it could not be reached"],
    ["http://sso.example.com", "its address is plain http"],
  ])("at %s cannot be used: %s", async (issuer, problem) => {
    const { visitor } = await start({ oidc: { issuer_url: issuer } });
    const page = await visitor.open("/auth/oidc/login");
    expect([page.status, page.text.includes("OIDC discovery failed"), page.text.includes(problem)]).toEqual([
      502,
      true,
      true,
    ]);
    const program = await visitor.ask("/auth/oidc/login", { headers: { accept: "application/json" } });
    expect(JSON.parse(program.text)).toEqual({ error: expect.stringContaining("OIDC discovery failed") });
  });

  test("of another issuer is not used", async () => {
    const { idp, visitor } = await start();
    const site = await startSite({
      auth: {
        oidc: { name: "Other", issuer_url: idp.issuer.replace("127.0.0.1", "localhost"), ...OIDC_CLIENT },
      },
    });
    expect((await visitor.open("/auth/oidc/login")).status).toBe(404);
    const page = await site.visitor().open("/auth/oidc/login");
    expect([page.status, page.text.includes("it describes a provider of another name")]).toEqual([502, true]);
  });

  test("does not delay the start while the provider is unavailable", async () => {
    const { visitor } = await start({ oidc: { issuer_url: "http://127.0.0.1:9" } });
    expect((await visitor.open("/login")).text).toContain("Sign in with Acme Login");
  });
});

test("an unknown callback address shows the page of the provider, and ours is in the log", async () => {
  const { site, visitor } = await start({ idp: { redirectUri: "https://elsewhere.example.com/callback" } });
  const page = await visitor.open("/auth/oidc/login");
  expect([page.status, page.text.includes("redirect_uri")]).toEqual([400, true]);
  expect(site.lines.filter(({ text }) => text === "register exactly this callback address")).toMatchObject([
    { fields: { provider: "oidc", callback: "http://svc.example.com/auth/oidc/callback" } },
  ]);
});

test("an endless claim is cut, and never rendered as HTML", async () => {
  const { idp, visitor } = await start();
  idp.claims = { email: "ana@example.com", email_verified: true, preferred_username: `<b>\u202e${"x".repeat(500)}` };
  await visitor.open("/auth/oidc/login");
  const { username } = (await who(visitor)) as { username: string };
  expect(username.length).toBeLessThan(110);
  expect(username).not.toContain("\u202e");
});
