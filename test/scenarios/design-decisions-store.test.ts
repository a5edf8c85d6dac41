import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { asYaml, changeOf } from "./resources.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const WEB = changeOf(["web"]);

describe.each(HOSTS)("what the store keeps on %s", (host) => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await RedisServer.start();
    redis = new Redis(server.port, "127.0.0.1");
  });

  beforeEach(async () => {
    await redis.flushall();
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  function startOnRedis(): Promise<Bot> {
    const config = { address: server.address, db: 0, tls: false };
    return startBot({ host, stores: () => createRedisStores(config, { log: recordingLog() }) });
  }

  test("lock: the record as JSON under svc:lock:<app>; timestamp stays, the 7 days start again at each refresh", async () => {
    const bot = await startOnRedis();
    const first = bot.clock.now().getTime();
    const one = await bot.open({ ...WEB, "argocd/web.yaml": asYaml(bot.resourceOf("web", { path: "./apps/web" })) });
    const text = (await redis.get("svc:lock:web")) ?? "";
    const { timestamp } = JSON.parse(text) as { timestamp: string };
    const record = (revision: string) =>
      `{"v":1,"application":"web","pr_number":${one},"repository":"${REPOSITORY}","host":"${host}","user":"ana",` +
      `"timestamp":"${timestamp}","plan_revision":"${revision}","source_file":"argocd/web.yaml",` +
      `"repository_id":"${bot.ref(one).repositoryId}"}`;
    expect(plain(text)).toBe(record(bot.seen(one).headRevision));
    expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(first);
    await redis.pexpire("svc:lock:web", 60_000);
    bot.clock.advance(60_000);
    const pushed = await bot.push(one, { "apps/web/extra.txt": "1" });
    expect(plain(await redis.get("svc:lock:web"))).toBe(record(pushed));
    const lifetime = await redis.pttl("svc:lock:web");
    expect(lifetime).toBeGreaterThan(7 * DAY_MS - 60_000);
    expect(lifetime).toBeLessThanOrEqual(7 * DAY_MS);
  });

  test("stored plans: the last plan of each PR, for 30 days; every key begins with svc:", async () => {
    const bot = await startOnRedis();
    bot.expectChanges("sync web");
    const one = await bot.open(WEB);
    const head = await bot.push(one, changeOf(["web"], "3"));
    const plan = await bot.stores.plans.find(bot.ref(one));
    expect(plan).toMatchObject({
      head,
      applications: [{ application: "web", kind: "evaluated", verdict: "changed", diff: { updated: 1, created: 0 } }],
    });
    await bot.comment(one, "svc sync");
    const keys = await redis.keys("*");
    expect(keys.filter((key) => !key.startsWith("svc:"))).toEqual([]);
    const plans = keys.filter((key) => key.startsWith("svc:plan:"));
    expect(plans).toHaveLength(1);
    const lifetime = await redis.pttl(plans[0] ?? "");
    expect(lifetime).toBeGreaterThan(30 * DAY_MS - 60_000);
    expect(lifetime).toBeLessThanOrEqual(30 * DAY_MS);
    // Leases, which lane is whose, and the number of statuses that a commit has are no records.
    const records = keys.filter((key) => !/^svc:(?:\{queue\}:(?:lease|turn|lane|owner)|status-writes):/.test(key));
    for (const key of records) {
      if ((await redis.type(key)) !== "string") continue;
      expect(JSON.parse((await redis.get(key)) ?? "")).toMatchObject({ v: 1 });
    }
  });

  test("a lock of a version that this service does not know is reported, never guessed and never overwritten", async () => {
    const bot = await startOnRedis();
    await redis.set("svc:lock:web", '{"v":2,"owner":"someone"}');
    const one = await bot.open(WEB);
    expect(bot.lastComment(one)).toContain("the lock of application web");
    expect(await redis.get("svc:lock:web")).toBe('{"v":2,"owner":"someone"}');
    await redis.del("svc:lock:web");
  });
});

/** Redis writes a slash in JSON with a backslash. */
function plain(json: string | null): string {
  return JSON.stringify(JSON.parse(json ?? ""));
}
