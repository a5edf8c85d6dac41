import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import type { BotOptions } from "./bot-options.js";
import { HOSTS, startBot } from "./bot.js";
import { ownRedis, startReplica } from "./own-redis.js";
import { changeOf } from "./resources.js";

const WEB = applicationName("web");
const redis = ownRedis();

describe.each(HOSTS)("turns with replicas and Redis on %s", (host) => {
  const options: BotOptions = { host, stores: () => redis.stores() };

  test("a release is one turn, whichever replica runs which of the two", async () => {
    const bot = await startBot(options);
    const other = await startReplica(bot, options);
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"));
    const three = await bot.open(changeOf(["web"], "4"));
    await bot.comment(one, "svc unlock");
    await Promise.all([bot.service.reconcile(), other.reconcile()]);
    await other.idle();
    await bot.idle();
    await other.close();
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(bot.answers(two).filter((body) => body.includes("**Your turn:**"))).toHaveLength(1);
    expect(await bot.stores.waiting.of(WEB)).toEqual([bot.ref(three)]);
  });

  test("a replica that ends between the release and the call leaves the turn to the reconciler of another, once", async () => {
    const bot = await startBot(options);
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"));
    await bot.stores.locks.release(WEB, bot.ref(one));
    const other = await startReplica(bot, options);
    await Promise.all([bot.service.reconcile(), other.reconcile()]);
    await other.idle();
    await bot.idle();
    await other.close();
    expect(await bot.locked(two)).toEqual(["web"]);
    expect(bot.answers(two)).toHaveLength(2);
    expect(await bot.stores.waiting.list()).toEqual([]);
  });

  test("a turn that cannot be planned is answered once and passes to the next", async () => {
    const bot = await startBot(options);
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"));
    const three = await bot.open(changeOf(["web"], "4"));
    bot.clock.advance(60_000);
    bot.argocd.faults.add({ path: /\/applications$/, times: 20, fault: { kind: "status", status: 403 } });
    await bot.comment(one, "svc unlock");
    expect(bot.answers(two)).toHaveLength(2);
    expect(bot.lastComment(two)).toContain("could not be finished");
    expect(await bot.stores.waiting.of(WEB)).toEqual([bot.ref(three)]);
    bot.argocd.faults.clear();
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.locked(three)).toEqual(["web"]);
    expect(bot.answers(two)).toHaveLength(2);
  });
});
