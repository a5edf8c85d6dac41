import { describe, expect, test } from "@jest/globals";
import { HOSTS, SHORT, startBot } from "./bot.js";
import { planned } from "./plan-comment.js";
import { changeOf } from "./resources.js";

const FORK = { by: "olga", fork: true };

describe.each(HOSTS)("forks on %s", (host) => {
  test("without defaults.allow_forks a fork is neither planned nor synced, and a refusal says so", async () => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changeOf(["web"]), FORK);
    await bot.push(one, changeOf(["web"], "3"));
    expect(bot.answers(one)).toEqual([]);
    for (const command of ["svc plan", "svc sync"]) {
      await bot.comment(one, command);
      expect(bot.lastComment(one)).toContain(`This ${SHORT[host]} comes from a fork.`);
      expect(bot.lastComment(one)).toContain("`defaults.allow_forks`");
    }
    expect(bot.answers(one)).toHaveLength(2);
    expect(await bot.stores.locks.list()).toEqual([]);
    expect(bot.argocd.requests.some(({ path }) => path.endsWith("/manifests"))).toBe(false);
  });

  test("with it a person with write access may command; the fork's author may not, and nothing runs by itself", async () => {
    const bot = await startBot({
      host,
      git: true,
      config: { defaults: { allow_forks: true, command_access: "anyone" } },
    });
    const one = await bot.open(changeOf(["web"]), FORK);
    expect(bot.answers(one)).toEqual([]);
    await bot.comment(one, "svc plan", "olga");
    expect(bot.lastComment(one)).toContain("`olga` has no write access to `acme/deploy`");
    await bot.comment(one, "svc plan", "olga");
    expect(bot.answers(one)).toHaveLength(1);
    await bot.comment(one, "svc plan");
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    await bot.push(one, changeOf(["web"], "3"));
    expect(bot.answers(one)).toHaveLength(2);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for web is stale.");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("3");
  });
});
