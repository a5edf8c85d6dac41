import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "../scenarios/bot.js";
import { asYaml, changeOf } from "../scenarios/resources.js";

const RULES = "sync_requirements:\n  - { name: web, require_approval: true }\n";

const start = (host: Bot["host"]) =>
  startBot({ host, files: () => ({ ".svc.yaml": RULES }), config: { defaults: { auto_merge: true } } });

/** A PR that only adds an application, so that it holds a lock and a sync has nothing to deploy. */
async function openNew(bot: Bot): Promise<number> {
  const destination = { server: "https://kubernetes.default.svc", namespace: "shop" };
  const shop = bot.resourceOf("shop", { path: "apps/api", spec: { destination } });
  const one = await bot.open({ "argocd/shop.yaml": asYaml(shop) });
  expect(await bot.locked(one)).toEqual(["shop"]);
  return one;
}

describe.each(HOSTS)("a head that nobody planned, on %s,", (host) => {
  test("is not merged by a sync that has nothing to deploy, although its webhook is still on the way", async () => {
    const bot = await start(host);
    const one = await openNew(bot);
    await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("- `shop`: there is no stored plan of the head commit");
    expect(bot.lastComment(one)).not.toContain("Everything is deployed");
    expect(bot.seen(one).state).toBe("open");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync -a shop");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.changes()).toEqual([]);
  });

  test("that is pushed while a sync runs is not merged", async () => {
    const bot = await start(host);
    const one = await openNew(bot);
    const path = host === "hosta" ? /\/pulls\/\d+$/ : /\/merge_requests\/\d+$/;
    bot.meanwhile("forge", { method: "GET", path }, async () => {
      await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"]));
    });
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.changes()).toEqual([]);
  });

  test("a planned one with nothing to deploy is merged, and the result says so", async () => {
    const bot = await start(host);
    const one = await openNew(bot);
    await bot.comment(one, "svc sync");
    expect(bot.answers(one).join("\n")).toContain("**Nothing to deploy** at");
    expect(bot.seen(one).state).toBe("merged");
  });
});
