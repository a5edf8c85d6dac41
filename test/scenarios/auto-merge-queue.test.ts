import { describe, expect, test } from "@jest/globals";
import type { GitHubForge } from "../../sandbox/github/github-forge.js";
import { type Bot, REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

async function start({ needsWrite = false, requireApproval = false } = {}): Promise<{
  readonly bot: Bot;
  readonly github: GitHubForge;
}> {
  const config = { hosta: { commit_status: true }, defaults: { auto_merge: true, require_approval: requireApproval } };
  const bot = await startBot({ host: "hosta", config });
  const { github } = bot.world;
  if (github === undefined) throw new Error("the sandbox has no GitHub");
  github.useMergeQueue(REPOSITORY, "main", needsWrite);
  bot.expectChanges("sync web");
  return { bot, github };
}

describe("auto_merge where the base branch has GitHub's merge queue", () => {
  test("a deployed pull request is queued and said to be, and the queue merges it", async () => {
    const { bot, github } = await start();
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      "Queued: this PR is in GitHub's merge queue, and GitHub merges it into `main`",
    );
    expect(bot.seen(one).state).toBe("open");
    expect(github.queued(REPOSITORY)).toHaveLength(1);
    const [head = ""] = github.queued(REPOSITORY);
    expect(bot.forge.statuses(REPOSITORY, head).at(-1)?.description).toBe(`ready to merge: PR #${one}`);
    expect(await github.endGroup(REPOSITORY, one)).toBe(true);
    await bot.idle();
    expect(bot.seen(one).state).toBe("merged");
    expect(await bot.deployed(one)).toEqual([]);
    const actions = (await bot.stores.audit.list({ limit: 10 })).map(({ action }) => action);
    expect(actions).toContain("queued");
    expect(actions).not.toContain("merged");
  });

  test("the plan says that it is queued, and to merge it once it is taken out again", async () => {
    const { bot, github } = await start({ requireApproval: true });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    await bot.comment(one, "svc sync");
    const plan = () => bot.answers(one).find((text) => text.includes("## svc Plan"));
    bot.clock.advance(2_000);
    await bot.idle();
    expect(plan()).toContain("GitHub merges this PR when its turn has come");
    expect(await github.endGroup(REPOSITORY, one, "another check that is required")).toBe(false);
    await bot.idle();
    bot.clock.advance(2_000);
    await bot.idle();
    expect(plan()).toMatch(/Merge this PR/);
  });

  test("what is pushed right before it is queued is not queued", async () => {
    const { bot, github } = await start();
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { method: "PUT", path: /\/pulls\/\d+\/merge$/ }, async () => {
      await bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "9"));
    });
    await bot.comment(one, "svc sync");
    expect(github.queued(REPOSITORY)).toEqual([]);
    expect(bot.lastComment(one)).not.toContain("Queued");
  });

  test("a base branch that is chosen right before it is queued gets nothing", async () => {
    const { bot, github } = await start();
    await bot.forge.pushToBranch(REPOSITORY, "release", { "notes.md": "1\n" });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { method: "PUT", path: /\/pulls\/\d+\/merge$/ }, async () => {
      github.useMergeQueue(REPOSITORY, "release");
      await bot.forge.retarget(REPOSITORY, one, "release");
    });
    await bot.comment(one, "svc sync");
    expect(github.queued(REPOSITORY)).toEqual([]);
    expect(bot.seen(one).state).toBe("open");
  });

  test("one that a person has queued meanwhile is said to be queued", async () => {
    const { bot, github } = await start();
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("forge", { method: "PUT", path: /\/pulls\/\d+\/merge$/ }, async () => {
      await github.queue(REPOSITORY, [one]);
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Queued: this PR is in GitHub's merge queue");
    expect(github.queued(REPOSITORY)).toHaveLength(1);
  });

  test("without the right to queue it says what to try", async () => {
    const { bot, github } = await start({ needsWrite: true });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("The GitHub App may not put this pull request into the merge queue.");
    expect(bot.lastComment(one)).toContain("Whether that needs Merge queues: write, GitHub does not document");
    expect(github.queued(REPOSITORY)).toEqual([]);
  });

  test("where the required status never comes, GitHub's reason is given", async () => {
    const { bot, github } = await start();
    bot.forge.faults.add({ method: "POST", path: /\/statuses\//, fault: { kind: "status", status: 403, body: "{}" } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain('GitHub says: "Required status check "svc/sync" is expected.".');
    expect(bot.lastComment(one)).toContain('then press "Merge when ready"');
    expect(github.queued(REPOSITORY)).toEqual([]);
    bot.forge.faults.clear();
  });
});
