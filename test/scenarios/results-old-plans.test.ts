import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot, type Bot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

/** A ConfigMap whose diff is of about 35,000 characters. */
function long(name: string, mark: string): Record<string, string> {
  const lines = Array.from({ length: 500 }, (_, index) => [`key-${index}`, `${mark}-${index}-${"x".repeat(50)}`]);
  return { [`apps/${name}/configmap.yaml`]: configMap(name, Object.fromEntries(lines) as Record<string, string>) };
}

/** The service's comments as `fold state: first line of text`. */
function comments(bot: Bot, one: number): readonly { readonly minimised: boolean; readonly stale: boolean }[] {
  return bot
    .seen(one)
    .comments.filter(({ body }) => body.startsWith("<!-- svc:"))
    .map(({ body, minimised }) => ({ minimised, stale: /^<!-- [^\n]*stale=true/.test(body) }));
}

describe.each(HOSTS)("old plans on %s", (host) => {
  const OLD = { stale: true, minimised: host === "hosta" };
  const CURRENT = { stale: false, minimised: false };

  test("a newer plan folds the older ones away", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.push(one, changeOf(["web"], "3"));
    await bot.comment(one, "svc plan");
    expect(comments(bot, one)).toEqual([OLD, OLD, CURRENT]);
    expect(bot.answers(one)[0]).toMatch(/<details><summary>Outdated plan of commit [0-9a-f]{8}: a newer one is below/);
    expect(bot.answers(one)[0]).toContain('+  value: "2"');
  });

  test("every part of a split plan is folded away, and a result stays as it is", async () => {
    const applications = ["api", "db", "shop", "web"];
    const bot = await startBot({ host, applications });
    const one = await bot.open(
      Object.assign({}, ...applications.map((name) => long(name, "a"))) as object as Record<string, string>,
    );
    const parts = bot.answers(one).length;
    expect(parts).toBeGreaterThan(host === "hosta" ? 2 : 0);
    await bot.comment(one, "svc unlock");
    await bot.push(one, changeOf(["web"], "3"));
    const seen = comments(bot, one);
    expect(seen.slice(0, parts)).toEqual(Array.from({ length: parts }, () => OLD));
    expect(seen.slice(parts)).toEqual(seen.slice(parts).map(() => CURRENT));
    expect(seen.length).toBeGreaterThan(parts + 1);
  });

  test("an old plan that cannot be folded away does not hold back the new one", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const method = host === "hosta" ? "PATCH" : "PUT";
    bot.forge.faults.add({
      method,
      path: /\/(comments|notes)\/\d+$/,
      fault: { kind: "status", status: 403, body: "{}" },
    });
    await bot.push(one, changeOf(["web"], "3"));
    expect(bot.lastComment(one)).toContain('+  value: "3"');
    expect(comments(bot, one)).toEqual([CURRENT, CURRENT]);
  });

  test("a plan whose answer was lost is not posted twice, one that surely was not posted is", async () => {
    const bot = await startBot({ host });
    const post = { method: "POST", path: /\/(comments|notes)$/, times: 1 };
    bot.forge.faults.add({ ...post, fault: { kind: "lost-answer" } });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.answers(one)).toHaveLength(1);
    bot.forge.faults.add({ ...post, fault: { kind: "drop" } });
    await bot.comment(one, "svc plan");
    expect(bot.answers(one)).toHaveLength(2);
  });
});
