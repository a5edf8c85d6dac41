import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

const REQUIRED = { defaults: { require_approval: true } };
const UNAPPROVED = "PR must be approved before sync";

async function answerTo(bot: Bot, one: number): Promise<string> {
  await bot.comment(one, "svc sync");
  return bot.lastComment(one);
}

async function expectSynced(bot: Bot, one: number): Promise<void> {
  bot.expectChanges("sync web");
  expect(await answerTo(bot, one)).toContain("✅ succeeded");
}

describe.each(HOSTS)("approved means on %s", (host) => {
  test("a person who is not the author: the author alone, or a review without a verdict, is not enough", async () => {
    const bot = await startBot({ host, config: REQUIRED });
    const one = await bot.open(changeOf(["web"]));
    expect(await answerTo(bot, one)).toContain("Nobody other than the author");
    const own = bot.approve(one, "ana");
    if (host === "hosta") await expect(own).rejects.toThrow("Can not approve your own pull request");
    else await own;
    expect(await answerTo(bot, one)).toContain("Nobody other than the author");
    await bot.forge.review(REPOSITORY, one, "bo", "comment");
    await bot.comment(one, "lgtm, approved!", "bo");
    expect(await answerTo(bot, one)).toContain(UNAPPROVED);
    expect(bot.changes()).toEqual([]);
    await bot.approve(one, "bo");
    await expectSynced(bot, one);
  });

  test("on the present head commit: an approval of an earlier one does not count", async () => {
    const bot = await startBot({ host, config: REQUIRED });
    const one = await bot.open(changeOf(["web"], "1.5"));
    await bot.approve(one);
    await bot.push(one, changeOf(["web"]));
    expect(await answerTo(bot, one)).toContain(UNAPPROVED);
    expect(bot.lastComment(one)).toMatch(/bo approved (?:an earlier commit|before the newest commits came)/);
    expect(bot.changes()).toEqual([]);
    await bot.approve(one);
    await expectSynced(bot, one);
  });

  test("nobody's request for changes stands", async () => {
    const bot = await startBot({ host, config: REQUIRED });
    bot.forge.setAccess(REPOSITORY, "olga", "write");
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    await bot.forge.review(REPOSITORY, one, "olga", "request-changes");
    expect(await answerTo(bot, one)).toContain("olga requested changes.");
    expect(bot.changes()).toEqual([]);
    await bot.approve(one, "olga");
    await expectSynced(bot, one);
  });

  test("by somebody with write access", async () => {
    const bot = await startBot({ host, config: REQUIRED });
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    const one = await bot.open(changeOf(["web"]));
    const approval = bot.approve(one, "olga");
    if (host === "hostb") await expect(approval).rejects.toThrow("may not approve");
    else await approval;
    expect(await answerTo(bot, one)).toContain(UNAPPROVED);
    expect(bot.changes()).toEqual([]);
  });

  test("is asked for only where it is required", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.review(REPOSITORY, one, "bo", "comment");
    await expectSynced(bot, one);
  });
});

describe("approved means on GitLab's editions", () => {
  test.each(["ce", "free", "premium"] as const)(
    "%s: nobody approved is not approved, whatever `approved` says",
    async (edition) => {
      const bot = await startBot({ host: "hostb", gitlab: { edition }, config: REQUIRED });
      const one = await bot.open(changeOf(["web"]));
      expect(await answerTo(bot, one)).toContain("Nobody other than the author approved.");
      expect(bot.changes()).toEqual([]);
      await bot.approve(one);
      await expectSynced(bot, one);
    },
  );

  test("premium: approvals that a push takes back in the background do not count meanwhile", async () => {
    const bot = await startBot({ host: "hostb", gitlab: { edition: "premium" }, config: REQUIRED });
    const one = await bot.open(changeOf(["web"], "1.5"));
    await bot.approve(one);
    await bot.push(one, changeOf(["web"]));
    expect(await answerTo(bot, one)).toContain(UNAPPROVED);
    expect(bot.changes()).toEqual([]);
  });
});

describe("approved means with GitHub's own rules", () => {
  test("as many reviews as the branch demands", async () => {
    const bot = await startBot({
      host: "hosta",
      config: REQUIRED,
      prepare: ({ github }) => github?.requireReviews(REPOSITORY, 2),
    });
    bot.forge.setAccess(REPOSITORY, "olga", "write");
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    expect(await answerTo(bot, one)).toContain("GitHub requires more reviews");
    await bot.approve(one, "olga");
    await expectSynced(bot, one);
  });
});
