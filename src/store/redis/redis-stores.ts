import { RedisStore } from "connect-redis";
import type { Store as SessionStore } from "express-session";
import * as z from "zod";
import type { Log } from "../../core/ports/log.js";
import type { AttemptCounter } from "../../core/ports/stores.js";
import { LOGIN_ATTEMPT_KEY_PREFIX, SESSION_KEY_PREFIX } from "../../names.js";
import "../session-data.js";
import type { Stores } from "../stores.js";
import { RedisAuditLog } from "./audit-log.js";
import { RedisConnection } from "./connection.js";
import { RedisContentBudget } from "./content-budget.js";
import { RedisDeploymentStore } from "./deployment-store.js";
import { RedisLiveFeed } from "./live-feed.js";
import { RedisLockStore } from "./lock-store.js";
import { RedisPlanStore } from "./plan-store.js";
import type { RedisConfig } from "./redis-config.js";
import { RedisUserStore } from "./user-store.js";
import { RedisWaitStore } from "./wait-store.js";

/** Stores in Redis. It may be unavailable at the start or later; the stores work again as soon as it answers. */
export function createRedisStores(config: RedisConfig, parts: { readonly log: Log }): Stores {
  const connection = new RedisConnection(config, parts.log);
  const locks = new RedisLockStore(connection);
  const live = new RedisLiveFeed(connection);
  return {
    connection,
    locks,
    waiting: new RedisWaitStore(connection),
    plans: new RedisPlanStore(connection),
    deployments: new RedisDeploymentStore(connection),
    audit: new RedisAuditLog(connection),
    users: new RedisUserStore(connection),
    sessions: createRedisSessions(connection),
    attempts: new RedisAttemptCounter(connection),
    live,
    content: new RedisContentBudget(connection),
    ping: () => locks.ping(),
    status: () => connection.status(),
    close: () => {
      live.close();
      return connection.close();
    },
  };
}

/** Web sessions under `svc:session:<id>`. Redis removes them when they expire; requests do not prolong them. */
function createRedisSessions(connection: RedisConnection): SessionStore {
  // connect-redis makes its calls through our connection, so that an outage becomes `StoreUnavailable`.
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
    // Otherwise every request would prolong the session.
    disableTouch: true,
  });
}

const attemptReplies = z.tuple([z.unknown(), z.tuple([z.null(), z.int()]), z.tuple([z.null(), z.int()])]);

/** One number per address, `svc:login-attempts:<key>`, which Redis removes at the end of its window. */
class RedisAttemptCounter implements AttemptCounter {
  constructor(private readonly connection: RedisConnection) {}

  async add(key: string, windowMs: number): ReturnType<AttemptCounter["add"]> {
    const name = LOGIN_ATTEMPT_KEY_PREFIX + key;
    return this.connection.run(async (redis) => {
      // In one transaction: a number that never expires would lock the address out for good.
      const answer = await redis.multi().set(name, 0, "PX", windowMs, "NX").incr(name).pttl(name).exec();
      const [, [, count], [, resetsInMs]] = attemptReplies.parse(answer);
      return { count, resetsInMs };
    });
  }
}
