import { type RedisClient, RedisScript } from "../../http/redis.js";
import { KEYS, SERVICE } from "../../names.js";
import { scanKeys } from "./stored-value.js";

const ENTER = new RedisScript(new URL("enter-names.lua", import.meta.url));
const FORGET = new RedisScript(new URL("forget-name.lua", import.meta.url));

/** No name: it says that every key was looked for once. It is missing in a database that is new, or that others filled. */
const COMPLETE = "";
/** The most time that a key is written after its name. */
const WRITTEN_WITHIN_MS = 60 * 60_000;
/** So many names are entered in one call: Redis does nothing else meanwhile. */
const CHUNK = 500;

/**
 * The names of one kind of keys, in a sorted set of their own. A scan goes through all keys instead, of which every open change
 * request has twenty. A name is entered before its key is written, so that none is missed, and stays for a while when the key is
 * gone.
 */
export class KeyIndex {
  readonly #index: string;

  /** @param prefix What the keys begin with; the name follows. */
  constructor(private readonly prefix: string) {
    this.#index = KEYS.index + prefix.slice(SERVICE.length + 1, -1);
  }

  /** Call it before a key is written that may be new. */
  async enter(redis: RedisClient, names: readonly string[]): Promise<void> {
    for (let start = 0; start < names.length; start += CHUNK) {
      await ENTER.run(redis, [this.#index], names.slice(start, start + CHUNK));
    }
  }

  /** The keys of this kind, and some that are gone. */
  async keys(redis: RedisClient): Promise<readonly string[]> {
    const names = await redis.zrange(this.#index, "0", "-1");
    if (names.includes(COMPLETE)) return this.#keysOf(names);
    await this.reindex(redis);
    return this.#keysOf(await redis.zrange(this.#index, "0", "-1"));
  }

  /** Looks through all keys: enters those that were written by others or whose name was lost, and forgets names without one. */
  async reindex(redis: RedisClient): Promise<void> {
    const known = await this.#scores(redis);
    const found = new Set((await scanKeys(redis, this.prefix)).map((key) => key.slice(this.prefix.length)));
    await this.enter(
      redis,
      [...found].filter((name) => !known.has(name)),
    );
    await redis.zadd(this.#index, "+inf", COMPLETE);
    const gone = [...known].filter(([name]) => name !== COMPLETE && !found.has(name));
    await Promise.all(gone.map(([name, score]) => FORGET.run(redis, [this.#index], [name, score, WRITTEN_WITHIN_MS])));
  }

  async #scores(redis: RedisClient): Promise<ReadonlyMap<string, string>> {
    const listed = await redis.zrange(this.#index, "0", "-1", "WITHSCORES");
    return new Map(listed.flatMap((name, at) => (at % 2 === 0 ? [[name, listed[at + 1] ?? ""] as const] : [])));
  }

  #keysOf(names: readonly string[]): readonly string[] {
    return names.filter((name) => name !== COMPLETE).map((name) => this.prefix + name);
  }
}
