import { describe, expect, test } from "@jest/globals";
import { SECRET, type BotOptions } from "./bot-options.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { ownRedis, startReplica } from "./own-redis.js";
import { changeOf } from "./resources.js";

const redis = ownRedis();

/** Closes a change request while nothing receives webhooks. */
async function closeUnheard(bot: Bot, number: number): Promise<void> {
  bot.forge.connect({ url: "http://127.0.0.1:9/", secret: "nobody" });
  await bot.forge.close(REPOSITORY, number);
  await bot.forge.idle();
  bot.forge.connect({ url: `${bot.service.url}/webhook/${bot.host}`, secret: SECRET });
}

describe.each(HOSTS)("locks of a change request whose close was lost, on %s", (host) => {
  test("a replica that starts gives them back, however recently another one looked", async () => {
    const options: BotOptions = { host, stores: () => redis.stores() };
    const bot = await startBot(options);
    const one = await bot.open(changeOf(["web"]));
    await closeUnheard(bot, one);
    // The first look of the one that runs may come as late as this, and find the same.
    const other = await startReplica(bot, options);
    while ((await bot.locked(one)).length > 0) await bot.idle();
    await other.close();
  });

  test("whoever finds one held has its holder looked at, and gets it by itself", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await closeUnheard(bot, one);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    while ((await bot.locked(two)).length === 0) await bot.idle();
    await bot.idle();
    expect(bot.answers(two)).toHaveLength(2);
    expect(bot.lastComment(two)).toContain("**Your turn:** `web` is no longer locked");
  });

  test("a holder that is open is asked about once a minute, however many wait for it", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const before = bot.forge.requests.length;
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    await bot.comment(two, "svc plan", "bo");
    await bot.comment(two, "svc plan", "bo");
    const path = host === "hosta" ? `/pulls/${one}` : `/merge_requests/${one}`;
    const asked = bot.forge.requests.slice(before).filter((request) => request.path.endsWith(path));
    expect(asked).toHaveLength(1);
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
