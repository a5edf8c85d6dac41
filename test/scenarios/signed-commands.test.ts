import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

describe.each(HOSTS)("a command after a sign, on %s", (host) => {
  const mention = host === "hosta" ? "/svc" : "@svc";

  test("is not run, and answered with the right form, once per PR", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, `${mention} Sync -a web`);
    const lines = bot.lastComment(one).split("\n");
    expect(lines).toContain("not a svc command");
    expect(lines).toContain(
      `A command begins with \`svc\`, without \`${mention[0]}\`. Did you mean \`svc sync -a web\`?`,
    );
    expect(bot.answers(one)).toHaveLength(2);
    for (const again of ["/svc plan", "@svc sync", "/SVC rollback"]) await bot.comment(one, again, "bo");
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.changes()).toEqual([]);
    const two = await bot.open(changeOf(["api"]), { by: "bo" });
    await bot.comment(two, "/svc unlock", "bo");
    expect(bot.lastComment(two)).toContain("Did you mean `svc unlock`?");
  });

  test("is answered to people with write access alone, whoever may command", async () => {
    const bot = await startBot({ host, config: { defaults: { command_access: "anyone" } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "/svc sync", "olga");
    expect(bot.answers(one)).toHaveLength(1);
    await bot.comment(one, "/svc sync");
    expect(bot.answers(one)).toHaveLength(2);
  });

  test("is a sentence unless the next word is a command; an ordinary comment costs no call", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const before = bot.forge.requests.length;
    for (const prose of ["@svc thanks", "/svc", "/svc/sync", "/svcs sync", "//svc sync", "we use /svc sync here"]) {
      await bot.comment(one, prose);
    }
    expect(bot.forge.requests.length).toBe(before);
    expect(bot.answers(one)).toHaveLength(1);
  });
});

test("on GitHub an account is mentioned, and not svc", async () => {
  const bot = await startBot({ host: "hosta" });
  const one = await bot.open(changeOf(["web"]));
  await bot.comment(one, "@svc sync");
  expect(bot.answers(one)).toHaveLength(1);
});
