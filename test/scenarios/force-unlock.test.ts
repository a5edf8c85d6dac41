import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { PASSWORD } from "../web/site-under-test.js";
import { Visitor } from "../web/visitor.js";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot } from "./bot.js";
import { HookReceiver } from "./hook-receiver.js";
import { changeOf } from "./resources.js";

function start(host: HostId, more: object = {}): Promise<Bot> {
  const users = [
    { username: "olga", password: PASSWORD, role: "admin" },
    { username: "vera", password: PASSWORD, role: "user" },
  ];
  const session_secret = "session-secret-of-the-tests-5b1f0e";
  return startBot({
    host,
    config: { auth: { enabled: true, session_secret, cookie_secure: false, basic: { users } }, ...more },
  });
}

async function visitor(bot: Bot, username: string): Promise<Visitor> {
  const someone = new Visitor(bot.service.url);
  const answer = await someone.ask("/auth/basic/login", { json: { username, password: PASSWORD } });
  expect(answer.status).toBe(200);
  return someone;
}

describe.each(HOSTS)("taking a lock away on %s", (host) => {
  test("gives the application to the next who waits for it, is refused to users, and the holder has to plan again", async () => {
    const receiver = await HookReceiver.start();
    const bot = await start(host, { notifications: [{ name: "chat", url: `${receiver.url}/hook`, format: "slack" }] });
    const one = await bot.open(changeOf(["web", "api"]));
    const two = await bot.open(changeOf(["web"]), { by: "bo" });
    const refused = await (await visitor(bot, "vera")).ask("/api/v1/locks/web", { method: "DELETE" });
    expect(refused.status).toBe(403);
    expect(await bot.locked(one)).toEqual(["api", "web"]);

    const answer = await (await visitor(bot, "olga")).ask("/api/v1/locks/web", { method: "DELETE" });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { status: "unlocked", application: "web" }]);
    await bot.idle();
    expect(await bot.locked(one)).toEqual(["api"]);
    if (host === "hosta") {
      const last = bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1);
      expect(last).toMatchObject({
        state: "pending",
        description: expect.stringMatching(/^api awaits svc sync; (web awaits svc plan|web is locked by PR #2)$/),
      });
    }

    expect(bot.answers(one).filter((text) => text.includes("## svc Lock released"))).toHaveLength(1);
    expect(bot.lastComment(one)).toContain(
      `\`olga\`, an administrator, released what this ${SHORT[host]} had locked: \`web\`. Others were waiting for \`web\`, so the first of them gets it. ` +
        `This ${SHORT[host]} is next in the queue: once that lock is free, svc plans it again, or says that it is its turn.`,
    );
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("web");
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(bot.lastComment(two)).toContain("**Your turn:** `web` is no longer locked by");
    await bot.close(two);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    expect(bot.lastComment(one)).toContain("**Your turn:** `web` is no longer locked by");

    await receiver.until(1);
    expect(receiver.on("/hook")).toEqual([
      expect.objectContaining({
        text: expect.stringMatching(/[#!]\u200b?1: olga, an administrator, released its lock\n• web/),
      }),
    ]);
    await receiver.stop();
  });
});

describe.each(HOSTS)("taking away a lock that nobody waits for on %s", (host) => {
  test("tells the holder how to get it back, and leaves it free", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    await (await visitor(bot, "olga")).ask("/api/v1/locks/web", { method: "DELETE" });
    await bot.idle();
    expect(bot.lastComment(one)).toContain("had locked: `web`. To lock `web` again, comment `svc plan`.");
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.locked(one)).toEqual([]);
  });

  test("tells the holder although a push comes meanwhile", async () => {
    const bot = await start(host, { defaults: { autoplan: false } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc plan");
    const olga = await visitor(bot, "olga");
    bot.meanwhile("forge", { method: "GET", path: /\/(?:pulls|merge_requests)\/\d+$/ }, async () => {
      await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"));
    });
    await olga.ask("/api/v1/locks/web", { method: "DELETE" });
    await bot.idle();
    expect(bot.lastComment(one)).toContain("had locked: `web`. To lock `web` again, comment `svc plan`.");
  });
});

describe.each(HOSTS)("a plan on %s", (host) => {
  test("leads to its page where people can log in to it", async () => {
    const bot = await start(host);
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain(
      ` · [details](<http://svc.example.com/changes/${host === "hosta" ? "github" : "gitlab"}/${REPOSITORY}/${one}>)\n`,
    );
  });

  test("leads nowhere where authentication is off", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).not.toContain("/changes/");
  });
});
