import { Redis } from "ioredis";
import { LOCK_LIFETIME_MS } from "../../src/core/model/lock.js";
import { createMemoryStores } from "../../src/store/memory/memory-stores.js";
import { createRedisStores } from "../../src/store/redis/redis-stores.js";
import type { Stores } from "../../src/store/stores.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";
import { RedisServer } from "../redis-server.js";

/** An implementation of the store, with what a contract suite needs beside the ports. */
export interface StoresUnderTest {
  readonly stores: Stores;
  /** As if the lifetime of everything that expires had passed. */
  expireAll(): Promise<void>;
  /** Removes everything. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

export const implementations: readonly (readonly [string, () => Promise<StoresUnderTest>])[] = [
  ["memory", startMemory],
  ["redis", startRedis],
];

async function startMemory(): Promise<StoresUnderTest> {
  const clock = new ManualClock();
  let stores = createMemoryStores(clock);
  return {
    get stores() {
      return stores;
    },
    expireAll: async () => clock.advance(5 * LOCK_LIFETIME_MS),
    clear: async () => {
      stores = createMemoryStores(clock);
    },
    stop: () => stores.close(),
  };
}

async function startRedis(): Promise<StoresUnderTest> {
  const server = await RedisServer.start();
  const raw = new Redis(server.port, "127.0.0.1");
  const stores = createRedisStores({ address: server.address, db: 0, tls: false }, { log: recordingLog() });
  return {
    stores,
    expireAll: async () => {
      for (const key of await raw.keys("*")) if ((await raw.pttl(key)) > 0) await raw.pexpireat(key, 1);
    },
    clear: async () => {
      await raw.flushall();
    },
    stop: async () => {
      raw.disconnect();
      await stores.close();
      await server.stop();
    },
  };
}
