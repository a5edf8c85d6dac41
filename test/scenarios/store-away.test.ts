import { describe, expect, test } from "@jest/globals";
import { applicationName } from "../../src/core/model/brand.js";
import { type ChangeRequestRef, identityKey } from "../../src/core/model/change-request.js";
import { type HostId, KEYS } from "../../src/names.js";
import { type LogLine } from "../recording-log.js";
import { withinASecond } from "../within-a-second.js";
import { HOSTS, REPOSITORY, SHORT, startBot, type Bot, type BotOptions } from "./bot.js";
import { HookReceiver } from "./hook-receiver.js";
import { ownRedis } from "./own-redis.js";
import { changeOf } from "./resources.js";
import { ServiceLog } from "./service-log.js";

const WEB = changeOf(["web"]);

const redis = ownRedis();

/** A bot whose store is the Redis of this file; `onStore` hears each line of the store's log. */
function startOnRedis(
  host: HostId,
  more: Partial<BotOptions> = {},
  onStore: (line: LogLine) => void = () => undefined,
) {
  const lines: LogLine[] = [];
  lines.push = (...added) => {
    for (const line of added) onStore(line);
    return 0;
  };
  return startBot({ host, stores: () => redis.stores(lines), ...more });
}

/** A change request whose sync began while the store answered, and ended while it did not. */
async function syncedWhileAway(host: HostId) {
  const bot = await startOnRedis(host);
  const one = await bot.open(WEB);
  bot.expectChanges("sync web");
  bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, () => redis.server.freeze());
  try {
    await bot.comment(one, "svc sync");
  } finally {
    redis.server.thaw();
  }
  return { bot, one };
}

async function readiness(bot: Bot): Promise<number> {
  return (await fetch(`${bot.service.url}/ready`)).status;
}

async function untilReady(bot: Bot): Promise<void> {
  while ((await readiness(bot)) !== 200);
}

const OUTAGES = [
  ["killed", () => redis.server.kill(), () => redis.server.restart()],
  ["frozen", () => redis.server.freeze(), () => redis.server.thaw()],
] as const;

describe.each(HOSTS)("the store on %s", (host) => {
  test("one conversation on a real Redis: plan, sync, merge", async () => {
    const bot = await startOnRedis(host, { config: { defaults: { auto_merge: true } } });
    const one = await bot.open(WEB);
    const two = await bot.open(changeOf(["web"], "3"));
    expect(bot.lastComment(two)).toContain(`Locked by PR #${one} (ana)`);
    expect(await bot.locked(one)).toEqual(["web"]);
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain(
      `svc merges this ${SHORT[host]} into \`main\` next, unless a comment below says otherwise`,
    );
    expect(bot.liveValue("web")).toBe("2");
    expect(bot.seen(one).state).toBe("merged");
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.deployed(one)).toEqual([]);
    await bot.comment(two, "svc plan");
    expect(await bot.locked(two)).toEqual(["web"]);
  });

  test.each(OUTAGES)(
    "lock cannot be taken because of a store error (%s): `failed to acquire lock` in under a second, nothing is run, /ready says 503, and it recovers by itself",
    async (_, takeAway, bringBack) => {
      const bot = await startOnRedis(host);
      const one = await bot.open(WEB);
      expect(await readiness(bot)).toBe(200);
      await takeAway();
      try {
        await expect(withinASecond(() => bot.stores.ping())).rejects.toThrow(/^failed to connect to Redis: /);
        expect(await readiness(bot)).toBe(503);
        await bot.comment(one, "svc sync");
        expect(bot.lastComment(one)).toContain("failed to acquire lock");
        const asked = bot.argocd.requests.length;
        await bot.comment(one, "svc plan");
        expect(bot.lastComment(one)).toContain("failed to acquire lock");
        expect(bot.argocd.requests).toHaveLength(asked);
      } finally {
        await bringBack();
      }
      await untilReady(bot);
      await bot.idle();
      expect(bot.liveValue("web")).toBeUndefined();
      await bot.comment(one, "svc plan");
      expect(await bot.locked(one)).toEqual(["web"]);
    },
  );

  test("what was answered stands when its deliveries come again while the store is away", async () => {
    const bot = await startOnRedis(host);
    const one = await bot.open(WEB);
    await bot.close(one);
    await bot.comment(one, "svc sync");
    const said = bot.answers(one);
    expect(said.at(-1)).toContain("closed");
    await redis.server.kill();
    try {
      for (const { id } of [...bot.forge.deliveries]) await bot.forge.redeliver(id);
      await bot.idle();
      expect(bot.answers(one)).toEqual(said);
    } finally {
      await redis.server.restart();
    }
    await untilReady(bot);
  });

  test("a running sync that loses the store is followed to its end; its lock and record are brought up to date by retry", async () => {
    const bot = await startOnRedis(host, {}, ({ text }) => {
      if (text === "Redis cannot be used") redis.server.thaw();
    });
    const one = await bot.open(WEB);
    bot.expectChanges("sync web");
    const release = bot.argocd.holdSync("web");
    const begun = new Promise<void>((resolve) => {
      const stop = bot.argocd.onExchange(({ method, path }) => {
        if (method !== "POST" || !path.endsWith("/web/sync")) return;
        stop();
        resolve();
      });
    });
    await bot.forge.comment("acme/deploy", one, "ana", "svc sync");
    await begun;
    redis.server.freeze();
    release();
    await bot.idle();
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.liveValue("web")).toBe("2");
    expect(await bot.locked(one)).toEqual([]);
    expect(await bot.stores.deployments.ofChange(bot.ref(one))).toMatchObject([
      { application: "web", outcome: "succeeded" },
    ]);
  });

  test("a sync that ends while the store stays away says so and keeps the lock; the next command brings it up to date", async () => {
    const { bot, one } = await syncedWhileAway(host);
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(bot.lastComment(one)).toContain(
      "The store did not answer afterwards: svc notes how it ended, and releases its lock if it succeeded, once the store is back",
    );
    await untilReady(bot);
    expect(await bot.locked(one)).toEqual(["web"]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one)).toContain("succeeded");
    expect(await bot.locked(one)).toEqual([]);
  });

  test.each([
    ["svc unlock", (bot: Bot, one: number) => bot.comment(one, "svc unlock")],
    ["a close", (bot: Bot, one: number) => bot.close(one)],
    ["a merge", (bot: Bot, one: number) => bot.forge.mergeByHand("acme/deploy", one, "bo")],
  ])("a stored plan that cannot be read keeps no lock: %s releases it", async (_, act) => {
    const bot = await startOnRedis(host);
    const one = await bot.open(WEB);
    expect(await bot.locked(one)).toEqual(["web"]);
    const key = KEYS.plan + identityKey(bot.ref(one));
    await bot.stores.connection?.run((connected) => connected.set(key, '{"v":2}'));
    await act(bot, one);
    await bot.idle();
    expect(await bot.locked(one)).toEqual([]);
  });

  test("nor does a record of a deployment that cannot be read, once its pull request is closed", async () => {
    const bot = await startOnRedis(host);
    const one = await bot.open(changeOf(["web", "api"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync -a web");
    expect(await bot.locked(one)).toEqual(["api"]);
    const { connection } = bot.stores;
    await connection?.run((connected) => connected.hset(`${KEYS.deployment}web`, identityKey(bot.ref(one)), '{"v":2}'));
    await bot.close(one);
    expect(await bot.locked(one)).toEqual([]);
  });

  test.each(["the webhook", "the reconciler, where the webhook is lost", "the reconciler, a day later"])(
    "what cannot be read of one application keeps no lock of another: %s releases it once its pull request is closed",
    async (by) => {
      const bot = await startOnRedis(host);
      const [one, two] = [await bot.open(WEB), await bot.open(changeOf(["api"]))];
      await bot.open(changeOf(["api"], "3"));
      bot.expectChanges("sync api");
      await bot.comment(two, "svc sync");
      await bot.stores.connection?.run(async (connected) => {
        await connected.set(`${KEYS.lock}api`, '{"v":2}');
        await connected.zadd(`${KEYS.waiting}api`, 1, '{"v":2}');
        await connected.hset(`${KEYS.deployment}api`, "other", '{"v":2}');
        await connected.xadd(KEYS.audit, "*", "entry", '{"v":2}');
      });
      if (by === "the webhook") await bot.close(one);
      else await bot.loseWebhooks(() => bot.close(one));
      // By then receivers are told of what is not merged.
      if (by === "the reconciler, a day later") bot.clock.advance(25 * 60 * 60_000);
      await bot.service.reconcile();
      await bot.idle();
      expect(await bot.stores.locks.find(applicationName("web"))).toBeUndefined();
    },
  );

  test("a record of another application that cannot be read keeps no review from being looked at", async () => {
    const bot = await startOnRedis(host, { config: { [host]: { commit_status: true } } });
    const one = await bot.open(changeOf(["api"]));
    // GitLab takes a status only for a head with a pipeline.
    if (host === "hostb") bot.forge.runPipeline(REPOSITORY, one);
    bot.expectChanges("sync api");
    await bot.comment(one, "svc sync");
    const status = () => bot.forge.statuses(REPOSITORY, bot.seen(one).headRevision).at(-1)?.state;
    expect(status()).toBe("success");
    await bot.stores.connection?.run((connected) => connected.hset(`${KEYS.deployment}web`, "other", '{"v":2}'));
    await bot.stores.reindex();
    await bot.approve(one);
    // A mark that was set right before another one was taken waits for the next look.
    await bot.service.reconcile();
    await bot.idle();
    expect(status()).toBe("pending");
  });

  test("a record and a lock of other applications that cannot be read keep no merge from being told and shown", async () => {
    const receiver = await HookReceiver.start();
    try {
      const notifications = [{ name: "chat", url: `${receiver.url}/chat`, format: "slack", events: ["merged"] }];
      const bot = await startOnRedis(host, { config: { notifications } });
      const one = await bot.open(changeOf(["api"]));
      bot.expectChanges("sync api");
      await bot.comment(one, "svc sync");
      await bot.stores.connection?.run((connected) =>
        connected.pipeline().hset(`${KEYS.deployment}web`, "other", '{"v":2}').set(`${KEYS.lock}web`, '{"v":2}').exec(),
      );
      await bot.stores.reindex();
      await bot.forge.mergeByHand(REPOSITORY, one, "bo");
      await bot.idle();
      expect(bot.answers(one)[0]).toContain("**Merged** · ✅ deployed by `ana`");
      await receiver.until(1);
      expect(JSON.stringify(receiver.on("/chat"))).toContain("was merged");
    } finally {
      await receiver.stop();
    }
  });

  test("what a newer version follows after a merge keeps no lock of the merged one", async () => {
    const bot = await startOnRedis(host);
    const one = await bot.open(WEB);
    expect(await bot.locked(one)).toEqual(["web"]);
    // As that version left it when it ended before it released anything.
    const key = KEYS.follow + identityKey(bot.ref(one));
    await bot.stores.connection?.run((connected) => connected.set(key, '{"v":2}'));
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    expect(await bot.locked(one)).toEqual([]);
    expect(bot.answers(one)[0]).toContain("**Status:** Not locked\n");
  });

  test("a lock that cannot be read keeps nobody from a turn for another one", async () => {
    const bot = await startOnRedis(host);
    const both = await bot.open(changeOf(["api", "web"]));
    const waiting = [await bot.open(changeOf(["api"], "3")), await bot.open(changeOf(["web"], "4"))] as const;
    await bot.stores.locks.release(applicationName("web"), bot.ref(both));
    await bot.stores.connection?.run((connected) => connected.set(`${KEYS.lock}api`, '{"v":2}'));
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.stores.locks.find(applicationName("web"))).toMatchObject({ holder: bot.ref(waiting[1]) });
  });

  test("one whose plan cannot be read is told so when its turn has come, and leaves the queue", async () => {
    const bot = await startOnRedis(host);
    const one = await bot.open(WEB);
    const two = await bot.open(changeOf(["web"], "3"));
    const key = KEYS.plan + identityKey(bot.ref(two));
    await bot.stores.connection?.run((connected) => connected.set(key, '{"v":2}'));
    await bot.comment(one, "svc unlock");
    expect(bot.lastComment(two)).toContain(`delete the key ${key}`);
    expect(await bot.stores.waiting.list()).toEqual([]);
  });

  test("a record that cannot be read keeps nobody from what the reconciler does for others: reminders, and a close whose webhook is lost", async () => {
    const bot = await startOnRedis(host);
    await untilReady(bot);
    const [one, two] = [await bot.open(WEB), await bot.open(changeOf(["api"]))];
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    await bot.stores.connection?.run((connected) => connected.hset(`${KEYS.deployment}gone`, "other", '{"v":2}'));
    await bot.stores.reindex();
    await bot.loseWebhooks(() => bot.close(two));
    bot.clock.advance(3 * 24 * 60 * 60_000);
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.locked(two)).toEqual([]);
    expect(bot.answers(one).join("\n")).toContain("**Deployed and not merged for 3 days**");
  });

  test.each([
    ["a record of another application", () => [`${KEYS.deployment}api`, "other"] as const],
    ["the plan", (of: ChangeRequestRef) => [KEYS.plan + identityKey(of)] as const],
  ])("%s that cannot be read keeps the reconciler from no sync whose end it has to look up", async (_name, place) => {
    const { bot, one } = await syncedWhileAway(host);
    await untilReady(bot);
    await bot.idle();
    const [key, field] = place(bot.ref(one));
    await bot.stores.connection?.run<unknown>((connected) =>
      field === undefined ? connected.set(key, '{"v":2}') : connected.hset(key, field, '{"v":2}'),
    );
    await bot.stores.reindex();
    await bot.service.reconcile();
    await bot.idle();
    expect(await bot.stores.deployments.ofApplication(applicationName("web"))).toMatchObject([
      { outcome: "succeeded" },
    ]);
    expect(await bot.locked(one)).toEqual([]);
  });

  test("a record of another application that cannot be read has no sync answered again that was closed while it ran", async () => {
    const log = new ServiceLog();
    const bot = await startOnRedis(host, { log: log.write });
    const one = await bot.open(WEB);
    bot.expectChanges("sync web");
    bot.meanwhile("argocd", { method: "POST", path: /\/web\/sync$/ }, async () => {
      await bot.stores.connection?.run((connected) => connected.hset(`${KEYS.deployment}api`, "other", '{"v":2}'));
      await bot.stores.reindex();
      await bot.forge.close(REPOSITORY, one);
    });
    await bot.comment(one, "svc sync");
    expect(bot.answers(one).map((text) => /## svc (\w+)/.exec(text)?.[1])).toEqual(["Plan", "Sync", "Closed"]);
    expect(log.of("event failed")).toEqual([]);
  });

  test("an entry of the audit trail that cannot be read keeps no rollout from its end", async () => {
    const resources = { web: { spec: { syncPolicy: { automated: {} } } } };
    const bot = await startOnRedis(host, { resources: () => resources });
    await bot.argocd.pollGit();
    const one = await bot.open(WEB);
    await bot.stores.connection?.run((connected) => connected.xadd(KEYS.audit, "*", "entry", '{"v":2}'));
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    await bot.argocd.pollGit();
    bot.clock.advance(15_000);
    await bot.service.follow();
    await bot.idle();
    expect(bot.answers(one)[0]).toContain("the application rolled out");
    expect((await bot.stores.rollouts.find(bot.ref(one)))?.ended).toBeDefined();
  });

  test("an approval that comes while the store is away is shown in the plan when it is back", async () => {
    const bot = await startOnRedis(host, { config: { defaults: { require_approval: true } } });
    const one = await bot.open(WEB);
    expect(bot.lastComment(one)).toContain("Needs an approval");
    redis.server.freeze();
    try {
      await bot.approve(one);
    } finally {
      redis.server.thaw();
    }
    while (bot.lastComment(one).includes("Needs an approval")) await bot.idle();
  });

  test("an automatic plan that could not be made while the store was away is made when it is back, without a comment in between", async () => {
    const bot = await startOnRedis(host);
    await redis.server.kill();
    let one: number;
    try {
      one = await bot.open(WEB);
      expect(bot.answers(one)).toEqual([]);
    } finally {
      await redis.server.restart();
    }
    await untilReady(bot);
    const head = bot.seen(one).headRevision;
    while ((await bot.stores.plans.find(bot.ref(one)))?.head !== head) await bot.idle();
    await bot.idle();
    expect(bot.answers(one)).toHaveLength(1);
    expect(bot.lastComment(one)).toContain("**Status:** Locked by this PR");
    expect(await bot.locked(one)).toEqual(["web"]);
  });
});
