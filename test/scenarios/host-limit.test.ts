import { describe, expect, test } from "@jest/globals";
import { startService } from "../../src/service/service.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { startGitElsewhere } from "../git/git-launcher.js";
import { scrape, valueOf } from "../observe/metrics/scrape.js";
import { freePort } from "../redis-server.js";
import { sharedPool } from "../workers/shared-pool.js";
import { configFor, loggerFor, type BotOptions } from "./bot-options.js";
import { HOSTS, REPOSITORY, SECRET, startBot, type Bot } from "./bot.js";
import { changeOf } from "./resources.js";
import { ServiceLog } from "./service-log.js";

const WAITS = "a write waits for the code host's limit";

/** Bodies of the service's own comments. */
function said(bot: Bot, number: number): readonly string[] {
  return bot.answers(number).filter((body) => body.startsWith("<!-- svc:"));
}

/** Runs the command and returns how long people waited for its result, in milliseconds. */
async function timeOf(bot: Bot, number: number, command: string): Promise<number> {
  const asked = bot.clock.now().getTime();
  await bot.comment(number, command);
  expect(bot.lastComment(number)).toContain("## svc Sync");
  return bot.clock.now().getTime() - asked;
}

/** Stores whose budget can be used up, as other change requests of the same account would. */
function spendableStores() {
  let account = "";
  let spend: (count: number, rank: number) => Promise<void> = () => Promise.resolve();
  const stores: BotOptions["stores"] = (clock) => {
    const all = createMemoryStores(clock);
    spend = async (count, rank) => {
      const limits = [{ windowMs: 3_600_000, max: 10_000, rank }];
      for (let at = 0; at < count; at += 1) await all.content.take(account, rank, limits);
    };
    return {
      ...all,
      content: {
        take(...given) {
          [account] = given;
          return all.content.take(...given);
        },
      },
    };
  };
  return { stores, spend: (count: number, rank: number) => spend(count, rank) };
}

/** Stops the clock for waits of 20 seconds and more, which it otherwise jumps over. @returns Lets time pass again. */
function holdLongSleeps({ clock }: Bot): () => void {
  const sleep = clock.sleep.bind(clock);
  const released = new AbortController();
  clock.sleep = async (ms, signal) => {
    if (ms < 20_000 || released.signal.aborted) return sleep(ms, signal);
    await new Promise<void>((resolve, reject) => {
      released.signal.addEventListener("abort", () => resolve(), { once: true });
      signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    clock.advance(ms);
  };
  return () => released.abort();
}

const PLAN = 2;
/** Plans of one account after which no other one may be posted, and the time in which they were. */
const PLANS = { hosta: { count: 400, withinMs: 61_000 }, hostb: { count: 240, withinMs: 0 } } as const;

describe.each(HOSTS)("what %s accepts in an hour", (host) => {
  test("is not used up by an outsider's 200 comments: one answer per PR in all, also after a restart, and no reaction", async () => {
    const options: BotOptions = { host };
    const bot = await startBot(options);
    const numbers: number[] = [];
    for (const value of ["2", "3", "4"]) numbers.push(await bot.open(changeOf(["web"], value)));
    const before = numbers.map((number) => said(bot, number).length);
    const since = bot.forge.requests.length;
    const started = bot.clock.now().getTime();
    const texts = ["svc help", "svc make it so", "svc sync", "thanks!"];
    for (let at = 0; at < 200; at += 1) {
      await bot.forge.comment(REPOSITORY, numbers[at % 3] ?? 0, "mallory", texts[Math.floor(at / 3) % 4] ?? "");
    }
    await bot.idle();
    expect(numbers.map((number) => said(bot, number).length)).toEqual(before.map((count) => count + 1));
    const sent = bot.forge.requests.slice(since);
    expect(sent.filter(({ path }) => /\/(?:reactions|award_emoji)$/.test(path))).toEqual([]);
    expect(sent.length).toBeLessThan(60);

    // The next process knows nothing of what the first one remembers.
    const again = await startService(configFor(bot.world, options), loggerFor(options), {
      clock: bot.clock,
      stores: bot.stores,
      compute: sharedPool(),
      startGit: startGitElsewhere,
    });
    try {
      bot.forge.connect({ url: `${again.url}/webhook/${host}`, secret: SECRET });
      for (const number of numbers) await bot.forge.comment(REPOSITORY, number, "mallory", "svc help");
      await bot.forge.comment(REPOSITORY, numbers[0] ?? 0, "another", "svc help");
      await bot.forge.idle();
      await again.idle();
      expect(numbers.map((number) => said(bot, number).length)).toEqual(before.map((count) => count + 1));
      bot.expectChanges("sync web");
      await bot.forge.comment(REPOSITORY, numbers[0] ?? 0, "ana", "svc sync");
      await bot.forge.idle();
      await again.idle();
      expect(bot.lastComment(numbers[0] ?? 0)).toContain("## svc Sync");
      expect(bot.clock.now().getTime() - started).toBeLessThan(60_000);
    } finally {
      await again.close();
    }
  });

  test("is not used up by plans: one that waits says so everywhere, holds up nobody, and a sync is answered at once", async () => {
    const log = new ServiceLog();
    const { stores, spend } = spendableStores();
    const port = await freePort();
    const server = { metrics_port: port, concurrency: 1 };
    const bot = await startBot({ host, stores, log: log.write, config: { server } });
    const one = await bot.open(changeOf(["web"]));
    const { count, withinMs } = PLANS[host];
    await spend(count, PLAN);
    bot.clock.advance(withinMs);

    const release = holdLongSleeps(bot);
    const two = await bot.forge.open({ repository: REPOSITORY, by: "ana", changes: changeOf(["api"]) });
    const line = await log.first(WAITS);
    expect(line).toMatchObject({ level: 40, host, reason: "budget", waiting: 1, seconds: expect.any(Number) });
    const title = host === "hosta" ? "GitHub" : "GitLab";
    const page = await (await fetch(`${bot.service.url}/status`)).text();
    expect(page).toContain("1 write waits");
    expect(page).toContain(`${title}&#39;s limit of new comments, until 20`);
    expect(valueOf(await scrape(port), "svc_host_writes_waiting", { host, reason: "budget" })).toBe(1);

    bot.expectChanges("sync web");
    const synced = new Promise<void>((resolve) => {
      const look = () => (bot.lastComment(one).includes("## svc Sync") ? resolve() : setImmediate(look));
      look();
    });
    await bot.forge.comment(REPOSITORY, one, "ana", "svc sync");
    await synced;
    expect(said(bot, two)).toEqual([]);

    release();
    await bot.idle();
    expect(bot.lastComment(two)).toContain("## svc Plan");
    expect(log.of(WAITS)).toHaveLength(1);
    const after = await scrape(port);
    expect(valueOf(after, "svc_host_writes_waiting", { host })).toBe(0);
    expect(valueOf(after, "svc_host_write_wait_seconds_count", { host, reason: "budget" })).toBe(1);
  });

  test("once used up, help is left out with a line in the log and a reaction, and a sync is answered at once", async () => {
    const log = new ServiceLog();
    const { stores, spend } = spendableStores();
    const bot = await startBot({ host, stores, log: log.write });
    const one = await bot.open(changeOf(["web"]));
    const { count, withinMs } = PLANS[host];
    await spend(count, PLAN);
    bot.clock.advance(withinMs);
    const before = said(bot, one).length;
    await bot.comment(one, "svc help");
    expect(said(bot, one)).toHaveLength(before);
    expect(
      bot
        .seen(one)
        .comments.at(-1)
        ?.reactions.map(({ name }) => name),
    ).toEqual(["eyes", "confused"]);
    expect(log.of("an answer was left out: the code host's limit is used up")).toHaveLength(1);
    bot.expectChanges("sync web");
    expect(await timeOf(bot, one, "svc sync")).toBeLessThan(10_000);
  });

  test("a plan that waits ends with the push that it no longer fits", async () => {
    const log = new ServiceLog();
    const { stores, spend } = spendableStores();
    const bot = await startBot({ host, stores, log: log.write });
    const one = await bot.open(changeOf(["web"]));
    const { count } = PLANS[host];
    await spend(count, PLAN);
    const release = holdLongSleeps(bot);
    await bot.forge.comment(REPOSITORY, one, "ana", "svc plan");
    await log.first(WAITS);
    await bot.forge.push(REPOSITORY, one, changeOf(["web"], "9"));
    while (log.of(WAITS).length < 2) await new Promise((resolve) => setImmediate(resolve));
    release();
    await bot.idle();
    const plans = said(bot, one).filter((body) => body.includes("## svc Plan"));
    expect(plans).toHaveLength(2);
    expect(plans.at(-1)).toContain("9");
  });
});
