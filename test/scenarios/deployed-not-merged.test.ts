import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

describe.each(HOSTS)("deployed, not merged, seen from outside on %s", (host) => {
  test("one conversation: other plans warn, the close says what to type, that command undoes it, other plans warn no more", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const commit = bot.seen(one).headRevision.slice(0, 8);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    expect(bot.lastComment(two)).toContain(`replaces commit ${commit} of [${SHORT[host]} `);
    expect(bot.lastComment(two)).toContain(`Runs commit ${commit} of [${SHORT[host]} `);
    await bot.comment(two, "svc unlock", "bo");
    await bot.close(one);
    expect(bot.lastComment(one)).toContain("these applications still run its commit: `web`");
    const [, command] = /comment:\n```\n(.+)\n```/.exec(bot.lastComment(one)) ?? [];
    await bot.comment(one, command ?? "");
    expect(bot.lastComment(one)).toContain("✅ succeeded, `main` is deployed");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.deployed(one)).toEqual([]);
    await bot.comment(two, "svc plan", "bo");
    expect(bot.lastComment(two)).not.toContain("Runs commit");
  });

  test("a lost merge webhook: the reconciler ends the record, and other plans warn no more", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    bot.forge.connect({ url: "http://127.0.0.1:9/", secret: "nobody" });
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    expect(await bot.deployed(one)).toEqual(["web"]);
    bot.forge.connect({ url: `${bot.service.url}/webhook/${host}`, secret: "sandbox-webhook-secret" });
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.deployed(one)).toEqual([]);
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    expect(bot.lastComment(two)).not.toContain("Runs commit");
  });
});
