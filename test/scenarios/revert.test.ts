import { describe, expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { type Bot, type BotOptions, HOSTS, REPOSITORY, SHORT, SIGIL, startBot } from "./bot.js";
import { changeOf, configMap } from "./resources.js";

/** A bot and the number of a change request that is deployed and merged. */
async function merged(host: HostId, options: Partial<BotOptions> = {}): Promise<[Bot, number]> {
  const bot = await startBot({ host, git: true, ...options });
  const one = await bot.open(changeOf(["web"]));
  bot.expectChanges("sync web");
  await bot.comment(one, "svc plan");
  await bot.comment(one, "svc sync");
  await bot.forge.mergeByHand(REPOSITORY, one, "bo");
  await bot.idle();
  return [bot, one];
}

function made(bot: Bot, one: number): number {
  const [, number] = /Opened \[[PM]R [#!](\d+)\]\(<[^>]+>\), which reverts/.exec(bot.lastComment(one)) ?? [];
  expect([bot.lastComment(one), number]).toEqual([expect.any(String), expect.any(String)]);
  return Number(number);
}

describe.each(HOSTS)("svc revert on %s", (host) => {
  test("opens a revert of what was merged, which is planned at once and can be deployed", async () => {
    const [bot, one] = await merged(host);
    await bot.comment(one, "svc rollback");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR.");
    expect(bot.lastComment(one)).toContain("Nothing is left to do here; to undo the merge, comment `svc revert`.");
    await bot.comment(one, "svc revert", "bo");
    const two = made(bot, one);
    expect(bot.lastComment(one)).toContain(`## svc Revert\n\nOpened [${SHORT[host]} ${SIGIL[host]}${two}](<http`);
    expect(bot.seen(two)).toMatchObject({ title: `Revert "${bot.seen(one).title}"`, baseBranch: "main" });
    expect(bot.answers(two).filter((text) => text.includes("## svc Plan"))).toHaveLength(1);
    expect(bot.lastComment(two)).toContain('-  value: "2"\n+  value: "1"');
    expect(await bot.locked(two)).toEqual(["web"]);
    await bot.comment(two, "svc sync");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
    expect(bot.liveValue("web")).toBe("1");
    const trail = await bot.stores.audit.list({ limit: 5, filter: { action: "reverted" } });
    expect(trail).toMatchObject([
      { command: "revert", who: { login: "bo" }, reason: expect.stringMatching(/^opened /) },
    ]);
  });

  test("finds the open revert again, and makes no second one", async () => {
    const [bot, one] = await merged(host);
    await bot.comment(one, "svc revert");
    const two = made(bot, one);
    await bot.comment(one, "svc revert", "bo");
    expect(bot.lastComment(one)).toContain(`${two}>) is open already: it reverts this`);
    expect(() => bot.seen(two + 1)).toThrow();
  });

  test("leaves the branch of an open revert alone that was led to another base", async () => {
    const [bot, one] = await merged(host);
    await bot.comment(one, "svc revert");
    const two = made(bot, one);
    await bot.forge.pushToBranch(REPOSITORY, "release", { "README.md": "release" });
    await bot.forge.retarget(REPOSITORY, two, "release");
    await bot.push(two, { "docs/more.md": "more\n" });
    const { headRevision } = bot.seen(two);
    await bot.comment(one, "svc revert");
    expect(bot.seen(two)).toMatchObject({ headRevision, state: "open" });
    if (host === "hosta") return;
    expect(bot.lastComment(one)).toContain(`is open with the branch svc-revert-${one}-by-`);
  });

  test("reverts a revert", async () => {
    const [bot, one] = await merged(host);
    await bot.comment(one, "svc revert");
    const two = made(bot, one);
    await bot.comment(two, "svc sync");
    await bot.forge.mergeByHand(REPOSITORY, two, "bo");
    await bot.idle();
    await bot.comment(two, "svc revert");
    const three = made(bot, two);
    expect(bot.lastComment(three)).toContain('-  value: "1"\n+  value: "2"');
  });

  test("says that it does not apply any more, and leaves nothing behind", async () => {
    const [bot, one] = await merged(host);
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "3"));
    await bot.comment(one, "svc revert");
    expect(bot.lastComment(one)).toContain(
      "No revert was opened: it does not apply cleanly to main any more. There are conflicts in `apps/web/configmap.yaml`. Revert it with git, and resolve them.",
    );
    expect(() => bot.seen(one + 1)).toThrow();
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "2"));
    await bot.comment(one, "svc revert");
    made(bot, one);
  });

  test("says what the host says where git finds no conflict, and if it cannot be asked", async () => {
    const [bot, one] = await merged(host);
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "1"));
    const hosts = /No revert was opened: Git(?:Hub|Lab) says "[^"]+"\. Revert it with git\./;
    await bot.comment(one, "svc revert");
    expect(bot.lastComment(one)).toMatch(hosts);
  });

  test.each(["open", "closed"] as const)("is refused on one that is %s", async (state) => {
    const bot = await startBot({ host });
    const one = await bot.open({ "apps/web/more.yaml": configMap("more", { a: "1" }) });
    if (state === "closed") await bot.close(one);
    await bot.comment(one, "svc revert");
    expect(bot.lastComment(one)).toContain(
      "No revert was opened: only what was merged can be reverted; svc rollback undoes a sync.",
    );
  });

  test("plans the revert where the repository does not plan by itself", async () => {
    const [bot, one] = await merged(host, { config: { defaults: { autoplan: false } } });
    await bot.comment(one, "svc revert");
    expect(bot.lastComment(made(bot, one))).toContain("## svc Plan");
  });
});
