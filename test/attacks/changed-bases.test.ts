import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

const REQUIRED = { defaults: { require_approval: true, auto_merge: true } };
const LATE = /bo approved before the base changed (?:from staging )?to main: approve again\./;

const GONE =
  "the base branch staging no longer exists in acme/deploy, so svc cannot tell what would be deployed and which rules hold: create it again, or choose another base branch";

/** `ana` may write and attacks; `bo` and `olga` approve. */
async function start(options: BotOptions): Promise<Bot> {
  const bot = await startBot({ config: REQUIRED, ...options });
  bot.forge.setAccess(REPOSITORY, "olga", "write");
  return bot;
}

/** Into a branch of the attacker's own that has the bad change already, so that only something harmless is left to see. */
async function openHarmless(bot: Bot): Promise<number> {
  await bot.forge.pushToBranch(REPOSITORY, "staging", changeOf(["web"], "evil"));
  const one = await bot.open({ ...changeOf(["web"], "evil"), "README.md": "a typo" }, { base: "staging" });
  await bot.approve(one);
  return one;
}

async function retarget(bot: Bot, one: number, base = "main"): Promise<void> {
  await bot.forge.retarget(REPOSITORY, one, base);
  await bot.idle();
}

async function expectRefused(bot: Bot, one: number, why: RegExp): Promise<void> {
  await bot.comment(one, "svc sync");
  expect(bot.lastComment(one)).toContain("PR must be approved before sync");
  expect(bot.lastComment(one)).toMatch(why);
  expect(bot.changes()).toEqual([]);
  expect(bot.seen(one).state).toBe("open");
}

describe.each(HOSTS)("a base branch that changes after the approval on %s", (host) => {
  test("the approval of a harmless diff does not deploy what the diff against the new base is, and a new one does", async () => {
    const bot = await start({ host });
    const one = await openHarmless(bot);
    await retarget(bot, one);
    await expectRefused(bot, one, LATE);
    await bot.approve(one);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("evil");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("there and back again: the first approval was of that base, but what was approved in between was not", async () => {
    const bot = await start({ host });
    await bot.forge.pushToBranch(REPOSITORY, "staging", changeOf(["web"], "evil"));
    const one = await bot.open(changeOf(["web"], "evil"));
    await retarget(bot, one, "staging");
    await bot.approve(one);
    await retarget(bot, one);
    await expectRefused(bot, one, LATE);
  });

  test("a webhook of the change that got lost changes nothing", async () => {
    const bot = await start({ host });
    const one = await openHarmless(bot);
    await bot.loseWebhooks(() => bot.forge.retarget(REPOSITORY, one, "main"));
    await bot.comment(one, "svc plan");
    await expectRefused(bot, one, LATE);
  });

  test("an approval in the second of the change does not count on a host that counts seconds", async () => {
    const bot = await start({ host });
    const one = await openHarmless(bot);
    bot.forge.freezeClock();
    await bot.approve(one);
    await retarget(bot, one);
    await expectRefused(bot, one, LATE);
    // GitLab tells milliseconds, so that the order in one second is known.
    if (host === "hostb") return;
    await bot.approve(one);
    await expectRefused(bot, one, LATE);
  });

  test("a look at the diff against the old base is no look at the commits that the old base had", async () => {
    const bot = await start({ host });
    const staged = await bot.forge.pushToBranch(REPOSITORY, "staging", {});
    const one = await bot.open({ "README.md": "a typo" }, { base: "staging" });
    const hidden = await bot.forge.push(REPOSITORY, one, changeOf(["web"], "evil"), { by: "bo", onto: staged });
    await bot.forge.setRef(REPOSITORY, "refs/heads/staging", hidden);
    await bot.forge.push(REPOSITORY, one, { "README.md": "a typo" });
    await bot.idle();
    await bot.approve(one, "olga");
    await bot.forge.push(REPOSITORY, one, { "README.md": "another typo" });
    await retarget(bot, one);
    await bot.approve(one, "bo");
    await expectRefused(bot, one, /The approval by bo does not count: bo (?:is an author|pushed to this branch)/);
    await bot.approve(one, "olga");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });

  test("a base that changes there and back in one second takes the approval with it", async () => {
    const bot = await start({ host });
    const one = await bot.open(changeOf(["web"], "evil"));
    await bot.forge.pushToBranch(REPOSITORY, "staging", changeOf(["web"], "evil"));
    await bot.approve(one);
    bot.forge.freezeClock();
    await retarget(bot, one, "staging");
    await retarget(bot, one);
    await expectRefused(bot, one, LATE);
  });

  test.each(["svc plan", "svc sync", "svc sync --dry-run", "svc rollback -a web"])(
    "a base branch that was deleted: %s is refused, and says what svc cannot tell",
    async (command) => {
      const bot = await start({
        host,
        applications: ["web"],
        resources: () => ({ web: { targetRevision: "staging" } }),
      });
      await bot.forge.pushToBranch(REPOSITORY, "staging", {});
      const one = await bot.open(changeOf(["web"], "evil"), { base: "staging" });
      await bot.approve(one);
      await bot.forge.setRef(REPOSITORY, "refs/heads/staging", undefined);
      await bot.comment(one, command);
      expect(bot.lastComment(one)).toContain(GONE);
      expect(bot.changes()).toEqual([]);
      // Whoever may not give commands is answered once.
      for (let left = 3; left > 0; left -= 1) await bot.comment(one, command, "stranger");
      expect(bot.answers(one).filter((answer) => answer.includes(GONE))).toHaveLength(2);
    },
  );

  test("a base branch that is deleted while the sync runs: not merged, and says what svc cannot tell", async () => {
    const bot = await start({ host, applications: ["web"], resources: () => ({ web: { targetRevision: "staging" } }) });
    await bot.forge.pushToBranch(REPOSITORY, "staging", {});
    const one = await bot.open(changeOf(["web"], "evil"), { base: "staging" });
    await bot.approve(one);
    bot.meanwhile("forge", { method: "POST", path: /\/(?:comments|notes)$/ }, () =>
      bot.forge.setRef(REPOSITORY, "refs/heads/staging", undefined),
    );
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("open");
    expect(bot.lastComment(one)).toMatch(
      /was not merged[^]*cannot tell what holds now: the base branch staging no longer exists/,
    );
  });
});
