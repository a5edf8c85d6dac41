import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot } from "./bot.js";
import { planned } from "./plan-comment.js";
import { changeOf, configMap } from "./resources.js";

const PUSHED = "The plan was stopped because new commits were pushed. Comment `svc plan` to plan them.";

/** Lets something happen while the first render of a plan is running. */
function duringPlan(bot: Bot, act: () => Promise<void>): void {
  bot.meanwhile("argocd", { path: /\/applications\/[^/]+\/manifests$/ }, act);
}

/** Commits that Argo CD was asked to render. */
function rendered(bot: Bot): readonly string[] {
  return bot.argocd.requests
    .filter(({ path }) => path.endsWith("/manifests"))
    .flatMap(({ query }) => query.revision ?? []);
}

describe.each(HOSTS)("superseded work on %s", (host) => {
  test("of several pushes that wait only the newest is planned", async () => {
    const bot = await startBot({ host, config: { server: { concurrency: 1 } } });
    const two = await bot.open(changeOf(["api"], "1.5"), { by: "bo" });
    const heads: string[] = [];
    duringPlan(bot, async () => {
      for (const value of ["2", "3", "4"]) heads.push(await bot.forge.push(REPOSITORY, two, changeOf(["api"], value)));
    });
    await bot.open(changeOf(["web"]));
    expect(bot.answers(two)).toHaveLength(2);
    expect(bot.lastComment(two)).toContain('+  value: "4"');
    const [first, second, newest] = heads;
    expect(rendered(bot)).toContain(newest);
    for (const older of [first, second]) expect(rendered(bot)).not.toContain(older);
  });

  test("a push aborts a running plan, which posts nothing and leaves nothing", async () => {
    const bot = await startBot({ host, config: { comments: { nothing_affected: "comment" } } });
    let lockedBefore: readonly string[] = [];
    duringPlan(bot, async () => {
      lockedBefore = await bot.locked(1);
      await bot.forge.push(REPOSITORY, 1, {
        "apps/web/configmap.yaml": configMap("web", { value: "1" }),
        "argocd/api.yaml": JSON.stringify(bot.resourceOf("api")),
        ...changeOf(["shop"]),
      });
    });
    const one = await bot.open({
      ...changeOf(["web"]),
      "argocd/api.yaml": JSON.stringify(bot.resourceOf("api", { path: "apps/web" })),
    });
    // The first render begins while Argo CD is still asked for the other application.
    expect(lockedBefore).not.toEqual([]);
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.lastComment(one)).toContain("No applications are affected");
    expect(await bot.locked(one)).toEqual([]);
    expect(bot.argocd.temporaryApplications()).toEqual([]);
    expect((await bot.stores.plans.find(bot.ref(one)))?.head).toBe(bot.seen(one).headRevision);
  });

  test("a plan that a person asked for is answered by the plan that replaces it", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    duringPlan(bot, async () => {
      await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"));
    });
    await bot.comment(one, "svc plan");
    expect(bot.answers(one)).toHaveLength(2);
    expect(planned(bot.lastComment(one))).toEqual(["web"]);
    expect(bot.lastComment(one)).toContain('+  value: "3"');
  });

  test.each([
    ["autoplan is off", { autoplan: false }, {}],
    ["it is a draft", {}, { draft: true }],
    ["it comes from a fork", { allow_forks: true }, { fork: true }],
  ])("a plan that a person asked for gets one sentence when nothing replaces it: %s", async (_, defaults, request) => {
    const bot = await startBot({ host, config: { defaults } });
    const one = await bot.open(changeOf(["web"]), request);
    duringPlan(bot, async () => {
      await bot.forge.push(REPOSITORY, one, changeOf(["web"], "3"));
    });
    await bot.comment(one, "svc plan");
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.lastComment(one)).toContain(PUSHED);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("a close aborts a running plan, and the person who asked for it gets one sentence", async () => {
    const bot = await startBot({ host, config: { defaults: { autoplan: false } } });
    const one = await bot.open(changeOf(["web"]));
    duringPlan(bot, () => bot.forge.close(REPOSITORY, one));
    await bot.comment(one, "svc plan");
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.lastComment(one)).toContain(`The plan was stopped because this ${SHORT[host]} was closed.`);
    expect(await bot.stores.locks.list()).toEqual([]);
  });
});
