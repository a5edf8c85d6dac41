import { describe, expect, test } from "@jest/globals";
import type { GitLabForge } from "../../sandbox/gitlab/gitlab-forge.js";
import { type Bot, REPOSITORY, startBot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

const JOIN = { method: "POST", path: /\/merge_trains\/merge_requests\/\d+$/ } as const;

async function start(requireApproval = false): Promise<{ readonly bot: Bot; readonly gitlab: GitLabForge }> {
  const defaults = { auto_merge: true, require_approval: requireApproval };
  const bot = await startBot({ host: "hostb", config: { defaults } });
  const { gitlab } = bot.world;
  if (gitlab === undefined) throw new Error("the sandbox has no GitLab");
  gitlab.useMergeTrain(REPOSITORY);
  bot.expectChanges("sync web");
  return { bot, gitlab };
}

const merges = (gitlab: GitLabForge) =>
  gitlab.requests.filter(({ method, path }) => method === "PUT" && path.endsWith("/merge"));

describe("GitLab's merge trains", () => {
  test("a head that is pushed between the judgement and the train does not join it", async () => {
    const { bot, gitlab } = await start();
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", JOIN, async () => {
      await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "9"));
    });
    await bot.comment(one, "svc sync");
    expect(gitlab.onTrain(REPOSITORY)).toEqual([]);
    expect(merges(gitlab)).toEqual([]);
    expect(bot.lastComment(one)).toContain("The head commit changed before it was put on the merge train.");
  });

  test("a target branch that is chosen between the judgement and the train is not merged into", async () => {
    const { bot, gitlab } = await start();
    await bot.forge.pushToBranch(REPOSITORY, "release", { "notes.md": "1\n" });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", JOIN, async () => {
      await bot.forge.retarget(REPOSITORY, one, "release");
    });
    await bot.comment(one, "svc sync");
    expect(gitlab.onTrain(REPOSITORY)).toEqual([]);
    expect(bot.lastComment(one)).not.toContain("Queued");
    expect(merges(gitlab)).toEqual([]);
  });

  test("an unapproved head that is pushed while the approved one waits for its pipeline does not join", async () => {
    const { bot, gitlab } = await start(true);
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    gitlab.runPipeline(REPOSITORY, one);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("GitLab's merge train, or in line for it");
    await bot.push(one, changeOf(["web"], "9"));
    gitlab.passPipeline(REPOSITORY, one);
    await bot.comment(one, "svc sync");
    expect(gitlab.onTrain(REPOSITORY)).toEqual([]);
    expect(merges(gitlab)).toEqual([]);
  });

  test.each([400, 401, 403, 404, 409])("nothing is merged past the train when GitLab answers %s", async (status) => {
    const { bot, gitlab } = await start();
    bot.forge.faults.add({ ...JOIN, fault: { kind: "status", status, body: '{"message":"no"}' } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("could not be merged");
    expect(merges(gitlab)).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
    bot.forge.faults.clear();
  });
});
