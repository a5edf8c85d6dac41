import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { pino } from "pino";
import { repositoryName } from "../../src/core/model/brand.js";
import { KEYS } from "../../src/names.js";
import { MemoryLiveFeed } from "../../src/store/memory/memory-stores.js";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import type { Stores } from "../../src/store/stores.js";
import { RedisServer } from "../redis-server.js";
import { liveFeedContract } from "./live-feed.contract.js";

describe("in memory", () => {
  liveFeedContract(async () => {
    const feed = new MemoryLiveFeed();
    return [feed, feed];
  });
});

describe("in Redis", () => {
  let redis: RedisServer;
  const opened: Stores[] = [];

  beforeAll(async () => {
    redis = await RedisServer.start();
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((stores) => stores.close()));
    await redis.restart();
  });

  afterAll(() => redis.stop());

  function open(): Stores {
    const stores = createRedisStores({ address: redis.address, db: 0, tls: false }, { log: pino({ level: "silent" }) });
    opened.push(stores);
    return stores;
  }

  liveFeedContract(async () => {
    const both = [open(), open()] as const;
    await Promise.all(both.map((stores) => stores.ping()));
    return [both[0].live, both[1].live];
  });

  test("a message that lacks what pages read of it is left out, and ends no process", async () => {
    const { connection, live } = open();
    const change = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 } as const;
    const run = { runId: "r", command: "plan", startedAt: "2026-03-02T10:00:00.000Z", applications: [], ended: false };
    const tell = (told: object) =>
      connection?.run((raw) => raw.publish(KEYS.liveChannel, JSON.stringify({ v: 1, from: "x", change, run: told })));
    const heard: unknown[] = [];
    const last = new Promise((resolve) =>
      live.subscribe(change, (one) => heard.push(one) && one.ended && resolve(one)),
    );
    while ((await tell({ ...run, runId: "first" })) === 0);
    await tell({ ...run, applications: undefined });
    await tell({ ...run, applications: [{ application: "web" }] });
    await tell({ ...run, ended: true });
    await last;
    expect(heard).toEqual([
      { ...run, runId: "first" },
      { ...run, ended: true },
    ]);
  });

  test("with Redis away a run is still told where it runs", async () => {
    const { live } = open();
    await redis.kill();
    const change = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 } as const;
    const heard = new Promise((resolve) => live.subscribe(change, resolve));
    live.publish(change, {
      runId: "r",
      command: "plan",
      startedAt: "2026-03-02T10:00:00.000Z",
      applications: [],
      ended: false,
    });
    expect(await heard).toMatchObject({ runId: "r" });
  });
});
