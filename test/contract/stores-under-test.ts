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
  /** The same stores as another replica sees them; `stores` itself where there can be one process only. */
  readonly replica: Stores;
  /** As if this time (ms) had passed, or the lifetime of everything that expires. */
  expire(afterMs?: number): Promise<void>;
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
    get replica() {
      return stores;
    },
    expire: async (afterMs = 5 * LOCK_LIFETIME_MS) => clock.advance(afterMs),
    clear: async () => {
      stores = createMemoryStores(clock);
    },
    stop: () => stores.close(),
  };
}

async function startRedis(): Promise<StoresUnderTest> {
  const server = await RedisServer.start();
  const raw = new Redis(server.port, "127.0.0.1");
  const connect = () => createRedisStores({ address: server.address, db: 0, tls: false }, { log: recordingLog() });
  const [stores, replica] = [connect(), connect()];
  return {
    stores,
    replica,
    expire: (afterMs) => expireKeys(raw, afterMs),
    clear: async () => {
      await raw.flushall();
    },
    stop: async () => {
      raw.disconnect();
      await Promise.all([stores.close(), replica.close()]);
      await server.stop();
    },
  };
}

/** Shortens what is left of the life of every key that has an end. */
export async function expireKeys(raw: Redis, byMs = Infinity): Promise<void> {
  for (const key of await raw.keys("*")) {
    const left = await raw.pttl(key);
    if (left > 0) await raw.pexpire(key, Math.max(0, left - byMs));
  }
}
