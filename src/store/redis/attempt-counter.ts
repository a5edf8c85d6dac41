import { z } from "zod";
import type { AttemptCounter } from "../../core/ports/attempt-counter.js";
import { LOGIN_ATTEMPT_KEY_PREFIX } from "../../names.js";
import type { RedisConnection } from "./connection.js";

const replies = z.tuple([z.unknown(), z.tuple([z.null(), z.int()]), z.tuple([z.null(), z.int()])]);

/** One number per address, `svc:login-attempts:<key>`, that Redis removes at the end of its window. */
export class RedisAttemptCounter implements AttemptCounter {
  constructor(private readonly connection: RedisConnection) {}

  async add(key: string, windowMs: number): ReturnType<AttemptCounter["add"]> {
    const name = LOGIN_ATTEMPT_KEY_PREFIX + key;
    return this.connection.run(async (redis) => {
      // One transaction: a number without an end would lock the address out for ever.
      const answer = await redis.multi().set(name, 0, "PX", windowMs, "NX").incr(name).pttl(name).exec();
      const [, [, count], [, resetsInMs]] = replies.parse(answer);
      return { count, resetsInMs };
    });
  }
}
