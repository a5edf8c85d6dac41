import type { Log } from "../../core/ports/log.js";
import type { Stores } from "../stores.js";
import { RedisAttemptCounter } from "./attempt-counter.js";
import { RedisAuditLog } from "./audit-log.js";
import { RedisConnection } from "./connection.js";
import { RedisDeploymentStore } from "./deployment-store.js";
import { RedisLiveFeed } from "./live-feed.js";
import { RedisLockStore } from "./lock-store.js";
import { RedisPlanStore } from "./plan-store.js";
import type { RedisConfig } from "./redis-config.js";
import { createRedisSessions } from "./session-store.js";
import { RedisUserStore } from "./user-store.js";

/** The store in Redis. It may be away at the start and at any time later; it is used again as soon as it answers. */
export function createRedisStores(config: RedisConfig, parts: { readonly log: Log }): Stores {
  const connection = new RedisConnection(config, parts.log);
  const locks = new RedisLockStore(connection);
  const live = new RedisLiveFeed(connection);
  return {
    connection,
    locks,
    plans: new RedisPlanStore(connection),
    deployments: new RedisDeploymentStore(connection),
    audit: new RedisAuditLog(connection),
    users: new RedisUserStore(connection),
    sessions: createRedisSessions(connection),
    attempts: new RedisAttemptCounter(connection),
    live,
    ping: () => locks.ping(),
    status: () => connection.status(),
    close: () => {
      live.close();
      return connection.close();
    },
  };
}
