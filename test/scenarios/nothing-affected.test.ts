import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "./bot.js";
import { changeOf } from "./resources.js";

const NOTHING = "No applications are affected by commit";
const STATUSES = /\/statuses\/[0-9a-f]{40}$/;

describe.each(HOSTS)("a PR that affects no application on %s", (host) => {
  /** With the commit status on, which on GitLab it is not by itself. */
  const start = (options: Partial<BotOptions> = {}) =>
    startBot({ host, config: { ...(host === "hostb" && { hostb: { commit_status: true } }) }, ...options });

  /** A head that is planned automatically once GitLab has a pipeline for its status. */
  async function openWithPipeline(bot: Bot): Promise<number> {
    const one = await bot.open({ "README.md": "1" }, { draft: true });
    bot.forge.runPipeline(REPOSITORY, one);
    await bot.forge.markDraft(REPOSITORY, one, false);
    await bot.idle();
    return one;
  }

  const statuses = (bot: Bot, one: number) => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision);

  test("is told by the commit status alone, and svc plan answers with a comment", async () => {
    const bot = await start();
    const one = await openWithPipeline(bot);
    expect(statuses(bot, one).at(-1)).toMatchObject({ state: "success", description: "nothing to deploy" });
    expect(bot.answers(one)).toEqual([]);
    await bot.comment(one, "svc plan");
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.lastComment(one)).toContain(NOTHING);
  });

  test("gets the comment where the host refuses the status, or has no place for it", async () => {
    const bot = await start();
    if (host === "hosta") {
      bot.forge.faults.add({ method: "POST", path: STATUSES, fault: { kind: "status", status: 403, body: "{}" } });
    }
    // On GitLab there is no pipeline.
    const one = await bot.open({ "README.md": "1" });
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.lastComment(one)).toContain(NOTHING);
  });

  test("gets the comment where the status is switched off", async () => {
    const bot = await startBot({ host, config: { [host]: { commit_status: false } } });
    const one = await bot.open({ "README.md": "1" });
    expect(bot.lastComment(one)).toContain(NOTHING);
  });

  test("gets the comment in place of a plan of an earlier head, which would look as if it still held", async () => {
    const bot = await start();
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc unlock");
    bot.forge.runPipeline(REPOSITORY, one);
    await bot.push(one, changeOf(["web"], "1"));
    expect(bot.lastComment(one)).toContain(NOTHING);
    expect(bot.answers(one)[0]).toContain("<details><summary>Outdated plan");
    const head = await bot.push(one, { "README.md": "2" });
    expect(bot.answers(one)).toHaveLength(3);
    expect(bot.lastComment(one)).toContain(`${NOTHING} [\`${head.slice(0, 8)}\`](<`);
  });

  test("is told which locks it released", async () => {
    const bot = await start();
    const one = await bot.open(changeOf(["web"]));
    bot.forge.runPipeline(REPOSITORY, one);
    await bot.push(one, changeOf(["web"], "1"));
    expect(bot.lastComment(one)).toContain("No longer affected, lock released: `web`.");
  });

  test("nothing_affected: comment: an automatic plan says so once and edits that comment, svc plan answers anew", async () => {
    const bot = await startBot({ host, config: { comments: { nothing_affected: "comment" } } });
    const one = await bot.open({ "README.md": "1" });
    const first = bot.seen(one).headRevision.slice(0, 8);
    expect(bot.lastComment(one)).toContain(`${NOTHING} [\`${first}\`](<`);
    await bot.push(one, { "README.md": "2" });
    const head = await bot.push(one, { "README.md": "3" });
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.lastComment(one)).toContain(`${NOTHING} [\`${head.slice(0, 8)}\`](<`);
    expect(bot.lastComment(one)).not.toContain(first);
    await bot.comment(one, "svc plan");
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.lastComment(one)).toContain(NOTHING);
  });
});
