import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, USUAL_RENDERS } from "../scenarios/bot.js";
import { answered, syncAsked } from "../scenarios/busy.js";
import { changeOf } from "../scenarios/resources.js";

describe.each(HOSTS)("a sync that does not end on %s", (host) => {
  test("keeps no other pull request waiting, however few are handled at a time", async () => {
    const config = { server: { concurrency: 1 }, deployer: { ...USUAL_RENDERS.deployer, sync_timeout: "6h" } };
    const bot = await startBot({ host, config });
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    const release = bot.argocd.holdSync("web");
    bot.expectChanges("sync web");
    const begun = syncAsked(bot, "web");
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await begun;
    const planned = answered(bot, "GET", "/api/manifests");
    await bot.forge.comment(REPOSITORY, two, "bo", "svc plan");
    await planned;
    expect(bot.answers(one).filter((body) => body.includes("still running"))).toEqual([]);
    release();
    await bot.idle();
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });
});
