import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const RENAMED = "acme/platform";
const web = applicationName("web");

describe.each(HOSTS)("a repository that was renamed on %s", (host) => {
  test("its change request keeps its lock, which gets the new name with the next plan", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.rename(RENAMED);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain("**Status:** Locked by this PR");
    expect(await bot.stores.locks.find(web)).toMatchObject({ holder: { repository: RENAMED, number: one } });
    expect(await bot.stores.locks.list()).toHaveLength(1);
  });

  test("an approval from before counts; a plan from before is the change request's own, and stale once the source has the new address", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    await bot.rename(RENAMED);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    await bot.comment(one, "svc plan");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅");
    expect(bot.liveValue("web")).toBe("2");
    expect(await bot.stores.locks.list()).toEqual([]);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
    expect(await bot.stores.deployments.list()).toEqual([]);
  });

  test("what was deployed before is rolled back, and recorded once", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.rename(RENAMED);
    await bot.push(one, changeOf(["web"], "4"));
    await bot.comment(one, "svc sync");
    expect(await bot.stores.deployments.list()).toMatchObject([{ change: { repository: RENAMED } }]);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.stores.deployments.list()).toEqual([]);
  });

  test("whoever waits keeps the place, and gets the turn", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    const three = await bot.open(changeOf(["web"], "4"), { by: "bo" });
    for (const number of [two, three]) await bot.comment(number, "svc plan", "bo");
    const places = async () => (await bot.stores.waiting.of(web)).map(({ number }) => number);
    expect(await places()).toEqual([two, three]);
    await bot.rename(RENAMED);
    await bot.comment(two, "svc plan", "bo");
    expect(await places()).toEqual([two, three]);
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(two)).toContain("**Status:** Locked by this PR");
    expect(await places()).toEqual([three]);
  });

  test("a close whose webhook was lost releases what is locked under the old name", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.rename(RENAMED);
    await bot.loseWebhooks(() => bot.forge.close(RENAMED, one));
    expect(await bot.stores.locks.find(web)).toMatchObject({ holder: { repository: REPOSITORY } });
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.stores.locks.list()).toEqual([]);
  });

  test("a command whose webhook was lost is found under the new name, which svc has not heard of", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.rename(RENAMED);
    await bot.loseWebhooks(async () => void (await bot.forge.comment(RENAMED, one, "ana", "svc plan")));
    const before = bot.answers(one).length;
    for (const _ of [1, 2]) {
      await bot.service.reconcile();
      await bot.idle();
    }
    expect(bot.answers(one)).toHaveLength(before + 1);
  });

  test("a command that is found again under the new name does not run again", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc plan");
    await bot.rename(RENAMED);
    await bot.comment(one, "svc help");
    const before = bot.answers(one);
    await bot.service.reconcile();
    await bot.idle();
    expect(bot.answers(one)).toEqual(before);
  });
});
