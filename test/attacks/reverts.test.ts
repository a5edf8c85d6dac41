import { describe, expect, test } from "@jest/globals";
import type { Push } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { type Bot, HOSTS, REPOSITORY, startBot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

/** `ana` wrote what is merged, `bo` approved and merged it; `olga` and `mia` may approve, too. */
async function merged(host: HostId, defaults: object = {}, push?: Push): Promise<[Bot, number]> {
  const bot = await startBot({ host, config: { defaults: { require_approval: true, ...defaults } } });
  for (const login of ["olga", "mia"]) bot.forge.setAccess(REPOSITORY, login, "write");
  const one = await bot.open(changeOf(["web"]));
  if (push !== undefined) await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"), push);
  await bot.idle();
  await bot.approve(one, "bo");
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  await bot.forge.mergeByHand(REPOSITORY, one, "bo");
  await bot.idle();
  return [bot, one];
}

async function reverted(bot: Bot, one: number, by: string): Promise<number> {
  await bot.comment(one, "svc revert", by);
  const said = bot.forge.changeRequest(REPOSITORY, one).comments.at(-1)?.body ?? "";
  const [, number] = /Opened \[[PM]R [#!](\d+)\]\(<[^>]+>\), which reverts/.exec(said) ?? [];
  expect([said, number]).toEqual([expect.any(String), expect.any(String)]);
  return Number(number);
}

async function expectRefused(bot: Bot, number: number, why: RegExp): Promise<void> {
  const before = bot.changes().length;
  await bot.comment(number, "svc sync", "bo");
  expect(bot.lastComment(number)).toContain("PR must be approved before sync");
  expect(bot.lastComment(number)).toMatch(why);
  expect(bot.changes().length).toBe(before);
}

const AUTHORS = /who asked for a revert, or had a hand in what it reverts, counts as its author/;

describe.each(HOSTS)("a revert that svc opens on %s", (host) => {
  test.each([
    ["in general", {}],
    ["where the approvals of committers count", { approval_from_committers: true }],
  ])("is approved neither by whom it was asked for by, nor by who wrote what it reverts, %s", async (_, defaults) => {
    const [bot, one] = await merged(host, defaults);
    const two = await reverted(bot, one, "olga");
    await bot.approve(two, "olga");
    await expectRefused(bot, two, AUTHORS);
    await bot.approve(two, "ana");
    await expectRefused(bot, two, AUTHORS);
    await bot.approve(two, "bo");
    await bot.comment(two, "svc sync", "olga");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
  });

  test("that is led to another base vouches for no commit of the one that it was opened for", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const evil = await bot.open(changeOf(["web"], "evil"), { branch: "evil", by: "bo", author: "ana" });
    await bot.close(evil);
    const one = await bot.open({ "docs/notes.md": "more\n" }, { base: "evil" });
    await bot.forge.mergeByHand(REPOSITORY, one, "ana");
    await bot.idle();
    const two = await reverted(bot, one, "ana");
    await bot.forge.retarget(REPOSITORY, two, "main");
    await bot.idle();
    await bot.approve(two, "bo");
    await expectRefused(bot, two, /The approval by bo is not enough: Git(?:Hub|Lab) does not tell who pushed/);
  });

  test("is approved neither by who wrote a commit of what it reverts, nor by who pushed one", async () => {
    const [bot, one] = await merged(host, {}, { by: "olga", author: "mia" });
    const two = await reverted(bot, one, "ana");
    for (const login of ["mia", "olga"]) {
      await bot.approve(two, login);
      await expectRefused(bot, two, AUTHORS);
    }
    await bot.approve(two, "bo");
    await bot.comment(two, "svc sync", "bo");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
  });

  test("of a revert is approved by nobody who asked for either, or wrote the first", async () => {
    const [bot, one] = await merged(host);
    const two = await reverted(bot, one, "olga");
    await bot.approve(two, "bo");
    await bot.comment(two, "svc sync");
    await bot.forge.mergeByHand(REPOSITORY, two, "bo");
    await bot.idle();
    const three = await reverted(bot, two, "mia");
    for (const login of ["mia", "olga", "ana"]) await bot.approve(three, login);
    await expectRefused(bot, three, AUTHORS);
    await bot.approve(three, "bo");
    await bot.comment(three, "svc sync");
    expect(bot.lastComment(three)).toContain("✅ succeeded");
  });

  test("keeps its authors when somebody rewrites its description", async () => {
    const [bot, one] = await merged(host);
    const two = await reverted(bot, one, "olga");
    bot.forge.describe(REPOSITORY, two, "<!-- svc:revert of=1 by=1 -->\nnothing to see");
    await bot.approve(two, "olga");
    await expectRefused(bot, two, host === "hosta" ? /nobody can tell any more who asked for this revert/ : AUTHORS);
    await bot.approve(two, "bo");
    await bot.comment(two, "svc sync", "bo");
    expect(bot.lastComment(two)).toContain("✅ succeeded");
  });

  test("counts who pushes to its branch like anywhere else", async () => {
    const [bot, one] = await merged(host);
    const two = await reverted(bot, one, "olga");
    await bot.forge.push(REPOSITORY, two, changeOf(["web"], "evil"), { by: "bo", author: "mia" });
    await bot.idle();
    await bot.approve(two, "bo");
    await expectRefused(bot, two, /The approval by bo does not count/);
  });

  test("needs write access to be asked for, also where anyone may give commands", async () => {
    const [bot, one] = await merged(host, { command_access: "anyone" });
    bot.forge.setAccess(REPOSITORY, "olga", "read");
    await bot.comment(one, "svc revert", "olga");
    expect(bot.lastComment(one)).toContain("`olga` has no write access to `acme/deploy`, which this command needs.");
    expect(() => bot.seen(one + 1)).toThrow();
  });

  test("is no command of a title, and mentions nobody", async () => {
    const bot = await startBot({ host, checkWords: false });
    const one = await bot.open(changeOf(["web"]), { title: '/merge "; @acme/all <img src=x>' });
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    const two = await reverted(bot, one, "ana");
    expect(bot.seen(two).title).toMatch(/^Revert "\/merge/);
    expect(bot.seen(two).state).toBe("open");
  });
});
