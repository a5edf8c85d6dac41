import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot } from "./bot.js";
import { changeOf } from "./resources.js";

const MANIFESTS = /\/applications\/web\/manifests$/;

describe.each(HOSTS)("a head commit that moves on %s", (host) => {
  test("while a plan runs: only the newest commit is planned and posted", async () => {
    const bot = await startBot({ host, git: true });
    bot.meanwhile("argocd", { path: MANIFESTS }, async () => {
      await bot.forge.push(REPOSITORY, 1, changeOf(["web"], "3"));
    });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.lastComment(one)).toContain('+  value: "3"');
    const [lock] = await bot.stores.locks.list(bot.ref(one));
    expect(lock?.planRevision).toBe(bot.seen(one).headRevision);
  });

  test("while a plan runs, with a lost webhook: the sync is refused as stale", async () => {
    const bot = await startBot({ host, git: true });
    bot.meanwhile("argocd", { path: MANIFESTS }, async () => {
      await bot.forge.pushSilently(REPOSITORY, 1, changeOf(["web"], "3"));
    });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Plan for web is stale. Please run the plan command again.");
    expect(bot.liveValue("web")).toBeUndefined();
  });

  test.each([
    ["with its webhook", "push"],
    ["with a lost webhook", "pushSilently"],
  ] as const)("while the checks of a sync run, %s: nothing is deployed", async (_, how) => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("argocd", { method: "GET", path: /\/applications\/web$/ }, async () => {
      await bot.forge[how](REPOSITORY, one, changeOf(["web"], "3"));
    });
    await bot.comment(one, "svc sync");
    expect(bot.answers(one).join("\n")).toContain("New commits were pushed while this command was checked.");
    expect(bot.changes()).toEqual([]);
    expect(bot.liveValue("web")).toBeUndefined();
  });

  test("while its facts are read: the newest commit is planned", async () => {
    const bot = await startBot({ host, git: true });
    bot.meanwhile("forge", { path: /\.git\/info\/refs$/ }, async () => {
      await bot.forge.pushSilently(REPOSITORY, 1, changeOf(["web"], "3"));
    });
    const one = await bot.open(changeOf(["web"]));
    expect(bot.lastComment(one)).toContain('+  value: "3"');
  });

  // GitHub's ref of a pull request may lag behind by seconds, and in bad cases by hours.
  test("while the host's ref shows another commit than the host names: the named one is planned", async () => {
    const bot = await startBot({ host, git: true });
    const { headRevision: other } = bot.seen(await bot.open({ "README.md": "hello" }));
    const ref = host === "hosta" ? "refs/pull/2/head" : "refs/merge-requests/2/head";
    bot.meanwhile("forge", { path: /\.git\/info\/refs$/ }, () => bot.forge.setRef(REPOSITORY, ref, other));
    const one = await bot.open(changeOf(["web"], "3"));
    expect(bot.lastComment(one)).toContain('+  value: "3"');
  });
});
