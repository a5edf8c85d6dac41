import { describe, expect, test } from "@jest/globals";
import type { GitLabForge } from "../../sandbox/gitlab/gitlab-forge.js";
import { type Bot, REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const JOIN = { method: "POST", path: /\/merge_trains\/merge_requests\/\d+$/ } as const;

async function start(): Promise<{ readonly bot: Bot; readonly gitlab: GitLabForge }> {
  const bot = await startBot({ host: "hostb", config: { defaults: { auto_merge: true } } });
  const { gitlab } = bot.world;
  if (gitlab === undefined) throw new Error("the sandbox has no GitLab");
  gitlab.useMergeTrain(REPOSITORY);
  bot.expectChanges("sync web");
  return { bot, gitlab };
}

describe("auto_merge where the project has merge trains", () => {
  test("while its own pipeline runs it is in line, also for a second sync, and joins the train once that has passed", async () => {
    const { bot, gitlab } = await start();
    const one = await bot.open(changeOf(["web"]));
    gitlab.runPipeline(REPOSITORY, one);
    await bot.comment(one, "svc sync");
    const inLine = "Queued: this MR is in GitLab's merge train, or in line for it";
    expect(bot.lastComment(one)).toContain(inLine);
    expect(gitlab.onTrain(REPOSITORY)).toEqual([]);
    // The lock went with the first one. GitLab refuses what is set to auto-merge already.
    await bot.comment(one, "svc plan");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(inLine);
    gitlab.passPipeline(REPOSITORY, one);
    expect(gitlab.onTrain(REPOSITORY)).toEqual([one]);
  });

  test("a push takes it off the train, and the new head needs a sync of its own", async () => {
    const { bot, gitlab } = await start();
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    await bot.push(one, changeOf(["web"], "9"));
    expect(gitlab.onTrain(REPOSITORY)).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });

  test("a target branch that is chosen while the sync runs is not merged into", async () => {
    const { bot, gitlab } = await start();
    await bot.forge.pushToBranch(REPOSITORY, "release", { "notes.md": "1\n" });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("argocd", { method: "POST", path: /\/sync$/ }, async () => {
      await bot.forge.retarget(REPOSITORY, one, "release");
    });
    await bot.comment(one, "svc sync");
    expect(gitlab.onTrain(REPOSITORY)).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });

  test("one that is on the train already is said to be queued", async () => {
    const { bot, gitlab } = await start();
    const one = await bot.open(changeOf(["web"]));
    // The answer is lost after GitLab has done it.
    bot.forge.faults.add({ ...JOIN, fault: { kind: "lost-answer" } });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Queued: this MR is in GitLab's merge train");
    expect(gitlab.onTrain(REPOSITORY)).toEqual([one]);
    bot.forge.faults.clear();
  });

  test("without the right to merge it says who has to allow what", async () => {
    const { bot, gitlab } = await start();
    bot.forge.faults.add({ ...JOIN, fault: { kind: "status", status: 401, body: '{"message":"401 Unauthorized"}' } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("may not put merge requests on the merge train of main.");
    expect(bot.lastComment(one)).toContain("Allow it to merge into that branch");
    expect(gitlab.onTrain(REPOSITORY)).toEqual([]);
    bot.forge.faults.clear();
  });
});
