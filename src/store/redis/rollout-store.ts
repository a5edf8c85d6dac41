import * as z from "zod";
import { type ChangeRequestRef, identityKey } from "../../core/model/change-request.js";
import { type Rollout, ROLLOUT_KEPT_MS } from "../../core/model/rollout.js";
import type { RolloutStore } from "../../core/ports/stores.js";
import { FOLLOW_KEY_PREFIX } from "../../names.js";
import { bySince } from "../stores.js";
import type { RedisConnection } from "./connection.js";
import { orUndefined, readKeys, readStored, scanKeys, stored } from "./stored-value.js";

const followed = z.object({
  application: stored.application,
  goal: z.enum(["run", "go"]),
  origin: z.string(),
  healthy: z.boolean(),
  existed: z.boolean(),
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

/** Rollouts under `svc:follow:<change request>`, by the ids of repositories. */
export class RedisRolloutStore implements RolloutStore {
  constructor(private readonly connection: RedisConnection) {}

  async save(rollout: Rollout, now: Date): Promise<void> {
    const leftMs = Date.parse(rollout.until) + ROLLOUT_KEPT_MS - now.getTime();
    if (leftMs <= 0) return;
    const record = JSON.stringify({ v: 1, rollout });
    await this.connection.run((redis) => redis.set(keyOf(rollout.change), record, "PX", leftMs));
  }

  async find(change: ChangeRequestRef): Promise<Rollout | undefined> {
    const key = keyOf(change);
    const record = await this.connection.run((redis) => redis.get(key));
    return record === null ? undefined : readRollout(record, key);
  }

  async list(): Promise<readonly Rollout[]> {
    const entries = await this.connection.run(async (redis) =>
      readKeys(redis, await scanKeys(redis, FOLLOW_KEY_PREFIX)),
    );
    return entries.map(([key, record]) => readRollout(record, key)).sort(bySince);
  }
}

function keyOf(change: ChangeRequestRef): string {
  return FOLLOW_KEY_PREFIX + identityKey(change);
}

/** @throws {StoredValueUnreadable} */
function readRollout(text: string, key: string): Rollout {
  return readStored(rolloutRecord, text, "what svc follows after a merge", key).rollout;
}
