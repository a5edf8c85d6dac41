import * as z from "zod";
import { type ChangeRequestRef, identityKey } from "../../core/model/change-request.js";
import { StoredValueUnreadable } from "../../core/model/errors.js";
import { PLAN_LIFETIME_MS } from "../../core/model/plan/plan.js";
import type { Rollout } from "../../core/model/rollout.js";
import type { Log } from "../../core/ports/log.js";
import type { RolloutStore } from "../../core/ports/stores.js";
import { KEYS } from "../../names.js";
import { bySince } from "../stores.js";
import type { RedisConnection } from "./connection.js";
import { orUndefined, readKeys, readStored, stored } from "./stored-value.js";

const followed = z.object({
  application: stored.application,
  goal: z.enum(["run", "go"]),
  origin: z.string(),
  healthy: z.boolean(),
  existed: z.boolean(),
  wasBroken: z.boolean().optional(),
  definition: z.string().optional(),
  seen: z.string().optional(),
  destination: z.object({ cluster: z.string(), namespace: z.string() }).optional(),
  state: z.object({
    kind: z.enum(["waiting", "reached", "failing", "failed", "manual"]),
    why: z.string(),
    message: z.string().optional(),
    since: stored.time,
  }),
});

const rolloutRecord = z.object({
  v: z.literal(1),
  rollout: z.object({
    change: stored.change,
    merged: stored.revision,
    since: stored.time,
    until: stored.time,
    ended: orUndefined(stored.time),
    approval: z.enum(["given", "missing", "unknown"]),
    applications: z.array(followed),
    deployed: z.array(
      z.object({
        application: stored.application,
        outcome: z.enum(["started", "succeeded", "failed", "unknown"]),
        user: z.string(),
        timestamp: stored.time,
        seconds: z.number().optional(),
      }),
    ),
  }),
});

/**
 * Rollouts under `svc:follow:<change request>`, by the ids of repositories. The sorted set `svc:followed` has the keys of those
 * that have not ended, by when they expire, so that a look without any costs one call.
 */
export class RedisRolloutStore implements RolloutStore {
  constructor(
    private readonly connection: RedisConnection,
    private readonly log: Log,
  ) {}

  async save(rollout: Rollout, now: Date): Promise<void> {
    const expires = Date.parse(rollout.until) + PLAN_LIFETIME_MS;
    const leftMs = expires - now.getTime();
    if (leftMs <= 0) return;
    const [key, record] = [keyOf(rollout.change), JSON.stringify({ v: 1, rollout })];
    await this.connection.run(async (redis) => {
      // The set first, and last at the end: a record that it lacks would never be looked at.
      if (rollout.ended === undefined) await redis.zadd(KEYS.followed, expires, key);
      await redis.set(key, record, "PX", leftMs);
      if (rollout.ended !== undefined) await redis.zrem(KEYS.followed, key);
      await redis.zremrangebyscore(KEYS.followed, "-inf", String(now.getTime()));
    });
  }

  async find(change: ChangeRequestRef): Promise<Rollout | undefined> {
    const key = keyOf(change);
    const record = await this.connection.run((redis) => redis.get(key));
    return record === null ? undefined : readRollout(record, key);
  }

  async list(): Promise<readonly Rollout[]> {
    const entries = await this.connection.run(async (redis) =>
      readKeys(redis, await redis.zrange(KEYS.followed, "0", "-1")),
    );
    return entries
      .flatMap(([key, record]) => this.#readOrSkip(record, key))
      .filter(({ ended }) => ended === undefined)
      .sort(bySince);
  }

  #readOrSkip(record: string, key: string): readonly Rollout[] {
    try {
      return [readRollout(record, key)];
    } catch (error) {
      if (!(error instanceof StoredValueUnreadable)) throw error;
      this.log.warn({ key, err: error }, "could not read what is followed after a merge");
      return [];
    }
  }
}

function keyOf(change: ChangeRequestRef): string {
  return KEYS.follow + identityKey(change);
}

/** @throws {StoredValueUnreadable} */
function readRollout(text: string, key: string): Rollout {
  return readStored(rolloutRecord, text, "what svc follows after a merge", key).rollout;
}
