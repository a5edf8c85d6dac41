import { describe, expect, test } from "@jest/globals";
import type { BotOptions } from "./bot-options.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { ownRedis, startReplica } from "./own-redis.js";
import { changeOf } from "./resources.js";

const redis = ownRedis();

/** Resolves when Argo CD was asked to sync this application. */
function syncAsked(bot: Bot, application: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = bot.argocd.onExchange(({ method, path }) => {
      if (method !== "POST" || !path.endsWith(`/${application}/sync`)) return;
      stop();
      resolve();
    });
  });
}

describe.each(HOSTS)("two replicas on %s", (host) => {
  test("a sync that one of them cannot finish before it ends is followed by the other, and answered once", async () => {
    const options: BotOptions = {
      host,
      stores: () => redis.stores(),
      config: { server: { concurrency: 1 }, deployer: { sync_timeout: "24h" } },
    };
    const bot = await startBot(options);
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    bot.expectChanges("sync web", "sync api");
    const [releaseWeb, releaseApi] = [bot.argocd.holdSync("web"), bot.argocd.holdSync("api")];
    // The first replica has room for one run: the other one gets the next.
    const apiBegun = syncAsked(bot, "api");
    await bot.forge.comment(REPOSITORY, two, "ana", "svc sync");
    await apiBegun;
    const other = await startReplica(bot, options);
    const webBegun = syncAsked(bot, "web");
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await webBegun;
    await other.close();
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
