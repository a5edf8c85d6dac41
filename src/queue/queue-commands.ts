import type { Cluster, Redis, Result } from "ioredis";
import { CONFIRM_SCRIPT } from "./confirm-script.js";
import { END_SCRIPT } from "./end-script.js";
import { PUSH_SCRIPT } from "./push-script.js";
import { RENEW_SCRIPT } from "./renew-script.js";
import { TAKE_SCRIPT } from "./take-script.js";

type Arguments = (string | number)[];

declare module "ioredis" {
  interface RedisCommander<Context> {
    queuePush(keys: number, ...args: Arguments): Result<string[], Context>;
    queueConfirm(keys: number, ...args: Arguments): Result<null, Context>;
    queueTake(keys: number, ...args: Arguments): Result<string[], Context>;
    queueRenew(keys: number, ...args: Arguments): Result<string[], Context>;
    queueEnd(keys: number, ...args: Arguments): Result<string[], Context>;
  }
}

/** Redis as one server, or as a cluster: the queue lives in one slot of it. */
export type QueueRedis = Redis | Cluster;

const prepared = new WeakSet<QueueRedis>();

/** The connection with the queue's scripts as commands; each is sent as a whole only when Redis does not know it (any more). */
export function withQueueCommands(redis: QueueRedis): QueueRedis {
  if (prepared.has(redis)) return redis;
  prepared.add(redis);
  redis.defineCommand("queuePush", { lua: PUSH_SCRIPT });
  redis.defineCommand("queueConfirm", { lua: CONFIRM_SCRIPT });
  redis.defineCommand("queueTake", { lua: TAKE_SCRIPT });
  redis.defineCommand("queueRenew", { lua: RENEW_SCRIPT });
  redis.defineCommand("queueEnd", { lua: END_SCRIPT });
  return redis;
}

/** The connection to Redis that the queue needs. */
export interface QueueConnection {
  /** Runs commands within a second. @throws {StoreUnavailable} after which a command may have been executed all the same. */
  run<T>(commands: (redis: QueueRedis) => Promise<T>): Promise<T>;
  /** A new connection to the same Redis that waits for an answer as long as it takes; the caller disconnects it. */
  patient(): QueueRedis;
}
