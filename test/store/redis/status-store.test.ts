import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { repositoryName, revision } from "../../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../../src/core/model/change-request.js";
import { StoredValueUnreadable } from "../../../src/core/model/errors.js";
import { createRedisStores } from "../../../src/store/redis/redis-stores.js";
import type { Stores } from "../../../src/store/stores.js";
import { recordingLog } from "../../recording-log.js";
import { RedisServer } from "../../redis-server.js";

const holder: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 };

describe("the statuses of a commit", () => {
  const head = { ...holder, headRevision: revision("a".repeat(40)) };
  const own = { change: head, state: "success", description: "nothing to deploy", url: undefined } as const;
  const keys = {
    statuses: `svc:statuses:hosta/acme/deploy@${"a".repeat(40)}`,
    head: "svc:head:hosta/acme/deploy/7",
    lease: `svc:status-lease:hosta/acme/deploy@${"a".repeat(40)}`,
    writes: `svc:status-writes:hosta/acme/deploy@${"a".repeat(40)}`,
  };
  let server: RedisServer;
  let raw: Redis;
  let stores: Stores;
  beforeAll(async () => {
    server = await RedisServer.start();
    raw = new Redis(server.port, "127.0.0.1");
    stores = createRedisStores({ address: server.address, db: 0, tls: false }, { log: recordingLog() });
  });
  afterAll(async () => {
    raw.disconnect();
    await stores.close();
    await server.stop();
  });
  beforeEach(async () => {
    await raw.flushall();
  });

  test("are versioned JSON under keys that end", async () => {
    await stores.statuses.save(own);
    await stores.statuses.countWrite(head);
    expect((await raw.keys("*")).sort()).toEqual([keys.head, keys.writes, keys.statuses].sort());
    const [text = ""] = await raw.hvals(keys.statuses);
    expect(JSON.parse(text)).toMatchObject({ v: 1, status: { state: "success", change: { number: 7 } } });
    expect(JSON.parse((await raw.get(keys.head)) ?? "")).toEqual({ v: 1, head: "a".repeat(40) });
    for (const key of await raw.keys("*")) expect(await raw.pttl(key)).toBeGreaterThan(29 * 24 * 60 * 60 * 1000);
  });

  test("what a killed process left at a head that is none any more does not count", async () => {
    await stores.statuses.save(own);
    const text = JSON.stringify({ v: 1, status: { ...own, change: { ...head, number: 8 } } });
    await raw.hset(keys.statuses, "8", text);
    expect(await stores.statuses.ofHead(head)).toEqual([own]);
    await raw.set("svc:head:hosta/acme/deploy/8", JSON.stringify({ v: 1, head: "b".repeat(40) }));
    expect(await stores.statuses.ofHead(head)).toEqual([own]);
    await raw.set("svc:head:hosta/acme/deploy/8", JSON.stringify({ v: 1, head: "a".repeat(40) }));
    expect(await stores.statuses.ofHead(head)).toHaveLength(2);
  });

  test("the turn of a killed replica ends by itself, and only then comes the next", async () => {
    await raw.set(keys.lease, "of a killed replica", "PX", 300);
    const start = performance.now();
    await stores.statuses.exclusively(head, async () => {
      expect(performance.now() - start).toBeGreaterThan(250);
      expect(await raw.pttl(keys.lease)).toBeGreaterThan(25_000);
    });
    expect(await raw.exists(keys.lease)).toBe(0);
  });

  test("a turn that took too long knows, and does not end the next one", async () => {
    await stores.statuses.exclusively(head, async (isOurs) => {
      expect(await isOurs()).toBe(true);
      await raw.set(keys.lease, "of another replica");
      expect(await isOurs()).toBe(false);
    });
    expect(await raw.get(keys.lease)).toBe("of another replica");
  });

  test.each(["{", JSON.stringify({ v: 2 }), JSON.stringify({ v: 1, status: {} })])(
    "one that reads %s is reported, and hinders no other head",
    async (value) => {
      await stores.statuses.save(own);
      await raw.hset(keys.statuses, "8", value);
      await expect(stores.statuses.ofHead(head)).rejects.toThrow(StoredValueUnreadable);
      expect(new Set(await stores.statuses.listShared())).toEqual(new Set([holder, { ...holder, number: 8 }]));
      await raw.set(keys.head, value);
      await expect(stores.statuses.save(own)).rejects.toThrow(StoredValueUnreadable);
      const other = { ...own, change: { ...head, number: 9, headRevision: revision("b".repeat(40)) } };
      await stores.statuses.save(other);
      expect(await stores.statuses.ofHead(other.change)).toEqual([other]);
    },
  );

  test("values of another type under their keys are reported", async () => {
    await raw.set(keys.statuses, "x");
    await raw.rpush(keys.writes, "x");
    await expect(stores.statuses.save(own)).rejects.toThrow(StoredValueUnreadable);
    await expect(stores.statuses.countWrite(head)).rejects.toThrow(StoredValueUnreadable);
  });
});
