import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { MAX_WAITING } from "../../src/core/model/lock.js";
import { HOSTS, startBot } from "../scenarios/bot.js";
import { section } from "../scenarios/plan-comment.js";
import { changeOf } from "../scenarios/resources.js";

const WEB = applicationName("web");

describe.each(HOSTS)("queues for locks on %s", (host) => {
  test("outsiders and forks that nobody with access had planned do not get in the queue", async () => {
    const bot = await startBot({ host, config: { defaults: { allow_forks: true } } });
    await bot.open(changeOf(["web"]));
    const fork = await bot.open(changeOf(["web"], "3"), { by: "olga", fork: true });
    await bot.comment(fork, "svc plan", "olga");
    expect(await bot.stores.waiting.list()).toEqual([]);
    await bot.comment(fork, "svc plan", "bo");
    expect(await bot.stores.waiting.of(WEB)).toEqual([bot.ref(fork)]);
  });

  test("a fork whose turn comes is not rendered: it is told, once, and the next has its turn", async () => {
    const bot = await startBot({ host, config: { defaults: { allow_forks: true } } });
    const one = await bot.open(changeOf(["web"]));
    const fork = await bot.open(changeOf(["web"], "3"), { by: "olga", fork: true });
    await bot.comment(fork, "svc plan", "bo");
    const three = await bot.open(changeOf(["web"], "4"));
    const rendered = () => bot.argocd.requests.filter(({ path }) => path.endsWith("/manifests")).length;
    const before = rendered();
    await bot.comment(one, "svc unlock");
    expect(rendered()).toBe(before);
    expect(bot.lastComment(fork)).toMatch(/To lock it before .*, comment:\n```\nsvc plan\n```/);
    expect(await bot.locked(fork)).toEqual([]);
    // Its plan may be edited, since it names who has the lock.
    const said = bot.answers(fork).length;
    await bot.service.reconcile();
    await bot.idle();
    expect(bot.answers(fork)).toHaveLength(said);
    expect(await bot.locked(three)).toEqual(["web"]);
  });

  test("a full queue takes nobody else, and the plan says what to do", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    for (let index = 0; index < MAX_WAITING; index += 1) await bot.stores.waiting.join(WEB, bot.ref(1000 + index));
    const two = await bot.open(changeOf(["web"], "3"));
    expect(section(bot.lastComment(two), "web")).toContain("Comment `svc plan` again once");
    expect((await bot.stores.waiting.of(WEB)).some(({ number }) => number === two)).toBe(false);
    // None of them exists: the host answers 404, and each leaves the queue.
    await bot.comment(one, "svc unlock");
    expect(await bot.stores.waiting.list()).toEqual([]);
  });
});
