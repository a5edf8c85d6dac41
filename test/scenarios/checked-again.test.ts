import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { HOSTS, REPOSITORY, SECRET, SHORT, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";

/** The first look at an application by a sync: its facts are read then, and nothing is deployed yet. */
const FIRST_LOOK = { method: "GET", path: /\/api\/v1\/applications\/web$/ };

/** The request by which the host is asked for approvals. */
function approvalRequest(bot: Bot) {
  return bot.host === "hosta" ? { path: /\/graphql$/ } : { path: /\/approvals$/ };
}

describe.each(HOSTS)("read afresh right before the first sync call on %s", (host) => {
  test.each([
    [
      "a push without its webhook",
      (bot: Bot, one: number) => bot.forge.pushSilently(REPOSITORY, one, changeOf(["web"], "3")),
    ],
    ["a push", (bot: Bot, one: number) => bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"))],
  ])("head commit: %s between the comment and the first sync call refuses the sync", async (_how, push) => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.meanwhile("argocd", FIRST_LOOK, async () => {
      await push(bot, one);
    });
    await bot.comment(one, "svc sync");
    expect(bot.answers(one).join("\n")).toContain(
      "New commits were pushed while this command was checked. Nothing was deployed",
    );
    expect(bot.changes()).toEqual([]);
    expect(bot.argocd.requests.filter(({ method, path }) => method === "POST" && path.endsWith("/sync"))).toEqual([]);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test.each([
    ["with its webhook", "webhook"],
    ["without its webhook", "lost"],
  ])("the target branch changed meanwhile, %s, refuses the sync", async (_how, path) => {
    const bot = await startBot({ host });
    await bot.forge.pushToBranch(REPOSITORY, "release", {});
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("argocd", FIRST_LOOK, () => {
      bot.forge.connect({ url: `${bot.service.url}/${path}/${host}`, secret: SECRET });
      return bot.forge.retarget(REPOSITORY, one, "release");
    });
    await bot.comment(one, "svc sync");
    expect(bot.answers(one).join("\n")).toContain(
      "The base branch changed to `release` while this command was checked. Nothing was deployed. Comment `svc plan`",
    );
    expect(bot.changes()).toEqual([]);
  });

  test("approval withdrawn meanwhile", async () => {
    const bot = await startBot({ host, config: { defaults: { require_approval: true } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.approve(one);
    bot.meanwhile("forge", { ...approvalRequest(bot), nth: 2 }, () =>
      bot.forge.review(REPOSITORY, one, "bo", "request-changes"),
    );
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("PR must be approved before sync");
    expect(bot.lastComment(one)).toContain("bo requested changes.");
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("the lock lost meanwhile: taken by another PR, or simply gone", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    bot.meanwhile("argocd", FIRST_LOOK, async () => {
      await bot.stores.locks.release(applicationName("web"), bot.ref(one));
      const taken = { application: applicationName("web"), user: "bo", planRevision: undefined, sourceFile: undefined };
      await bot.stores.locks.acquire({ ...taken, holder: bot.ref(two) }, bot.clock.now());
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`Locked by PR #${two} (bo)`);
    await bot.comment(two, "svc unlock");
    await bot.comment(one, "svc plan");
    bot.meanwhile("argocd", FIRST_LOOK, async () => {
      await bot.stores.locks.release(applicationName("web"), bot.ref(one));
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("No applications are locked by this PR. Run the plan command first.");
    expect(await bot.stores.locks.find(applicationName("web"))).toBeUndefined();
    expect(bot.changes()).toEqual([]);
  });

  test("auto-sync switched on meanwhile refuses the whole run before anything is deployed", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.meanwhile("argocd", { ...FIRST_LOOK, nth: 2 }, () => {
      bot.argocd.addApplication(bot.resourceOf("web", { spec: { syncPolicy: { automated: {} } } }));
    });
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("Application web has auto-sync enabled.");
    expect(bot.lastComment(one)).toContain("\nsvc sync -a api\n```");
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual(["api", "web"]);
  });

  test("the PR closed meanwhile: nothing is deployed and no lock stays", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.meanwhile("argocd", FIRST_LOOK, () => bot.forge.close(REPOSITORY, one));
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`This ${SHORT[host]} is closed.`);
    expect(bot.changes()).toEqual([]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("a push after the first sync call changes nothing any more: what was confirmed is deployed and said", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"]));
    await bot.comment(one, "svc plan");
    const head = bot.seen(one).headRevision;
    bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, async () => {
      await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"));
    });
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(`succeeded, \`${head.slice(0, 8)}\` is deployed`);
    expect(bot.liveValue("web")).toBe("2");
  });
});
