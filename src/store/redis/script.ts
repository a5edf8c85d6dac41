import { createHash } from "node:crypto";
import { z } from "zod";
import type { RedisClient } from "./client.js";
import { replyCode } from "./failure.js";

const answer = z.tuple([z.string(), z.string()]);

/** A Lua script on one key that answers `{ outcome, record }`. */
export class LockScript {
  readonly #sha: string;

  constructor(private readonly lua: string) {
    this.#sha = createHash("sha1").update(lua).digest("hex");
  }

  /** Runs by hash; the text is sent only when Redis does not know it (any more). */
  async run(redis: RedisClient, key: string, args: readonly (string | number)[]): Promise<readonly [string, string]> {
    try {
      return answer.parse(await redis.evalsha(this.#sha, 1, key, ...args));
    } catch (error) {
      if (replyCode(error) !== "NOSCRIPT") throw error;
      return answer.parse(await redis.eval(this.lua, 1, key, ...args));
    }
  }
}
