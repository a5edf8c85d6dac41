import { type RedisClient, RedisScript } from "../../http/redis.js";
import { KEYS, SERVICE } from "../../names.js";
import { scanKeys } from "./stored-value.js";

const ENTER = new RedisScript(new URL("enter-names.lua", import.meta.url));
const FORGET = new RedisScript(new URL("forget-name.lua", import.meta.url));

/** Stands in an index once the whole database has been searched for its keys. No key has this name. */
const COMPLETE = "";
/** A key is written at most this long after its name was entered. */
const WRITTEN_WITHIN_MS = 60 * 60_000;
/** How many names one call enters. Redis answers nobody else meanwhile. */
const CHUNK = 500;

/**
 * Lists the keys with one prefix. SCAN would search the whole database, where every open change request has about twenty keys. A
 * sorted set holds the names, which follow the prefix. Each is entered before its key is written, so that no key is missing.
 */
export class KeyIndex {
  readonly #index: string;

  /** @param prefix Begins with the service's name and ends with a colon, as in `svc:lock:`. */
  constructor(private readonly prefix: string) {
    this.#index = KEYS.index + prefix.slice(SERVICE.length + 1, -1);
  }

  /** To be called before every write of a key: one that exists may end before it. */
  async enter(redis: RedisClient, names: readonly string[]): Promise<void> {
    for (let start = 0; start < names.length; start += CHUNK) {
      await ENTER.run(redis, [this.#index], names.slice(start, start + CHUNK));
    }
  }

  /** All keys. Deleted ones may be among them until `reindex` removes them; it spares those entered within the last hour. */
  async keys(redis: RedisClient): Promise<readonly string[]> {
    const names = await redis.zrange(this.#index, "0", "-1");
    if (names.includes(COMPLETE)) return this.#keysOf(names);
    await this.reindex(redis);
    return this.#keysOf(await redis.zrange(this.#index, "0", "-1"));
  }

  /** Searches the whole database. Enters the keys that the index lacks, and removes names whose keys no longer exist. */
  async reindex(redis: RedisClient): Promise<void> {
    const known = new Set(await redis.zrange(this.#index, "0", "-1"));
    const found = new Set((await scanKeys(redis, this.prefix)).map((key) => key.slice(this.prefix.length)));
    await this.enter(
      redis,
      [...found].filter((name) => !known.has(name)),
    );
    await redis.zadd(this.#index, "+inf", COMPLETE);
    const unseen = [...known].filter((name) => name !== COMPLETE && !found.has(name));
    await Promise.all(
      unseen.map(async (name) => {
        // A search misses a key that moves within a cluster meanwhile.
        if ((await redis.exists(this.prefix + name)) === 1) return;
        await FORGET.run(redis, [this.#index], [name, WRITTEN_WITHIN_MS]);
      }),
    );
  }

  #keysOf(names: readonly string[]): readonly string[] {
    return names.filter((name) => name !== COMPLETE).map((name) => this.prefix + name);
  }
}
