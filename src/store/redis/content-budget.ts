import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { ContentBudget, ContentLimit, Taken } from "../../core/ports/content-budget.js";
import { RedisScript } from "../../http/redis.js";
import { CONTENT_KEY_PREFIX } from "../../names.js";
import { MemoryContentBudget } from "../memory/content-budget.js";
import type { RedisConnection } from "./connection.js";

const TAKE = new RedisScript(new URL("take-content.lua", import.meta.url));

const answer = z.tuple([z.enum(["taken", "full"]), z.int()]);

/** Counts the writes of all replicas, by Redis's clock; those of this process as well, for while Redis is unavailable. */
export class RedisContentBudget implements ContentBudget {
  readonly #own = new MemoryContentBudget(() => Date.now());

  constructor(private readonly connection: RedisConnection) {}

  async take(account: string, rank: number, limits: readonly ContentLimit[]): Promise<Taken> {
    const keys = [CONTENT_KEY_PREFIX + account];
    const args = [rank, randomUUID(), ...limits.flatMap((limit) => [limit.windowMs, limit.max, limit.rank])];
    try {
      const [kind, freeInMs] = answer.parse(await this.connection.run((redis) => TAKE.run(redis, keys, args)));
      if (kind === "full") return { kind, freeInMs };
      this.#own.add(account, rank, limits);
      return { kind };
    } catch {
      // Whatever Redis answers, or an operator put there, must not silence the service. The status page shows its outages.
      return this.#own.take(account, rank, limits);
    }
  }
}
