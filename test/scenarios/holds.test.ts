import { describe, expect, test } from "@jest/globals";
import { revision } from "../../src/core/model/brand.js";
import type { HostId } from "../../src/names.js";
import { PASSWORD } from "../web/site-under-test.js";
import { Visitor } from "../web/visitor.js";
import { HOSTS, startBot, type Bot, type BotOptions } from "./bot.js";
import { changeOf, hydrated } from "./resources.js";

const USERS = [
  { username: "olga", password: PASSWORD, role: "admin" },
  { username: "vera", password: PASSWORD, role: "user" },
];

function start(
  host: HostId,
  { defaults, ...more }: Partial<BotOptions> & { readonly defaults?: object } = {},
): Promise<Bot> {
  const session_secret = "session-secret-of-the-tests-5b1f0e";
  const auth = { enabled: true, session_secret, cookie_secure: false, basic: { users: USERS } };
  return startBot({
    host,
    ...more,
    config: { auth, defaults: { auto_merge: true, ...defaults }, [host]: { commit_status: true } },
  });
}

async function visitor(bot: Bot, username: string): Promise<Visitor> {
  const someone = new Visitor(bot.service.url);
  expect((await someone.ask("/auth/basic/login", { json: { username, password: PASSWORD } })).status).toBe(200);
  return someone;
}

async function hold(bot: Bot, applications: readonly string[], until = "2h"): Promise<{ readonly id: string }> {
  const json = { applications, reason: "database migration", until };
  const answer = await (await visitor(bot, "olga")).ask("/api/v1/holds", { method: "POST", json });
  expect(answer.status).toBe(200);
  await bot.idle();
  return (JSON.parse(answer.text) as { hold: { id: string } }).hold;
}

/** GitLab keeps the first text of a pending status. */
async function ownStatus(bot: Bot, one: number): Promise<string> {
  const headRevision = revision(bot.seen(one).headRevision);
  const own = await bot.stores.statuses.ofHead({ ...bot.ref(one), headRevision });
  return own.map(({ state, description }) => `${state}: ${description}`).join("; ");
}

const HELD = /olga holds web until \d{4}-\d\d-\d\d \d\d:\d\d UTC: database migration/;
const PENDING = new RegExp(`^pending: ${HELD.source}`);

describe.each(HOSTS)("a hold on %s", (host) => {
  test("bars the sync of what it names, says why and until when, and ends with its release", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["api", "web"]));
    const { id } = await hold(bot, ["we?"]);
    expect(await ownStatus(bot, one)).toMatch(PENDING);

    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(HELD);
    expect(bot.lastComment(one)).toMatch(/^[^]*\nsvc sync -a api\n```\n+For `web`, wait until [^]*$/);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("\nsvc sync -a api\n```\nfor `web`, wait until ");
    expect(bot.lastComment(one)).toContain("when olga's hold (database migration) ends, or have it released");
    expect(bot.changes()).toEqual([]);

    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync -a api");
    expect(bot.seen(one).state).toBe("open");

    const refused = await (await visitor(bot, "vera")).ask(`/api/v1/holds/${id}`, { method: "DELETE" });
    expect(refused.status).toBe(403);
    expect((await (await visitor(bot, "olga")).ask(`/api/v1/holds/${id}`, { method: "DELETE" })).status).toBe(200);
    await bot.idle();
    expect(await ownStatus(bot, one)).not.toMatch(HELD);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });

  test.each([
    ["all below its name", "web/**"],
    ["its name as phones write it", "Web"],
  ])("of %s holds an application too", async (_, pattern) => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    await hold(bot, [pattern]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toMatch(HELD);
    expect(bot.changes()).toEqual([]);
  });

  test("is in the audit trail, with who set and who released it", async () => {
    const bot = await start(host);
    const { id } = await hold(bot, ["prod-*", "web"]);
    const olga = await visitor(bot, "olga");
    expect((await olga.ask(`/api/v1/holds/${id}`, { method: "DELETE" })).status).toBe(200);
    const listed = await bot.stores.audit.list({ limit: 10 });
    const who = { host: "basic", id: "basic:olga", login: "olga" };
    const of = (outcome: string) => ["prod-*", "web"].map((application) => ({ application, outcome }));
    expect(listed).toMatchObject([
      { who, action: "released", applications: of("released"), change: undefined, runId: id },
      { who, action: "held", applications: of("held"), reason: expect.stringMatching(/^until /), runId: id },
    ]);
    expect(JSON.stringify(listed)).not.toContain("database migration");
    const answer = JSON.parse((await olga.ask("/api/v1/activity")).text) as { entries: readonly object[] };
    expect(answer.entries).toMatchObject([{ action: "released" }, { action: "held" }]);
    const page = await olga.ask("/activity");
    expect([page.status, page.text]).toEqual([200, expect.stringMatching(/>released<[^]*>held</)]);
    await bot.service.reconcile();
  });

  test("lets a rollback and a dry run pass, and holds the merge of what is deployed", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["api", "web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    await hold(bot, ["web"]);
    expect(await ownStatus(bot, one)).toMatch(PENDING);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync -a api");
    expect(bot.lastComment(one)).toMatch(HELD);
    expect(bot.seen(one).state).toBe("open");
    await bot.comment(one, "svc plan");
    bot.expectChanges("dry-run web");
    await bot.comment(one, "svc sync -a web --dry-run");
    expect(bot.lastComment(one)).toContain("dry run");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc rollback -a web");
    expect(bot.lastComment(one)).not.toMatch(HELD);
  });

  test("ends by itself, and every status that it held back follows", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(two, "svc unlock", "bo");
    await hold(bot, ["web"], "1h");
    expect(await ownStatus(bot, one)).toMatch(PENDING);
    expect(await ownStatus(bot, two)).toMatch(PENDING);
    // A plan that is made while it stands.
    await bot.comment(two, "svc plan", "bo");
    bot.clock.advance(61 * 60_000);
    // Marks that are due are looked for every five seconds, and at once when another one is set.
    await bot.approve(await bot.open(changeOf(["api"])), "bo");
    expect(await ownStatus(bot, one)).not.toMatch(HELD);
    expect(await ownStatus(bot, two)).not.toMatch(HELD);
  });

  test("of what only the merge deploys keeps the status from being green, also where nothing is planned by itself", async () => {
    const resources = (url: string) => ({ web: { spec: hydrated(url) } });
    const bot = await start(host, { defaults: { autoplan: false }, resources });
    await hold(bot, ["web"]);
    const one = await bot.open(changeOf(["web"]));
    expect(await ownStatus(bot, one)).toBe("pending: comment svc plan");
    await bot.comment(one, "svc plan");
    expect(await ownStatus(bot, one)).toMatch(PENDING);
  });

  test("of what only the merge deploys takes a green status back where nothing is planned by itself, until it ends", async () => {
    const resources = (url: string) => ({ web: { spec: hydrated(url) } });
    const bot = await start(host, { defaults: { autoplan: false }, resources });
    const one = await bot.open(changeOf(["web"]));
    const green = "success: nothing to deploy; takes effect at the merge: web";
    expect(await ownStatus(bot, one)).toBe(green);
    await hold(bot, ["web"], "1h");
    expect(await ownStatus(bot, one)).toBe("pending: comment svc plan");
    bot.clock.advance(61 * 60_000);
    await bot.approve(await bot.open(changeOf(["api"])), "bo");
    expect(await ownStatus(bot, one)).toBe(green);
  });

  test("of a parent's child bars the sync of the parent, which would deploy it", async () => {
    const bot = await start(host, { applications: ["root", "web"] });
    await bot.stores.holds.save(
      {
        id: "one",
        applications: ["*"],
        reason: "freeze",
        by: { provider: "api-token", id: "ci", login: "ci" },
        since: "2026-01-01T00:00:00.000Z",
        until: new Date(bot.clock.now().getTime() + 60_000).toISOString(),
      },
      bot.clock.now(),
    );
    const one = await bot.open(changeOf(["root"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("ci holds root until");
    expect(bot.changes()).toEqual([]);
  });
});

describe("a hold that is asked for", () => {
  test.each([
    ["no reason", { applications: ["web"] }, 'field "reason": must say why, for those who wait'],
    ["no application", { applications: [], reason: "x" }, 'field "applications": must name at least one'],
    ["no list", { applications: "web", reason: "x" }, 'field "applications": must be a list of names and patterns'],
    ["a bad pattern", { applications: ["[a]"], reason: "x" }, "are not supported"],
    [
      "a label, which only comments know",
      { applications: ["label:team=shop"], reason: "x" },
      "a name has only letters",
    ],
    ["a list in one text", { applications: ["web, api"], reason: "x" }, "no name has white space in it"],
    [
      "a time that is past",
      { applications: ["web"], reason: "x", until: "2020-01-01T00:00:00Z" },
      'field "until": must be in the future: it is now ',
    ],
    ["more than 30 days", { applications: ["web"], reason: "x", until: "31d" }, "within 30 days from now"],
    ["a reason of two lines", { applications: ["web"], reason: "x\ny" }, "must be one line of text"],
    ["an unknown field", { applications: ["web"], reason: "x", why: 1 }, 'unknown field "why"'],
  ])("with %s is refused with a sentence", async (_, json, sentence) => {
    const bot = await start("hosta");
    const answer = await (await visitor(bot, "olga")).ask("/api/v1/holds", { method: "POST", json });
    expect([answer.status, (JSON.parse(answer.text) as { error: string }).error]).toEqual([
      400,
      expect.stringContaining(sentence),
    ]);
    expect(await bot.stores.holds.list()).toEqual([]);
  });
});
