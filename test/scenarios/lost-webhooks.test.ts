import { describe, expect, test } from "@jest/globals";
import express from "express";
import { listenOnLoopback } from "../../sandbox/loopback.js";
import { SECRET, type BotOptions } from "./bot-options.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { ownRedis, startReplica } from "./own-redis.js";
import { changeOf } from "./resources.js";

const MINUTE_MS = 60_000;
const ANOTHER_TIME = "reached the service late: its webhook was lost, or the service was down. Nothing was run.";

const redis = ownRedis();

/** What people do is answered with 200, as by a process that dies before it has written or answered the event. */
async function unheard(bot: Bot, act: () => Promise<unknown>): Promise<void> {
  const sink = await listenOnLoopback(express().use((_request, response) => void response.status(200).end()));
  bot.forge.connect({ url: sink.url, secret: SECRET });
  await act();
  await bot.forge.idle();
  await sink.stop();
  bot.forge.connect({ url: `${bot.service.url}/webhook/${bot.host}`, secret: SECRET });
}

async function reconcile(bot: Bot): Promise<void> {
  await bot.service.reconcile();
  await bot.idle();
}

/** Pushes back to an earlier head, unheard: it is found and answered, once. */
async function pushBackIsFound(bot: Bot, one: number, head: string): Promise<void> {
  await unheard(bot, () => bot.forge.push(REPOSITORY, one, {}, { back: head }));
  const before = bot.answers(one).length;
  bot.clock.advance(5 * MINUTE_MS);
  bot.forge.passTime(5 * MINUTE_MS);
  await reconcile(bot);
  await reconcile(bot);
  expect(bot.answers(one)).toHaveLength(before + 1);
  expect(bot.lastComment(one)).toContain(`head=${head} `);
}

describe.each(HOSTS)("webhooks that were answered and lost on %s", (host) => {
  const options: BotOptions = { host, stores: () => redis.stores() };

  test("a sync is found and run once, although two replicas look and look again", async () => {
    const bot = await startBot(options);
    const one = await bot.open(changeOf(["web"]));
    await unheard(bot, () => bot.forge.comment(REPOSITORY, one, "ana", "svc sync"));
    bot.expectChanges("sync web");
    const other = await startReplica(bot, options);
    await Promise.all([bot.service.reconcile(), other.reconcile()]);
    await bot.idle();
    await Promise.all([bot.service.reconcile(), other.reconcile()]);
    await other.idle();
    await bot.idle();
    await other.close();
    expect(bot.liveValue("web")).toBe("2");
    expect(bot.changes()).toEqual(["sync web"]);
    expect(bot.answers(one)).toHaveLength(2);
  });

  test("a command is found by the word that server.command names", async () => {
    const bot = await startBot({ ...options, config: { server: { command: "argo" } } });
    const one = await bot.open(changeOf(["web"]));
    await unheard(bot, async () => {
      await bot.forge.comment(REPOSITORY, one, "ana", "argo unlock");
      await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    });
    await reconcile(bot);
    expect(bot.lastComment(one)).toContain("Released: `web`.");
    expect(bot.changes()).toEqual([]);
  });

  test("a sync or an unlock older than ten minutes is not run but asked for again, once", async () => {
    const bot = await startBot(options);
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    await unheard(bot, async () => {
      await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
      await bot.forge.comment(REPOSITORY, two, "ana", "svc unlock");
    });
    bot.clock.advance(11 * MINUTE_MS);
    await reconcile(bot);
    await reconcile(bot);
    expect(bot.answers(one).slice(1)).toEqual([expect.stringContaining(ANOTHER_TIME)]);
    expect(bot.lastComment(one)).toContain("comment `svc sync` again");
    expect(bot.answers(two).slice(1)).toEqual([expect.stringContaining("comment `svc unlock` again")]);
    expect(await bot.locked(two)).toEqual(["api"]);
    expect(bot.changes()).toEqual([]);
  });

  test("a sync that another command followed is asked for again", async () => {
    const bot = await startBot(options);
    const one = await bot.open(changeOf(["web"]));
    await unheard(bot, () => bot.forge.comment(REPOSITORY, one, "ana", "svc sync"));
    await bot.comment(one, "svc unlock");
    await reconcile(bot);
    expect(bot.lastComment(one)).toContain(ANOTHER_TIME);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("a plan and a push are found and planned, however late, and only once", async () => {
    const bot = await startBot(options);
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    await unheard(bot, async () => {
      await bot.forge.comment(REPOSITORY, one, "ana", "svc plan");
      await bot.forge.push(REPOSITORY, two, changeOf(["api"], "3"));
    });
    bot.clock.advance(15 * MINUTE_MS);
    await reconcile(bot);
    await reconcile(bot);
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.answers(two)).toHaveLength(2);
    expect(bot.lastComment(two)).toContain(bot.seen(two).headRevision.slice(0, 8));
  });

  test("a push back to a head that was planned before is found and planned, once each time", async () => {
    const bot = await startBot(options);
    const one = await bot.open(changeOf(["web"]));
    const first = bot.seen(one).headRevision;
    for (const value of ["3", "4"]) {
      await bot.push(one, changeOf(["web"], value));
      await pushBackIsFound(bot, one, first);
    }
  });

  test("a push back to a head that could not be planned is found and answered, once", async () => {
    const bot = await startBot(options);
    const one = await bot.open({ ...changeOf(["web"]), ".svc.yaml": "{" });
    const first = bot.seen(one).headRevision;
    await bot.push(one, { ".svc.yaml": "{}" });
    await pushBackIsFound(bot, one, first);
  });

  test("another base branch is found and planned, once", async () => {
    const bot = await startBot(options);
    await bot.forge.pushToBranch(REPOSITORY, "release", { "README.md": "release" });
    const one = await bot.open(changeOf(["web"]));
    await unheard(bot, () => bot.forge.retarget(REPOSITORY, one, "release"));
    bot.clock.advance(5 * MINUTE_MS);
    await reconcile(bot);
    await reconcile(bot);
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.lastComment(one)).toContain("No longer affected, lock released: `web`.");
  });

  test("what was lost before the first look is found, although the host fails at that for more than an hour", async () => {
    const bot = await startBot(options);
    const one = await bot.open(changeOf(["web"]));
    await unheard(bot, () => bot.forge.comment(REPOSITORY, one, "ana", "svc plan"));
    const before = bot.answers(one).length;
    bot.forge.faults.add({ path: /./, times: 100, fault: { kind: "status", status: 500, body: "{}" } });
    await reconcile(bot);
    bot.forge.faults.clear();
    bot.clock.advance(90 * MINUTE_MS);
    await reconcile(bot);
    expect(bot.answers(one)).toHaveLength(before + 1);
  });

  test("without Redis, a head whose plan failed at the host after it was found is found again", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await unheard(bot, () => bot.forge.push(REPOSITORY, one, changeOf(["web"], "3")));
    bot.clock.advance(5 * MINUTE_MS);
    const fault = { kind: "status", status: 500, body: "{}" } as const;
    bot.forge.faults.add({ path: /\/(pulls|merge_requests)\/\d+$/, times: 30, fault });
    await reconcile(bot);
    bot.forge.faults.clear();
    const shown = () => bot.lastComment(one).includes(bot.seen(one).headRevision.slice(0, 8));
    expect(shown()).toBe(false);
    bot.clock.advance(5 * MINUTE_MS);
    await reconcile(bot);
    expect(shown()).toBe(true);
  });

  test("a command that was answered `failed to acquire lock` while Redis was away stays unrun after a restart", async () => {
    const bot = await startBot(options);
    const one = await bot.open(changeOf(["web"]));
    await redis.server.kill();
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("failed to acquire lock");
    const said = bot.answers(one);
    await redis.server.restart();
    const other = await startReplica(bot, options);
    await other.reconcile();
    await other.idle();
    await bot.idle();
    await other.close();
    expect(bot.answers(one)).toEqual(said);
    expect(bot.changes()).toEqual([]);
  });

  test("nothing is made of edited comments, ordinary ones and our own; an outsider is refused as ever", async () => {
    const bot = await startBot(options);
    const one = await bot.open(changeOf(["web"]));
    await unheard(bot, async () => {
      const id = await bot.forge.comment(REPOSITORY, one, "ana", "looks good");
      bot.forge.passTime(1000);
      await bot.forge.editComment(REPOSITORY, one, id, "ana", "svc sync");
      await bot.forge.comment(REPOSITORY, one, "bo", "who runs svc sync?");
    });
    const said = bot.answers(one);
    await reconcile(bot);
    expect(bot.answers(one)).toEqual(said);
    await unheard(bot, () => bot.forge.comment(REPOSITORY, one, "olga", "svc sync"));
    await reconcile(bot);
    expect(bot.lastComment(one)).toContain("has no write access");
    expect(bot.changes()).toEqual([]);
  });

  test("a head that could not be planned was answered: it is not refused again", async () => {
    const bot = await startBot(options);
    const one = await bot.open({ ...changeOf(["web"]), ".svc.yaml": "autoplan: [" });
    const said = bot.answers(one);
    expect(said).toHaveLength(1);
    bot.clock.advance(5 * MINUTE_MS);
    await reconcile(bot);
    expect(bot.answers(one)).toEqual(said);
  });

  test("a repository that is gone is skipped without a word", async () => {
    const lines: string[] = [];
    const bot = await startBot({ ...options, log: (line) => lines.push(line) });
    await bot.open(changeOf(["web"]));
    const list = host === "hosta" ? /\/pulls$/ : /\/merge_requests$/;
    bot.forge.faults.add({ method: "GET", path: list, fault: { kind: "status", status: 404 } });
    await reconcile(bot);
    await reconcile(bot);
    expect(lines.filter((line) => line.includes("could not look for events in a repository"))).toEqual([]);
    bot.forge.faults.clear();
    bot.forge.faults.add({ method: "GET", path: list, fault: { kind: "status", status: 403 } });
    await reconcile(bot);
    expect(lines.filter((line) => line.includes("could not look for events in a repository"))).toHaveLength(1);
  });

  test("a look at a quiet repository costs two calls at most, beside one per holder of a lock", async () => {
    const bot = await startBot(options);
    await bot.open(changeOf(["web"]));
    bot.clock.advance(30 * MINUTE_MS);
    await reconcile(bot);
    const before = bot.forge.requests.length;
    await reconcile(bot);
    expect(bot.forge.requests.length - before).toBeLessThanOrEqual(3);
  });
});
