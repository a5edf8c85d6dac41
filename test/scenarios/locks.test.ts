import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { type OnUnreadable, StoredValueUnreadable } from "../../src/core/model/errors.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { section } from "./plan-comment.js";
import { changeOf } from "./resources.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const BY_COMMAND = { config: { defaults: { autoplan: false } } };

const ENDINGS = [
  ["merged", (bot: Bot, number: number) => bot.forge.mergeByHand(REPOSITORY, number, "bo")],
  ["closed", (bot: Bot, number: number) => bot.forge.close(REPOSITORY, number)],
] as const;

async function lockOf(bot: Bot, application: string) {
  return (await bot.stores.locks.list()).find((lock) => lock.application === application);
}

describe.each(HOSTS)("lock transitions on %s", (host) => {
  test("unlocked, svc plan: locked by this PR, plan revision stored", async () => {
    const bot = await startBot({ host, ...BY_COMMAND });
    const one = await bot.open(changeOf(["web"]));
    expect(await bot.stores.locks.list()).toEqual([]);
    await bot.comment(one, "svc plan", "bo");
    expect(await lockOf(bot, "web")).toMatchObject({
      holder: bot.ref(one),
      user: "bo",
      planRevision: bot.seen(one).headRevision,
    });
  });

  test("unlocked, auto-plan: locked by this PR, plan revision stored", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]), { by: "bo" });
    expect(await lockOf(bot, "web")).toMatchObject({
      holder: bot.ref(one),
      user: "bo",
      planRevision: bot.seen(one).headRevision,
    });
  });

  test("locked by PR X, svc plan from PR X: locked by PR X, lock refreshed, plan revision updated", async () => {
    const bot = await startBot({ host, ...BY_COMMAND });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc plan");
    const before = await lockOf(bot, "web");
    bot.clock.advance(6 * DAY_MS);
    const head = await bot.push(one, changeOf(["web"], "3"));
    await bot.comment(one, "svc plan");
    bot.clock.advance(6 * DAY_MS);
    const after = await lockOf(bot, "web");
    expect(after).toMatchObject({ holder: bot.ref(one), planRevision: head, timestamp: before?.timestamp });
  });

  test("locked by PR X, svc plan from another PR: locked by PR X, the other PR's plan shows who has it", async () => {
    const bot = await startBot({ host, ...BY_COMMAND });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc plan");
    const before = await lockOf(bot, "web");
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(two, "svc plan", "bo");
    expect(section(bot.lastComment(two), "web")).toContain(`Locked by PR #${one} (ana)`);
    expect(await lockOf(bot, "web")).toEqual(before);
    await bot.comment(two, "svc sync", "bo");
    expect(bot.lastComment(two)).toContain("No applications are locked by this PR.\n");
    expect(bot.lastComment(two)).toMatch(/Wait for \[[PM]R [#!]\d+ \(ana\)\]\(<http[^>]*>\), which has locked `web`\./);
    await bot.comment(two, "svc unlock", "bo");
    expect(await lockOf(bot, "web")).toEqual(before);
  });

  test("locked, svc sync, sync succeeded: unlocked, result comment posted", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("## svc Sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(await bot.stores.locks.list()).toEqual([]);
  });

  test("locked, svc rollback, rollback succeeded: unlocked", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("## svc Rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.stores.locks.list()).toEqual([]);
  });

  test("locked, svc unlock: unlocked; -a names one application", async () => {
    const bot = await startBot({ host, applications: ["api", "shop", "web"] });
    const one = await bot.open(changeOf(["api", "shop", "web"]));
    await bot.comment(one, "svc unlock -a shop");
    expect(bot.lastComment(one)).toContain("Released: `shop`.");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(one)).toContain("Released: `api`, `web`.");
    expect(await bot.stores.locks.list()).toEqual([]);
  });

  test.each(ENDINGS)("locked, PR %s: unlocked, all locks of that PR released and no others", async (_, end) => {
    const bot = await startBot({ host, applications: ["api", "shop", "web"] });
    const one = await bot.open(changeOf(["api", "web"]));
    const two = await bot.open(changeOf(["shop"]), { by: "bo" });
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    await end(bot, one);
    await bot.idle();
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.locked(two)).toEqual(["shop"]);
  });

  test.each(ENDINGS)(
    "PR %s while a plan of it is running: nothing stays locked and nothing is posted",
    async (_, end) => {
      const bot = await startBot({ host });
      let locks: readonly string[] = [];
      bot.meanwhile("argocd", { path: /\/applications\/web\/manifests$/ }, async () => {
        locks = await bot.locked(1);
        await end(bot, 1);
      });
      const one = await bot.open(changeOf(["api", "web"]));
      await bot.idle();
      expect(one).toBe(1);
      expect(locks).toEqual(["api", "web"]);
      expect(bot.seen(one).state).not.toBe("open");
      expect(await bot.stores.locks.list()).toEqual([]);
      expect(bot.answers(one)).toEqual([]);
    },
  );

  test("locked, force unlock (the release in the store that an administrator's unlock is): unlocked", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    expect(await bot.stores.locks.release(applicationName("web"), bot.ref(one))).toBe(true);
    expect(await bot.locked(one)).toEqual([]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR. Run the plan command first.");
  });

  test("locked, 7 days elapse: unlocked, and another PR can take it", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    bot.clock.advance(7 * DAY_MS - 60_000);
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.clock.advance(60_000);
    expect(await bot.locked(one)).toEqual([]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR. Run the plan command first.");
    await bot.comment(two, "svc plan", "bo");
    expect(await bot.locked(two)).toEqual(["web"]);
  });

  test("a queue of another application that cannot be read keeps nobody from planning and unlocking", async () => {
    const bot = await startBot({ host });
    const damaged = new StoredValueUnreadable("of another version");
    const list = async (skip?: OnUnreadable) => {
      if (skip === undefined) throw damaged;
      skip(damaged);
      return [];
    };
    Object.assign(bot.stores.waiting, { list });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("**Changes:** 0 to create, 1 to update");
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(one)).toContain("Released: `web`.");
    expect(await bot.locked(one)).toEqual([]);
  });

  test("a lock of another application that cannot be read keeps nobody from planning, nor from the advice on a typing error", async () => {
    const bot = await startBot({ host });
    const { locks } = bot.stores;
    const list = locks.list.bind(locks);
    const damaged = new StoredValueUnreadable("of another version");
    const withDamaged: typeof list = async (holder, skip) => {
      if (skip === undefined) throw damaged;
      skip(damaged);
      return list(holder);
    };
    const heal = () => Object.assign(locks, { list });
    Object.assign(locks, { list: withDamaged });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain("**Changes:** 0 to create, 1 to update");
    await bot.comment(one, "svc snyc web");
    expect(bot.lastComment(one)).toContain("svc sync -a web");
    heal();
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("a plan that is refused, since the one before it cannot be read, locks nothing", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"]));
    Object.assign(bot.stores.plans, { find: () => Promise.reject(new StoredValueUnreadable("of another version")) });
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("of another version");
    expect(await bot.stores.locks.list()).toEqual([]);
  });
});
