import { describe, expect, test } from "@jest/globals";
import { repositoryName } from "../../src/core/model/brand.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import type { BotOptions } from "./bot-options.js";
import { HOSTS, REPOSITORY, SECRET, startBot, type Bot } from "./bot.js";
import { ownRedis, startReplica } from "./own-redis.js";
import { applicationResource, asYaml, changeOf } from "./resources.js";

const redis = ownRedis();

async function poll(bot: Bot): Promise<void> {
  await bot.service.poll();
  await bot.idle();
}

function deliverTo(bot: Bot, path: string): void {
  bot.forge.connect({ url: `${bot.service.url}${path}`, secret: SECRET });
}

/** A service that no webhook reaches, after its first poll. */
async function startPolled(options: BotOptions): Promise<Bot> {
  const bot = await startBot(options);
  deliverTo(bot, "/nowhere");
  await poll(bot);
  bot.forge.passTime(1000);
  return bot;
}

describe.each(HOSTS)("a service that polls %s and gets no webhook", (host) => {
  const options: BotOptions = { host, config: { [host]: { poll: "15s", commit_status: true } } };
  const shared: BotOptions = { ...options, stores: () => redis.stores() };

  test("answers a command after a sign, once", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    await bot.comment(one, "/svc sync -a web");
    await poll(bot);
    await poll(bot);
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.lastComment(one)).toContain("Did you mean `svc sync -a web`?");
  });

  test("plans what is opened and pushed, runs what is commented once, and forgets it after the merge", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    expect(bot.answers(one)).toEqual([]);
    await poll(bot);
    expect(bot.answers(one)).toEqual([expect.stringContaining(bot.seen(one).headRevision.slice(0, 8))]);
    await bot.push(one, changeOf(["web"], "3"));
    await poll(bot);
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.lastComment(one)).toContain(bot.seen(one).headRevision.slice(0, 8));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await poll(bot);
    await poll(bot);
    expect(bot.liveValue("web")).toBe("3");
    expect(bot.changes()).toEqual(["sync web"]);
    await bot.forge.mergeByHand(REPOSITORY, one, "ana");
    expect(await bot.deployed(one)).toEqual(["web"]);
    await poll(bot);
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("plans a head again that was planned before another one", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    const first = bot.seen(one).headRevision;
    await poll(bot);
    await bot.push(one, changeOf(["web"], "3"));
    await poll(bot);
    await bot.forge.push(REPOSITORY, one, {}, { back: first });
    await poll(bot);
    await poll(bot);
    expect(bot.answers(one)).toHaveLength(3);
    expect(bot.lastComment(one)).toContain(`head=${first} `);
  });

  test("plans again once for each other base branch, so that no status goes on that was set for the one before", async () => {
    const bot = await startPolled(options);
    await bot.forge.pushToBranch(REPOSITORY, "release", { "README.md": "release" });
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    expect(await bot.locked(one)).toEqual(["web"]);
    for (const [base, locked] of [
      ["release", []],
      ["main", ["web"]],
      ["release", []],
    ] as const) {
      const before = bot.answers(one).length;
      bot.clock.advance(1000);
      await bot.forge.retarget(REPOSITORY, one, base);
      await poll(bot);
      await poll(bot);
      expect(await bot.locked(one)).toEqual(locked);
      expect(bot.answers(one)).toHaveLength(before + 1);
    }
  });

  test("releases the locks of what is closed", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.close(one);
    await poll(bot);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("plans and locks once what was reopened", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    for (const plans of [2, 3]) {
      bot.forge.passTime(1000);
      await bot.close(one);
      await poll(bot);
      expect(await bot.locked(one)).toEqual([]);
      await bot.forge.reopen(REPOSITORY, one);
      await poll(bot);
      await poll(bot);
      expect(await bot.locked(one)).toEqual(["web"]);
      expect(bot.answers(one)).toHaveLength(plans);
    }
  });

  test("plans once what is no draft any more", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]), { draft: true });
    await poll(bot);
    await poll(bot);
    expect(bot.answers(one)).toEqual([]);
    await bot.forge.markDraft(REPOSITORY, one, false);
    await poll(bot);
    await poll(bot);
    expect(bot.answers(one)).toEqual([expect.stringContaining("## svc Plan")]);
    expect(await bot.locked(one)).toEqual(["web"]);
  });

  test("shows in the next step that it became a draft", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await poll(bot);
    await poll(bot);
    expect(bot.answers(one)[0]).not.toContain("as ready, then merge it");
    bot.forge.passTime(1000);
    await bot.forge.markDraft(REPOSITORY, one, true);
    await poll(bot);
    expect(bot.answers(one)[0]).toContain("as ready, then merge it");
  });

  test("shows in the status that an approval was given and withdrawn, and writes nothing while nothing happens", async () => {
    const rules = "sync_requirements:\n  - name: fresh\n    require_approval: true\n";
    const bot = await startPolled({ ...options, files: () => ({ ".svc.yaml": rules }) });
    const repoURL = bot.forge.cloneUrl(REPOSITORY);
    const one = await bot.open({
      "argocd/fresh.yaml": asYaml(applicationResource("fresh", { repoURL, path: "apps/web" })),
    });
    if (host === "hostb") bot.forge.runPipeline(REPOSITORY, one);
    const status = () => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1)?.state;
    await poll(bot);
    await poll(bot);
    expect(status()).toBe("pending");
    await bot.approve(one);
    await poll(bot);
    expect(status()).toBe("success");
    await bot.forge.review(REPOSITORY, one, "bo", "request-changes");
    await poll(bot);
    expect(status()).toBe("pending");
    const before = bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).length;
    await poll(bot);
    await poll(bot);
    expect(bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision)).toHaveLength(before);
  });

  test("runs a comment once if its webhook comes as well, before or after the poll", async () => {
    const bot = await startPolled(options);
    const [one, two] = [await bot.open(changeOf(["web"])), await bot.open(changeOf(["api"]))];
    await poll(bot);
    bot.expectChanges("sync web", "sync api");
    await bot.comment(one, "svc sync");
    const { id } = bot.forge.deliveries.at(-1) ?? { id: "" };
    await poll(bot);
    deliverTo(bot, `/webhook/${host}`);
    await bot.forge.redeliver(id);
    await bot.idle();
    await bot.comment(two, "svc sync");
    await poll(bot);
    expect(bot.changes()).toEqual(["sync web", "sync api"]);
    expect([bot.answers(one), bot.answers(two)].map(({ length }) => length)).toEqual([2, 2]);
  });

  test("says once what a close left deployed if its webhook comes as well", async () => {
    const bot = await startPolled(options);
    deliverTo(bot, `/webhook/${host}`);
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.close(one);
    await poll(bot);
    expect(bot.answers(one).filter((text) => text.includes("## svc Closed"))).toHaveLength(1);
  });

  test("runs a comment once although two replicas poll, and again after both were replaced", async () => {
    const bot = await startPolled(shared);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const other = await startReplica(bot, shared);
    await Promise.all([bot.service.poll(), other.poll()]);
    await other.idle();
    await bot.idle();
    await other.close();
    const third = await startReplica(bot, shared);
    await third.poll();
    await third.idle();
    await third.close();
    expect(bot.changes()).toEqual(["sync web"]);
    expect(bot.answers(one)).toHaveLength(2);
  });

  test("finds after a restart what was commented meanwhile, if the store remembers; without Redis it begins anew", async () => {
    const bot = await startPolled(shared);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    await bot.comment(one, "svc sync");
    const forgetful = await startReplica(bot, { ...options, stores: (clock) => createMemoryStores(clock) });
    await forgetful.poll();
    await forgetful.poll();
    await forgetful.idle();
    await forgetful.close();
    expect(bot.changes()).toEqual([]);
    bot.expectChanges("sync web");
    const next = await startReplica(bot, shared);
    await next.poll();
    await next.idle();
    await next.close();
    expect(bot.changes()).toEqual(["sync web"]);
  });

  test("leaves alone what was written before its first poll, edited since, or written by itself", async () => {
    let one = 0;
    const prepare: BotOptions["prepare"] = async (_world, forge) => {
      one = await forge.open({ repository: REPOSITORY, by: "ana", changes: changeOf(["web"]) });
      await forge.comment(REPOSITORY, one, "ana", "svc sync");
    };
    const bot = await startPolled({ ...options, prepare });
    await poll(bot);
    await poll(bot);
    expect(bot.answers(one)).toEqual([]);
    bot.forge.passTime(1000);
    const id = await bot.forge.comment(REPOSITORY, one, "ana", "looks good");
    // GitHub's times do not tell such an edit from the comment.
    await bot.forge.editComment(REPOSITORY, one, id, "bo", "svc sync");
    await bot.comment(one, "svc plan");
    await poll(bot);
    await poll(bot);
    expect(bot.lastComment(one)).toContain("## svc Plan");
    expect(bot.answers(one).filter((body) => !body.includes("## svc Plan"))).toEqual([]);
    expect(bot.changes()).toEqual([]);
  });

  test("runs a command to which somebody reacted before the poll saw it", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    const id = await bot.forge.comment(REPOSITORY, one, "ana", "svc help");
    bot.forge.passTime(1000);
    bot.forge.react(REPOSITORY, one, id, "bo");
    await poll(bot);
    await poll(bot);
    expect(bot.answers(one)).toHaveLength(2);
  });

  test("looks at once when it starts, so that it sees what is opened before the first interval is over", async () => {
    const bot = await startBot(options);
    deliverTo(bot, "/nowhere");
    const noted = () => bot.forge.requests.some(({ path }) => /\/(?:installation\/repositories|projects)$/.test(path));
    while (!noted()) await new Promise((resolve) => setImmediate(resolve));
    // Waits for the end of the one that runs.
    await bot.service.poll();
    bot.forge.passTime(2000);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    expect(bot.lastComment(one)).toContain("## svc Plan");
  });

  test("refuses an outsider, and a sync that was written before the plan of the head", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    await bot.comment(one, "svc sync", "olga");
    await poll(bot);
    expect(bot.lastComment(one)).toContain("has no write access");
    await bot.push(one, changeOf(["web"], "3"));
    await bot.comment(one, "svc sync");
    await poll(bot);
    await poll(bot);
    expect(bot.answers(one).join("\n")).toContain("before the plan");
    expect(bot.changes()).toEqual([]);
  });

  test("runs commands that follow each other between two polls in their order", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.comment(one, "svc plan");
    await poll(bot);
    expect(bot.changes()).toEqual(["sync web"]);
    expect(bot.answers(one)).toHaveLength(3);
  });

  test("runs what is commented after a rename, before svc has heard of the new name", async () => {
    const bot = await startPolled(options);
    const one = await bot.open(changeOf(["web"]));
    await poll(bot);
    bot.forge.passTime(1000);
    await bot.rename("acme/platform");
    await bot.comment(one, "svc plan");
    if (host === "hostb") await poll(bot);
    bot.clock.advance(60_000);
    await poll(bot);
    await poll(bot);
    expect(bot.answers(one)).toHaveLength(2);
    bot.clock.advance(60_000);
    await poll(bot);
    expect(bot.answers(one)).toHaveLength(2);
  });

  test("asks for nothing of repositories outside of allowed_repos", async () => {
    const bot = await startBot({
      ...options,
      config: { [host]: { poll: "15s" }, defaults: { allowed_repos: ["acme/other"] } },
    });
    deliverTo(bot, "/nowhere");
    await poll(bot);
    await bot.open(changeOf(["web"]));
    const before = bot.forge.requests.length;
    await poll(bot);
    expect(bot.forge.requests.slice(before).filter(({ path }) => path.includes(repositoryName(REPOSITORY)))).toEqual(
      [],
    );
  });

  test("a quiet repository costs one call", async () => {
    const bot = await startPolled(options);
    await poll(bot);
    await poll(bot);
    const before = bot.forge.requests.length;
    await poll(bot);
    expect(bot.forge.requests.slice(before)).toHaveLength(1);
  });

  test("a host at its limit is left alone for five minutes", async () => {
    const bot = await startPolled(options);
    const limited = { status: 429, headers: { "retry-after": "600" } };
    bot.forge.faults.add({ method: "GET", path: /\/(?:pulls|merge_requests)$/, fault: { kind: "status", ...limited } });
    await poll(bot);
    const before = bot.forge.requests.length;
    await poll(bot);
    expect(bot.forge.requests.length).toBe(before);
    bot.forge.faults.clear();
    bot.clock.advance(5 * 60_000);
    await poll(bot);
    expect(bot.forge.requests.length).toBeGreaterThan(before);
  });
});

test.each(HOSTS)("a service that does not poll %s asks for nothing by itself", async (host) => {
  const bot = await startBot({ host });
  const before = bot.forge.requests.length;
  await poll(bot);
  expect(bot.forge.requests.length).toBe(before);
});
