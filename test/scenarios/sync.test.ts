import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { configMap } from "./resources.js";

describe.each(HOSTS)("sync on %s", (host) => {
  test("deploys the head commit, reports, and releases the lock", async () => {
    const bot = await startBot({ host });
    const one = await bot.open({ "apps/web/configmap.yaml": configMap("web", { value: "2" }) });
    expect(bot.lastComment(one)).toContain("### Application: `web`");
    expect(bot.lastComment(one)).toContain("**Status:** Locked by this PR");
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.liveValue("web")).toBe("2");
    expect(await bot.locked(one)).toEqual([]);
  });
});
