import type { Log } from "../../core/log.js";
import type { Stores } from "../stores.js";
import { RedisAuditLog } from "./audit-log.js";
import { RedisConnection, type RedisConfig } from "./connection.js";
import { RedisDeploymentStore } from "./deployment-store.js";
import { RedisLockStore } from "./lock-store.js";
import { RedisPlanStore } from "./plan-store.js";

/** The store in Redis. It may be away at the start and at any time later; it is used again as soon as it answers. */
export function createRedisStores(config: RedisConfig, parts: { readonly log: Log }): Stores {
  const connection = new RedisConnection(config, parts.log);
  const locks = new RedisLockStore(connection);
  return {
    locks,
    plans: new RedisPlanStore(connection),
    deployments: new RedisDeploymentStore(connection),
    audit: new RedisAuditLog(connection),
    ping: () => locks.ping(),
    status: () => connection.status(),
    close: () => connection.close(),
  };
}
