import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { loadServerConfig } from "../../src/config/server/server.js";
import { applicationName } from "../../src/core/model/brand.js";
import { HOST_TITLES } from "../../src/names.js";
import { publishProgress } from "../../src/run/line/run.js";
import { rsaKey } from "../config/rsa-key.js";
import { HOSTS, REPOSITORY, type Bot } from "../scenarios/bot.js";
import { asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { LiveReader } from "../web/live-reader.js";
import type { Visitor } from "../web/visitor.js";
import { accountOf, browserOf, loggedIn, loginOf, startWithLogin, withPassword } from "./logged-in.js";

const SECRET_VALUE = "plans-of-the-merger";
const MINUTE_MS = 60_000;

/** Opens a change request whose diff is nobody's business. */
function openConfidential(bot: Bot): Promise<number> {
  return bot.open({ "apps/web/configmap.yaml": configMap("web", { value: SECRET_VALUE }) });
}

/** What the page, the API and the live stream of a change request tell a visitor. */
async function everythingOf(bot: Bot, number: number, visitor: Visitor) {
  const page = await visitor.ask(`/changes/${bot.host}/${REPOSITORY}/${number}`);
  const api = await visitor.ask(`/api/v1/plans/${bot.host}/${REPOSITORY}/${number}`);
  const run = { change: bot.ref(number), runId: `run-${number}`, command: "sync", startedAt: bot.clock.now() } as const;
  const progress = publishProgress(run, bot.stores.live);
  const message = `applying ${SECRET_VALUE}`;
  progress.report(applicationName("web"), { kind: "running", done: 1, total: 4, message });
  const cookie = `svc_session=${visitor.cookie("svc_session")?.value ?? ""}`;
  const reader = await LiveReader.open(`${bot.service.url}/changes/${bot.host}/${REPOSITORY}/${number}/live`, {
    cookie,
  });
  const live = await reader.until('"done":1');
  reader.leave();
  progress.end();
  return { page, api, live };
}

async function expectDiff(bot: Bot, number: number, visitor: Visitor): Promise<void> {
  const { page, api, live } = await everythingOf(bot, number, visitor);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(SECRET_VALUE)]);
  expect([api.status, api.text]).toEqual([200, expect.stringContaining(SECRET_VALUE)]);
  expect(live).toContain(SECRET_VALUE);
}

async function expectNoDiff(bot: Bot, number: number, visitor: Visitor, why: string): Promise<void> {
  const { page, api, live } = await everythingOf(bot, number, visitor);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(why)]);
  expect([api.status, api.text]).toEqual([403, expect.stringContaining(why)]);
  for (const text of [page.text, api.text, live]) expect(text).not.toContain(SECRET_VALUE);
}

describe.each(HOSTS)("a visitor of the pages, with %s", (host) => {
  const title = HOST_TITLES[host];
  const cannot = (who: string) =>
    `Diffs are shown only to people who can read the repository on ${title}, and ${who} cannot.`;

  test("who logs in without access to a private repository reads no diff of it, on no page and over no API", async () => {
    const bot = await startWithLogin(host);
    const number = await openConfidential(bot);
    await expectNoDiff(bot, number, await loggedIn(bot, "eve"), cannot("eve"));
    await expectDiff(bot, number, await loggedIn(bot, "ana"));
    bot.forge.setVisibility(REPOSITORY, "public");
    await expectDiff(bot, number, await loggedIn(bot, "mallory"));
  });

  test("whose access was taken away reads diffs for five more minutes at most", async () => {
    const bot = await startWithLogin(host);
    const number = await openConfidential(bot);
    const bo = await loggedIn(bot, "bo");
    await expectDiff(bot, number, bo);
    bot.forge.setAccess(REPOSITORY, "bo", "none");
    bot.clock.advance(5 * MINUTE_MS + 1);
    await expectNoDiff(bot, number, bo, cannot("bo"));
    bot.forge.setAccess(REPOSITORY, "bo", "write");
    bot.clock.advance(MINUTE_MS + 1);
    await expectDiff(bot, number, bo);
  });

  test("reads no diff while the host does not say whether they may, and none of a repository that is gone", async () => {
    const bot = await startWithLogin(host);
    const number = await openConfidential(bot);
    const ana = await loggedIn(bot, "ana");
    // The first page after the login asked for the title.
    bot.clock.advance(5 * MINUTE_MS + 1);
    const asked = host === "hosta" ? /\/permission$/ : /\/projects\/acme(?:\/|%2F)deploy$/;
    const fault = { kind: "status", status: 500, body: "{}" } as const;
    bot.forge.faults.add({ path: asked, times: 100, fault });
    await expectNoDiff(bot, number, ana, `${title} did not say whether you can read this repository.`);
    bot.forge.faults.clear();
    bot.forge.faults.add({ path: asked, times: 1, fault: { ...fault, status: 404 } });
    await expectNoDiff(bot, number, ana, cannot("ana"));
    bot.clock.advance(MINUTE_MS + 1);
    await expectDiff(bot, number, ana);
  });

  test("makes svc ask the host once per repository, and not about addresses that have no plan", async () => {
    const bot = await startWithLogin(host);
    const number = await openConfidential(bot);
    const questions = () =>
      bot.forge.requests.filter(({ path }) => /\/permission$|\/members\/all\/\d+$/.test(path)).length;
    const eve = await loggedIn(bot, "eve");
    bot.clock.advance(5 * MINUTE_MS + 1);
    const before = questions();
    for (let times = 0; times < 5; times += 1) await eve.ask(`/changes/${host}/${REPOSITORY}/${number}`);
    expect(questions() - before).toBe(1);
    for (const address of [`acme/nothing/${number}`, "acme/deploy/999"]) {
      await eve.ask(`/changes/${host}/${address}`);
      await eve.ask(`/api/v1/plans/${host}/${address}`);
      const cookie = `svc_session=${eve.cookie("svc_session")?.value ?? ""}`;
      (await LiveReader.open(`${bot.service.url}/changes/${host}/${address}/live`, { cookie })).leave();
    }
    expect(questions() - before).toBe(1);
  });

  test("without an account on the host reads diffs as an admin or with auth.diffs: all, and not otherwise", async () => {
    const why = `Diffs are shown only to people who can read the repository on ${title}, and svc does not know your account there.`;
    const bot = await startWithLogin(host);
    const number = await openConfidential(bot);
    await expectNoDiff(bot, number, await withPassword(bot, "vera"), why);
    await expectDiff(bot, number, await withPassword(bot, "olga"));
    const open = await startWithLogin(host, { diffs: "all" });
    const other = await openConfidential(open);
    await expectDiff(open, other, await withPassword(open, "vera"));
    // Who can be asked about is asked about.
    await expectNoDiff(open, other, await loggedIn(open, "eve"), cannot("eve"));
  });

  test("with the role admin of the pages and no access on the host reads no diff", async () => {
    const bot = await startWithLogin(host, { default_role: "admin" });
    const number = await openConfidential(bot);
    const eve = await loggedIn(bot, "eve");
    expect(await accountOf(eve)).toMatchObject({ role: "admin" });
    await expectNoDiff(bot, number, eve, cannot("eve"));
  });

  test("reads the title of no commit, neither in the warnings of a plan nor in what was refused", async () => {
    const bot = await startWithLogin(host);
    const number = await bot.open(changeOf(["web"]));
    // The host of these tests writes `Change <path>` as the title of a commit.
    await bot.forge.pushToBranch(REPOSITORY, "main", { "apps/web/merger.yaml": configMap("merger", { value: "1" }) });
    const title = "Change apps/web/merger.yaml";
    await bot.comment(number, "svc plan");
    await bot.comment(number, "svc sync");
    expect(bot.lastComment(number)).toContain(title);
    const [ana, eve] = [await loggedIn(bot, "ana"), await loggedIn(bot, "eve")];
    const page = `/changes/${host}/${REPOSITORY}/${number}`;
    expect((await ana.ask(page)).text).toContain(title);
    for (const path of [page, "/activity", "/api/v1/activity"]) {
      const { status, text } = await eve.ask(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toContain("merger.yaml");
    }
    expect((await eve.ask("/api/v1/activity")).text).toContain("main changed what it is deployed from");
  });

  test("cannot break the page of the locks for admins by a name that no address can hold", async () => {
    const bot = await startWithLogin(host);
    const name = "half-\ud83d-of-an-emoji";
    const number = await bot.open({ "argocd/half.yaml": asYaml(bot.resourceOf(name)) });
    const olga = await withPassword(bot, "olga");
    for (const path of ["/", "/applications", "/activity", `/changes/${host}/${REPOSITORY}/${number}`]) {
      const { status, text } = await olga.ask(path);
      expect([path, status, text]).toEqual([path, 200, expect.stringContaining("-of-an-emoji")]);
    }
  });

  test("who was thrown out of the team is logged out within 15 minutes", async () => {
    const allowed = host === "hosta" ? { allowed_teams: ["acme/ops"] } : { allowed_groups: ["acme/ops"] };
    const assignments = [{ pattern: host === "hosta" ? "@acme/admins" : "acme/admins", provider: host, role: "admin" }];
    const bot = await startWithLogin(host, { role_assignments: assignments }, allowed);
    for (const team of ["acme/ops", "acme/admins"]) bot.forge.setTeam(team, ["ana"]);
    const ana = await loggedIn(bot, "ana");
    expect(await accountOf(ana)).toMatchObject({ role: "admin" });
    bot.forge.setTeam("acme/admins", []);
    bot.clock.advance(15 * MINUTE_MS);
    expect(await accountOf(ana)).toMatchObject({ role: "user" });
    bot.forge.setTeam("acme/ops", []);
    bot.clock.advance(15 * MINUTE_MS);
    expect(await accountOf(ana)).toBeUndefined();
    const page = await ana.ask("/");
    expect([page.status, page.headers.get("location")]).toEqual([302, "/login?return_to=%2F"]);
  });

  test("is led to our pages alone after a login, however the address is spelled", async () => {
    const bot = await startWithLogin(host);
    loginOf(bot).signedIn = "ana";
    const wishes = [
      "/%61uth/logout",
      "/%2561uth/logout",
      "//evil.example.org",
      "/\\evil.example.org",
      "/users/../auth/logout",
    ];
    for (const wish of [...wishes, "/changes/hosta/..%2f../auth/7", "/api/v1/locks", "/nothing"]) {
      const visitor = browserOf(bot);
      const begun = await visitor.ask(`/auth/${host}/login?return_to=${encodeURIComponent(wish)}`);
      const back = await visitor.ask(begun.headers.get("location") ?? "");
      const done = await visitor.ask(back.headers.get("location") ?? "");
      expect([wish, done.status, done.headers.get("location")]).toEqual([wish, 303, "/"]);
    }
  });

  test("and another admin cannot take the role from each other at the same time, and leave nobody", async () => {
    const bot = await startWithLogin(host, { default_role: "admin" });
    const [ana, bo] = [await loggedIn(bot, "ana"), await loggedIn(bot, "bo")];
    const idOf = async (visitor: Visitor) => encodeURIComponent(String((await accountOf(visitor))?.id));
    const [anaId, boId] = [await idOf(ana), await idOf(bo)];
    const take = (by: Visitor, id: string) =>
      by.ask(`/api/v1/users/${id}/role`, { method: "PUT", json: { role: "user" } });
    const answers = await Promise.all([take(ana, boId), take(bo, anaId)]);
    const roles = [(await accountOf(ana))?.role, (await accountOf(bo))?.role];
    expect([...roles].sort()).toEqual(["admin", "user"]);
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
    const [last, id] = roles[0] === "admin" ? [ana, anaId] : [bo, boId];
    const own = await take(last, id);
    expect([own.status, own.text]).toEqual([409, expect.stringContaining("this is the last admin")]);
  });
});

describe.each(HOSTS)("a guesser of the secrets of %s", (host) => {
  test("meets no webhook secret or session secret under 16 characters, unless only this machine reaches svc", () => {
    const sections = {
      hosta: { app_id: 1, private_key: rsaKey(), webhook_secret: "fifteen-letters" },
      hostb: { token: "t", webhook_secret: "fifteen-letters" },
    };
    const load = (server: object) => {
      const text = stringify({
        server,
        deployer: { server_url: "https://argocd.example.org", token: "t" },
        [host]: sections[host],
        auth: { enabled: true, session_secret: "fifteen-letters" },
      });
      const loaded = loadServerConfig([{ name: "svc.yaml", text }], {});
      return loaded.kind === "invalid" ? loaded.problems.map(({ key, message }) => `${key}: ${message}`) : [];
    };
    const refused = (key: string) =>
      expect.stringMatching(
        new RegExp(
          `^${key.replace(".", "\\.")}: has fewer than 16 characters and could be guessed; use 32 random bytes`,
        ),
      );
    const both = [refused(`${host}.webhook_secret`), refused("auth.session_secret")];
    expect(load({})).toEqual(both);
    expect(load({ host: "127.0.0.1", base_url: "https://svc.example.org" })).toEqual(both);
    expect(load({ host: "127.0.0.1" })).toEqual([]);
  });
});
