import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

describe.each(HOSTS)("closed PRs on %s", (host) => {
  test("only unlock and help work where nothing is deployed, and what is said leads nowhere that is refused", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.close(one);
    for (const command of ["svc plan", "svc sync"]) {
      await bot.comment(one, command);
      expect(bot.lastComment(one)).toContain(
        `This ${SHORT[host]} is closed. Only \`unlock\`, \`hold\`, \`release\`, \`help\` work here.`,
      );
    }
    expect(await bot.stores.locks.list()).toEqual([]);
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(one)).toContain("## svc Unlock");
    await bot.comment(one, "svc help");
    expect(bot.lastComment(one)).toContain("## svc Help");
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR.\n");
    expect(bot.lastComment(one)).toContain(`reopen this ${SHORT[host]} to go on with it`);
    expect(bot.lastComment(one)).not.toContain("plan");
    expect(bot.changes()).toEqual([]);
  });

  test("closed unmerged after a sync: it says which applications still run its commit, and rollback undoes it", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.close(one);
    expect(bot.lastComment(one)).toContain("these applications still run its commit: `web`");
    expect(await bot.deployed(one)).toEqual(["web"]);
    await bot.comment(one, "svc rollback");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.deployed(one)).toEqual([]);
    expect(await bot.stores.locks.list()).toEqual([]);
  });

  test("closed unmerged while its sync ran for minutes: it says once which applications still run its commit", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    const letGo = bot.argocd.holdSync("web");
    const syncing = bot.asked("argocd", { method: "POST", path: /\/sync$/ });
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await syncing;
    await bot.forge.close(REPOSITORY, one);
    await bot.forge.idle();
    for (const _look of [1, 2]) {
      bot.clock.advance(5 * 60_000);
      await bot.service.reconcile();
    }
    letGo();
    await bot.idle();
    const closed = bot.answers(one).filter((text) => text.includes("## svc Closed"));
    expect(closed).toEqual([expect.stringContaining("these applications still run its commit: `web`")]);
  });

  test("merged after a sync: the record ends and nothing is posted; a plan is refused", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const before = bot.answers(one).length;
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    expect(bot.answers(one)).toHaveLength(before);
    expect(await bot.deployed(one)).toEqual([]);
    await bot.comment(one, "svc plan");
    expect(bot.lastComment(one)).toContain(
      `This ${SHORT[host]} is merged. Only \`unlock\`, \`revert\`, \`hold\`, \`release\`, \`help\` work here.`,
    );
  });

  test.each([true, false])(
    "merged by somebody during its sync, with auto_merge %s: the answer says so, and what it means",
    async (autoMerge) => {
      const bot = await startBot({ host, config: { defaults: { auto_merge: autoMerge } } });
      const one = await bot.open(changeOf(["api", "web"]));
      bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, () =>
        bot.forge.mergeByHand(REPOSITORY, one, "bo"),
      );
      bot.expectChanges("sync api", "sync web");
      await bot.comment(one, "svc sync");
      const said = bot.lastComment(one);
      expect(said).toContain(
        `**Merged meanwhile:** this ${SHORT[host]} was merged while it was synced, so svc deploys nothing more from it. What was deployed stays.\n`,
      );
      expect(said).toContain("nothing is left to do here; to undo the merge, comment `svc revert`");
      expect(said).not.toMatch(/svc merges|merge this|svc (plan|sync|rollback)`/);
      expect(bot.answers(one)[0]).toContain("**Merged** · ✅ 2 of 2 applications deployed by `ana`");
      expect(await bot.stores.locks.list()).toEqual([]);
    },
  );

  test("merged by somebody during a sync that fails for one application: that one is to be synced in Argo CD", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.argocd.failNextSync("api", { phase: "Failed", message: "no room" });
    bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, () =>
      bot.forge.mergeByHand(REPOSITORY, one, "bo"),
    );
    bot.expectChanges("sync api", "sync web");
    await bot.comment(one, "svc sync");
    const said = bot.lastComment(one);
    expect(said).toContain(
      "so svc deploys nothing more from it. What was deployed stays. Not deployed: `api`; once the cause is gone, sync it in Argo CD, which deploys `main`.\n",
    );
    expect(said).not.toMatch(/Not merged automatically|nothing is left|lock is kept|svc (plan|sync|rollback)`/);
  });

  test("closed by somebody during its sync: what is left is the rollback, and no merge", async () => {
    const bot = await startBot({ host, config: { defaults: { auto_merge: true } } });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, () => bot.forge.close(REPOSITORY, one));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const said = bot.answers(one).find((text) => text.includes("svc Sync"));
    expect(said).toContain("\nsvc rollback -a web\n");
    expect(said).not.toMatch(/svc merges|merge this|To deploy `main` again/);
    expect(bot.lastComment(one)).toContain("these applications still run its commit: `web`");
  });
});
