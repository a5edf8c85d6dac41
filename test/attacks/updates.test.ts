import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { type Bot, type BotOptions, HOSTS, REPOSITORY, startBot } from "../scenarios/bot.js";
import { changeOf, configMap } from "../scenarios/resources.js";

const base = { "apps/web/more.yaml": configMap("more", { a: "1" }) };

/** One by `ana` that is behind its base; `olga` may approve. */
async function behind(host: HostId, options: Partial<BotOptions> = {}, more = {}): Promise<[Bot, number]> {
  const bot = await startBot({ host, config: { defaults: { require_approval: true } }, ...options });
  bot.forge.setAccess(REPOSITORY, "olga", "write");
  const one = await bot.open(changeOf(["web"], "2"), more);
  await bot.forge.pushToBranch(REPOSITORY, "main", base);
  await bot.idle();
  return [bot, one];
}

async function expectRefused(bot: Bot, one: number, why: RegExp): Promise<void> {
  await bot.comment(one, "svc sync");
  expect(bot.lastComment(one)).toContain("PR must be approved before sync");
  expect(bot.lastComment(one)).toMatch(why);
  expect(bot.changes()).toEqual([]);
}

describe.each(HOSTS)("updates of branches on %s", (host) => {
  test("an approval of the head before does not count for the head that svc update makes", async () => {
    const [bot, one] = await behind(host);
    await bot.approve(one, "olga");
    await bot.comment(one, "svc update");
    await expectRefused(bot, one, /olga approved (?:an earlier commit|before the newest commits came)/);
    await bot.approve(one, "olga");
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });

  test("who pushed to the branch does not become independent of it by an update", async () => {
    const [bot, one] = await behind(host);
    await bot.forge.push(REPOSITORY, one, changeOf(["web"], "evil"), { by: "bo", author: "ana" });
    await bot.idle();
    await bot.comment(one, "svc update", "bo");
    await bot.approve(one, "bo");
    await expectRefused(bot, one, /The approval by bo does not count/);
  });

  test("what is pushed while svc update runs is planned and approved like any other commit", async () => {
    const [bot, one] = await behind(host);
    await bot.approve(one, "olga");
    bot.meanwhile("forge", { method: "PUT", path: /\/(?:update-branch|rebase)$/ }, async () => {
      await bot.forge.push(REPOSITORY, one, changeOf(["web"], "evil"), { by: "ana" });
    });
    await bot.comment(one, "svc update");
    expect(await bot.stores.plans.find(bot.ref(one))).toMatchObject({ head: bot.seen(one).headRevision });
    await expectRefused(bot, one, /olga approved (?:an earlier commit|before the newest commits came)/);
  });

  test("only who can push may have svc push to a branch, also where anyone may give commands", async () => {
    const [bot, one] = await behind(host, { config: { defaults: { command_access: "anyone" } } });
    const head = bot.seen(one).headRevision;
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    await bot.comment(one, "svc update", "olga");
    expect(bot.lastComment(one)).toContain("`olga` has no write access to `acme/deploy`, which this command needs.");
    expect(bot.seen(one).headRevision).toBe(head);
  });

  test("the branch of a fork is not touched, also where forks are allowed", async () => {
    const options = { config: { defaults: { allow_forks: true } } };
    const [bot, one] = await behind(host, options, { by: "olga", fork: true });
    const head = bot.seen(one).headRevision;
    await bot.comment(one, "svc update");
    expect(bot.lastComment(one)).toContain("The branch was not updated: it comes from a fork.");
    expect(bot.seen(one).headRevision).toBe(head);
  });

  test("neither the head nor a base branch of somebody's choice lifts update_branch: never", async () => {
    const [bot, one] = await behind(host, { files: () => ({ ".svc.yaml": "update_branch: never\n" }) });
    await bot.forge.pushToBranch(REPOSITORY, "loose", { ".svc.yaml": "update_branch: on_turn\n" });
    await bot.push(one, { ".svc.yaml": "update_branch: command\n" });
    const head = bot.seen(one).headRevision;
    await bot.comment(one, "svc update");
    expect(bot.lastComment(one)).toContain("update\\_branch is set to never here");
    await bot.forge.retarget(REPOSITORY, one, "loose");
    await bot.idle();
    await bot.comment(one, "svc update");
    expect(bot.lastComment(one)).toContain("update\\_branch is set to never here");
    expect(bot.seen(one).headRevision).toBe(head);
  });

  test.each(["by a second change request", "by leading it there and back"])(
    "who has svc bring commits of theirs into another's branch %s does not approve them",
    async (how) => {
      const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
      const one = await bot.open(changeOf(["web"], "2"));
      const forged = { branch: "evil", by: "bo", author: "ana" };
      await bot.close(await bot.open({ "apps/web/evil.yaml": configMap("evil", { a: "1" }) }, forged));
      const { headBranch, headRevision } = bot.seen(one);
      if (how === "by a second change request") {
        const two = await bot.open({}, { branch: headBranch, base: "evil", at: headRevision });
        await bot.comment(two, "svc update", "bo");
        await bot.close(two);
      } else {
        await bot.forge.retarget(REPOSITORY, one, "evil");
        await bot.idle();
        await bot.comment(one, "svc update", "bo");
        await bot.forge.retarget(REPOSITORY, one, "main");
        await bot.idle();
      }
      expect(bot.seen(one).headRevision).not.toBe(headRevision);
      await bot.approve(one, "bo");
      await bot.comment(one, "svc plan", "bo");
      await expectRefused(bot, one, /The approval by bo is not enough: Git(?:Hub|Lab) does not tell who pushed/);
    },
  );

  test.each([
    ["the default branch", "main", undefined],
    ["a branch that the server protects", "qa", undefined],
    ["a branch that the host protects", "guarded", "guarded"],
  ])("svc pushes nothing to %s for a change request that has it as its head", async (_, branch, guarded) => {
    const config = { defaults: { protected_branches: ["qa"] } };
    const bot = await startBot({ host, config });
    await bot.forge.pushToBranch(REPOSITORY, "evil", changeOf(["web"], "evil"));
    const tip = await bot.forge.pushToBranch(REPOSITORY, branch, {
      "apps/api/more.yaml": configMap("more", { a: "1" }),
    });
    if (guarded !== undefined) bot.forge.protectBranch(REPOSITORY, guarded);
    await bot.idle();
    const one = await bot.open({}, { branch, base: "evil", at: tip });
    await bot.comment(one, "svc update");
    expect(bot.lastComment(one)).toMatch(
      guarded === undefined
        ? `The branch was not updated: ${branch} is the default branch or a protected one, and svc never pushes to those.`
        : /The branch was not updated: Git(?:Hub|Lab) protects the branch guarded\./,
    );
    expect(bot.seen(one).headRevision).toBe(tip);
  });
});

test("a push that GitLab lists no more stays unknown after an update", async () => {
  const bot = await startBot({ host: "hostb", config: { defaults: { require_approval: true } } });
  const one = await bot.open(changeOf(["web"], "2"));
  await bot.forge.push(REPOSITORY, one, changeOf(["web"], "evil"), { by: "bo", author: "ana" });
  await bot.forge.pushToBranch(REPOSITORY, "main", base);
  await bot.idle();
  await bot.loseWebhooks(async () => {
    for (let n = 0; n < 505; n += 1) await bot.forge.pushToBranch(REPOSITORY, "noise", { "n.txt": `${n}` });
  });
  await bot.comment(one, "svc update", "bo");
  await bot.approve(one, "bo");
  await expectRefused(bot, one, /The approval by bo is not enough: GitLab does not tell who pushed/);
});
