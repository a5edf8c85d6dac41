import { describe, expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { type Bot, type BotOptions, HOSTS, startBot } from "./bot.js";
import { apart, changeOf } from "./resources.js";
import { ServiceLog } from "./service-log.js";

const RULES = "sync_on: approval\nrequire_approval: true\n";

function start(options: BotOptions, rules = RULES): Promise<Bot> {
  return startBot({ files: () => ({ ".svc.yaml": rules }), config: { defaults: { auto_merge: true } }, ...options });
}

describe.each(HOSTS)("sync_on: approval on %s", (host) => {
  test("the approval after the plan deploys in the approver's name, and merges", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toMatch(/Needs an approval of .*, which deploys it/);
    bot.expectChanges("sync web");
    await bot.approve(one);
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.seen(one).state).toBe("merged");
    const entries = await bot.stores.audit.list({ limit: 10 });
    expect(entries).toContainEqual(
      expect.objectContaining({ action: "synced", who: expect.objectContaining({ login: "bo" }) }),
    );
  });

  test("deploys once, however often the approval is told", async () => {
    const bot = await start({ host, config: {} });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.approve(one);
    await bot.approve(one);
    await bot.comment(one, "svc plan");
    await bot.approve(one);
    expect(bot.answers(one).filter((text) => text.includes("✅ succeeded"))).toHaveLength(1);
  });

  test("deploys although the host refuses a reminder that is due by then", async () => {
    const log = new ServiceLog();
    const bot = await start({ host, config: {}, log: log.write });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.approve(one);
    bot.clock.advance(25 * 60 * 60_000);
    await bot.push(one, changeOf(["web"], "3"));
    const fault = { kind: "status", status: 403, body: "{}" } as const;
    bot.forge.faults.add({ method: "POST", path: /\/(comments|notes)$/, times: 1, fault });
    bot.expectChanges("sync web");
    await bot.approve(one);
    expect(bot.liveValue("web")).toBe("3");
    expect(log.of("a reminder was left out: the code host does not take it")).toHaveLength(1);
  });

  test.each(["the repository's file", "the server's file"])("works for one application by %s", async (where) => {
    const entries = [{ name: "web", sync_on: "approval" }];
    const isOfServer = where === "the server's file";
    const config = { sync_requirements: isOfServer ? entries : [] };
    const rules = isOfServer ? "{}\n" : stringify({ sync_requirements: entries });
    const bot = await start({ host, config, resources: () => apart("web", "api") }, rules);
    const both = await bot.open(changeOf(["web", "api"]));
    await bot.approve(both);
    expect(bot.changes()).toEqual([]);
    await bot.close(both);
    const one = await bot.open(changeOf(["web"], "3"));
    expect(bot.lastComment(one)).toMatch(/To deploy .*, approve it, or comment:/);
    bot.expectChanges("sync web");
    await bot.approve(one);
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("without the key an approval starts nothing", async () => {
    const bot = await start({ host }, "require_approval: true\n");
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toMatch(/Needs an approval of .*, then `svc sync`/);
    await bot.approve(one);
    expect(bot.changes()).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });
});
