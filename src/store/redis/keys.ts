import type { Redis } from "ioredis";

/** Every key with this prefix, once; a key that lives during the whole scan is never missed. */
export async function scanKeys(redis: Redis, prefix: string): Promise<readonly string[]> {
  const found = new Set<string>();
  let cursor = "0";
  do {
    const [next, keys] = await redis.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1000);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...found];
}

/** Values of keys that still exist, a bounded number per command. */
export async function readKeys(redis: Redis, keys: readonly string[]): Promise<readonly (readonly [string, string])[]> {
  const entries: (readonly [string, string])[] = [];
  for (let start = 0; start < keys.length; start += 500) {
    const part = keys.slice(start, start + 500);
    const values = await redis.mget(...part);
    for (const [index, key] of part.entries()) {
      const value = values[index];
      if (typeof value === "string") entries.push([key, value]);
    }
  }
  return entries;
}
