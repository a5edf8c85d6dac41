import { afterEach, describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";
import { interpose, stopRelays } from "./relay.js";

afterEach(stopRelays);

describe.each(HOSTS)("webhooks that arrive late and in another order on %s", (host) => {
  test("a sync that overtakes the push before it deploys neither the old commit nor the new one", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    relay.hold();
    await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"));
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await bot.forge.idle();
    await relay.release([1]);
    expect(bot.lastComment(one)).toContain("Plan for web is stale.");
    expect(bot.changes()).toEqual([]);
  });

  test("a sync that the push behind it overtakes does not deploy what its author has not seen", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    relay.hold();
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"));
    await bot.forge.idle();
    await relay.release([1, 0]);
    expect(bot.lastComment(one)).toContain("written before the plan of the current head commit");
    expect(bot.changes()).toEqual([]);
  });

  test.each([
    ["once", false],
    ["there and back", true],
  ])(
    "a sync that a change of the base overtakes (%s) deploys nothing that its author has not seen",
    async (_how, back) => {
      const bot = await startBot({
        host,
        git: true,
        applications: ["web", "dev"],
        resources: () => ({ dev: { targetRevision: "dev", path: "apps/web" } }),
      });
      await bot.forge.pushToBranch(REPOSITORY, "dev", { "readme.txt": "x" });
      await bot.idle();
      const relay = await interpose(bot);
      const one = await bot.open(changeOf(["web"], "2"), { base: back ? "main" : "dev" });
      if (back) await bot.forge.retarget(REPOSITORY, one, "dev");
      await bot.idle();
      relay.hold();
      await bot.forge.comment(REPOSITORY, one, "bo", "svc sync");
      await bot.forge.retarget(REPOSITORY, one, "main");
      await bot.forge.idle();
      await relay.release([1, 0]);
      await bot.idle();
      expect(bot.lastComment(one)).toContain("written before the plan of the current head commit");
      expect(bot.changes()).toEqual([]);
    },
  );

  test("a close that arrives behind the reopening releases nothing", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    relay.hold();
    await bot.forge.close(REPOSITORY, one);
    await bot.forge.reopen(REPOSITORY, one);
    await bot.forge.idle();
    await relay.release([1, 0]);
    expect(bot.seen(one).state).toBe("open");
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("an opening that arrives behind the close, and a push behind the merge, take no lock", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    relay.hold();
    const one = await bot.forge.open({ repository: REPOSITORY, by: "ana", changes: changeOf(["web"]) });
    await bot.forge.close(REPOSITORY, one);
    await bot.forge.idle();
    await relay.release([1, 0]);
    const two = await bot.open(changeOf(["api"]));
    relay.hold();
    await bot.forge.push(REPOSITORY, two, changeOf(["api"], "3"));
    await bot.forge.mergeByHand(REPOSITORY, two, "bo");
    await bot.forge.idle();
    await relay.release();
    expect(await bot.stores.locks.list()).toEqual([]);
    expect(bot.changes()).toEqual([]);
  });

  test("an unlock that overtakes the plan before it gives the lock to the PR that waits, and to no other", async () => {
    const bot = await startBot({ host });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    relay.hold();
    await bot.forge.comment(REPOSITORY, one, "ana", "svc plan");
    await bot.forge.comment(REPOSITORY, one, "ana", "svc unlock");
    await bot.forge.idle();
    await relay.release([1, 0]);
    expect((await bot.stores.locks.list()).map(({ holder }) => holder.number)).toEqual([two]);
  });

  test("an approval whose event never arrives, and its withdrawal, count as the host has them", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const relay = await interpose(bot);
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    relay.hold();
    await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
    await bot.forge.idle();
    await relay.release([]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    expect(bot.changes()).toEqual([]);
  });
});
