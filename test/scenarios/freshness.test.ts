import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const STALE = "Plan for web is stale. Please run the plan command again.";

describe.each(HOSTS)("plan freshness on %s", (host) => {
  test("current, new commit pushed: stale, and the sync is refused; stale, svc plan: current, new revision stored", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc plan");
    const first = bot.seen(one).headRevision;
    const second = await bot.push(one, changeOf(["web"], "3"));
    expect((await bot.stores.locks.list())[0]?.planRevision).toBe(first);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(STALE);
    expect(await bot.locked(one)).toEqual(["web"]);
    expect(bot.changes()).toEqual([]);
    await bot.comment(one, "svc plan");
    expect((await bot.stores.locks.list())[0]?.planRevision).toBe(second);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("3");
  });

  test("current, new commit pushed with autoplan: a new plan runs and older plan comments are marked stale", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const second = await bot.push(one, changeOf(["web"], "3"));
    const [older, newer] = bot.answers(one);
    expect(older).toContain("Outdated plan");
    expect(newer).toContain('+  value: "3"');
    expect(newer).not.toContain("Outdated plan");
    expect((await bot.stores.locks.list())[0]?.planRevision).toBe(second);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("3");
  });

  test("a push whose webhook was lost makes the plan stale all the same", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushSilently("acme/deploy", one, changeOf(["web"], "3"));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(STALE);
    expect(bot.changes()).toEqual([]);
  });
});
