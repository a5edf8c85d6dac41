import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

const REACTIONS = /\/(reactions|award_emoji)$/;

/** The host's words for our marks on the newest comment of this person. */
function marks(bot: Bot, one: number, by = "ana"): readonly string[] {
  const last = bot.seen(one).comments.findLast(({ author }) => author === by);
  return last?.reactions.map(({ name }) => name) ?? [];
}

describe.each(HOSTS)("marks on a command on %s", (host) => {
  test("seen at once, before anything is rendered; done at the end", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    let early: readonly string[] = [];
    bot.meanwhile("argocd", { path: /\/applications\/web$/ }, () => {
      early = bot.forge.requests.filter(({ path }) => REACTIONS.test(path)).map(({ method }) => method);
    });
    await bot.comment(one, "svc plan");
    expect(early).toEqual(["POST"]);
    expect(marks(bot, one)).toEqual(["eyes", "rocket"]);
  });

  test("a refusal and a failed sync end with the mark of a failure, a success with that of a success", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync -a nope");
    expect(marks(bot, one)).toEqual(["eyes", "confused"]);
    bot.argocd.failNextSync("web", { phase: "Failed", message: "no room" });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(marks(bot, one)).toEqual(["eyes", "confused"]);
    await bot.comment(one, "svc sync");
    expect(marks(bot, one)).toEqual(["eyes", "rocket"]);
  });

  test("comments that are no command get none", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    for (const body of ["Looks good to me", "svc frobnicate", "> svc plan"]) {
      await bot.comment(one, body);
      expect(marks(bot, one)).toEqual([]);
    }
    expect(bot.forge.requests.some(({ path }) => REACTIONS.test(path))).toBe(false);
  });

  test("a mark that cannot be set hinders nothing", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.forge.faults.add({ path: REACTIONS, fault: { kind: "status", status: 403 } });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(marks(bot, one)).toEqual([]);
  });

  test("commands of people without write access get no marks, which anybody could cause", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const said = bot.answers(one).length;
    await bot.comment(one, "svc plan", "olga");
    expect(bot.answers(one)).toHaveLength(said + 1);
    await bot.comment(one, "svc plan", "olga");
    expect(bot.answers(one)).toHaveLength(said + 1);
    expect(bot.seen(one).comments.flatMap(({ reactions }) => reactions)).toEqual([]);
  });
});
