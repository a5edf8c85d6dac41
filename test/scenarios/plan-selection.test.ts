import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { planned, section } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";

describe.each(HOSTS)("what a plan covers on %s", (host) => {
  test("-a plans and locks the named applications alone; one that the PR does not affect is refused", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["api", "web"]));
    expect(bot.answers(one)).toEqual([]);
    await bot.comment(one, "svc plan -a web");
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(bot.lastComment(one)).toContain("left out of this plan by -a: `api`");
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.comment(one, "svc plan -a nope -a api");
    expect(bot.lastComment(one)).toContain("application not found: `nope`");
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.comment(one, "svc plan --app api");
    expect(planned(bot.lastComment(one))).toContain("api");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test("an application that is no longer affected is released by a whole plan, which says so, and not by one with -a", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["api", "web"]));
    await bot.comment(one, "svc plan");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    await bot.push(one, { "apps/api/configmap.yaml": configMap("api", { value: "1" }) });
    await bot.comment(one, "svc plan -a web");
    expect(await bot.locked(one)).toEqual(["api", "web"]);
    await bot.comment(one, "svc plan");
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(bot.lastComment(one)).toContain("No longer affected, lock released: `api`.");
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("earlier plan comments are marked stale by a newer plan, and only those", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const first = bot.seen(one).headRevision.slice(0, 8);
    await bot.comment(one, "svc help");
    await bot.push(one, changeOf(["web"], "3"));
    await bot.comment(one, "svc plan");
    const [old, help, middle, last] = bot.answers(one);
    expect(old).toContain("stale=true");
    expect(old).toContain(`<details><summary>Outdated plan of commit ${first}: a newer one is below</summary>`);
    expect(old).toContain('+  value: "2"');
    expect(middle).toContain("stale=true");
    for (const current of [help, last]) expect(current).not.toContain("Outdated");
    expect(section(last ?? "", "web")).toContain('+  value: "3"');
  });
});
