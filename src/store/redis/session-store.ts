import { RedisStore } from "connect-redis";
import type { Store } from "express-session";
import { SESSION_KEY_PREFIX } from "../../names.js";
import "../session-data.js";
import type { RedisConnection } from "./connection.js";

/** Web sessions under `svc:session:<id>`; Redis removes them at their end, which no request puts off. */
export function createRedisSessions(connection: RedisConnection): Store {
  // The calls that connect-redis makes, by way of our connection: an outage becomes `StoreUnavailable`.
  const client = {
    get: (key: string) => connection.run((redis) => redis.get(key)),
    set: (key: string, value: string, _unit: "EX", seconds: number) =>
      connection.run((redis) => redis.set(key, value, "EX", seconds)),
    del: (keys: string[]) => connection.run((redis) => redis.del(keys)),
  };
  return new RedisStore({
    client,
    prefix: SESSION_KEY_PREFIX,
    ttl: ({ lifetimeMs = 0 }) => Math.max(1, Math.ceil(lifetimeMs / 1000)),
    // Otherwise every request would prolong the session without end.
    disableTouch: true,
  });
}
