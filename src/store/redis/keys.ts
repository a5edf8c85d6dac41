import type { Redis } from "ioredis";
import type { RedisClient } from "../../http/redis.js";
import { primariesOf } from "./client.js";

/** Every key with this prefix, once. A key that exists during the whole scan is found, unless it moves within a cluster. */
export async function scanKeys(redis: RedisClient, prefix: string): Promise<readonly string[]> {
  const found = await Promise.all(primariesOf(redis).map((server) => scanServer(server, prefix)));
  return [...new Set(found.flat())];
}

async function scanServer(server: Redis, prefix: string): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor = "0";
  do {
    const [next, keys] = await server.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1000);
    found.push(...keys);
    cursor = next;
  } while (cursor !== "0");
  return found;
}

/** Reads the keys that still exist, one GET each in batches: a cluster refuses MGET across slots. */
export async function readKeys(
  redis: RedisClient,
  keys: readonly string[],
): Promise<readonly (readonly [string, string])[]> {
  const entries: (readonly [string, string])[] = [];
  for (let start = 0; start < keys.length; start += 500) {
    const part = keys.slice(start, start + 500);
    const values = await Promise.all(part.map((key) => redis.get(key)));
    for (const [index, key] of part.entries()) {
      const value = values[index];
      if (typeof value === "string") entries.push([key, value]);
    }
  }
  return entries;
}
