import { describe, expect, test } from "@jest/globals";
import { type BotOptions, HOSTS, REPOSITORY, startBot } from "./bot.js";
import { beginPlan, syncAsked } from "./busy.js";
import { ownRedis, startReplica } from "./own-redis.js";
import { changeOf } from "./resources.js";

const redis = ownRedis();

function options(host: BotOptions["host"], more: string): BotOptions {
  const rules = `stages: [{name: dev, applications: "{api,wiki}"}, {name: prod, applications: web${more}}]\n`;
  return {
    host,
    applications: ["api", "shop", "web", "wiki"],
    stores: () => redis.stores(),
    config: { server: { concurrency: 1 } },
    files: () => ({ ".svc.yaml": rules }),
  };
}

describe.each(HOSTS)("stages with two replicas on %s", (host) => {
  test("one of them begins the stage when its time has come", async () => {
    const bot = await startBot(options(host, ", soak: 10m"));
    const one = await bot.open(changeOf(["web", "api"]));
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    const other = await startReplica(bot, options(host, ""));
    bot.clock.advance(11 * 60_000);
    await Promise.all([bot.service.reconcile(), other.reconcile()]);
    await Promise.all([bot.idle(), other.idle()]);
    await bot.idle();
    await other.close();
    await bot.idle();
    expect(bot.changes()).toEqual(["sync api", "sync web"]);
    expect(bot.answers(one).filter((body) => body.includes("## svc Sync"))).toHaveLength(2);
  });

  test("the next stage follows also if the replica that deployed the first one ended meanwhile", async () => {
    const bot = await startBot(options(host, ""));
    const [one, two] = [await bot.open(changeOf(["web", "api"])), await bot.open(changeOf(["wiki"]))];
    const three = await bot.open(changeOf(["shop"]));
    bot.expectChanges("sync api", "sync web", "sync wiki");
    const [releaseApi, releaseWiki] = [bot.argocd.holdSync("api"), bot.argocd.holdSync("wiki")];
    const wikiBegun = syncAsked(bot, "wiki");
    await bot.forge.comment(REPOSITORY, two, "ana", "svc sync");
    await wikiBegun;
    // The first replica has room for one run that does not wait for a sync, and the other one gets the next.
    const release = await beginPlan(bot, three, "shop");
    const other = await startReplica(bot, options(host, ""));
    const apiBegun = syncAsked(bot, "api");
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await apiBegun;
    await other.close();
    release();
    releaseWiki();
    releaseApi();
    await bot.idle();
    expect([...bot.changes()].sort()).toEqual(["sync api", "sync web", "sync wiki"]);
    expect(bot.answers(one).filter((body) => body.includes("## svc Sync"))).toHaveLength(2);
  });
});
