import { describe, expect, test } from "@jest/globals";
import type { BotOptions } from "./bot-options.js";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { beginPlan, syncAsked } from "./busy.js";
import { ownRedis, startReplica } from "./own-redis.js";
import { changeOf } from "./resources.js";

const redis = ownRedis();

describe.each(HOSTS)("two replicas on %s", (host) => {
  test("a sync that one of them cannot finish before it ends is followed by the other, and answered once", async () => {
    const options: BotOptions = {
      host,
      applications: ["api", "shop", "web"],
      stores: () => redis.stores(),
      config: { server: { concurrency: 1 }, deployer: { sync_timeout: "24h" } },
    };
    const bot = await startBot(options);
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    const three = await bot.open(changeOf(["shop"]));
    bot.expectChanges("sync web", "sync api");
    const [releaseWeb, releaseApi] = [bot.argocd.holdSync("web"), bot.argocd.holdSync("api")];
    const apiBegun = syncAsked(bot, "api");
    await bot.forge.comment(REPOSITORY, two, "ana", "svc sync");
    await apiBegun;
    // The first replica has room for one run that does not wait for a sync, and the other one gets the next.
    const release = await beginPlan(bot, three, "shop");
    const other = await startReplica(bot, options);
    const webBegun = syncAsked(bot, "web");
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await webBegun;
    await other.close();
    release();
    releaseApi();
    releaseWeb();
    await bot.idle();
    expect([...bot.changes()].sort()).toEqual(["sync api", "sync web"]);
    for (const number of [one, two]) {
      const answers = bot.answers(number).filter((body) => body.includes("## svc Sync"));
      expect(answers).toHaveLength(1);
      expect(answers[0]).toContain("✅ succeeded");
      expect(await bot.locked(number)).toEqual([]);
    }
  });
});
