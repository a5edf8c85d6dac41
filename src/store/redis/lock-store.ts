import * as z from "zod";
import { type ApplicationName, applicationName } from "../../core/model/brand.js";
import {
  type ChangeRequestRef,
  changeRequestRef,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import type { OnUnreadable } from "../../core/model/errors.js";
import type { Hold } from "../../core/model/hold.js";
import {
  LOCK_LIFETIME_MS,
  type Lock,
  type LockAttempt,
  type LockRequest,
  MAX_WAITING,
  WAITING_LIFETIME_MS,
  type Waiting,
} from "../../core/model/lock.js";
import { PLAN_LIFETIME_MS } from "../../core/model/plan/plan.js";
import type { Rollout } from "../../core/model/rollout.js";
import { leavesOut, type Log } from "../../core/ports/log.js";
import type { HoldStore, LockStore, RolloutStore, WaitStore } from "../../core/ports/stores.js";
import { RedisScript, vouched } from "../../http/redis.js";
import { KEYS } from "../../names.js";
import { byApplication, byBegin, bySince } from "../stores.js";
import type { RedisConnection } from "./connection.js";
import { KeyIndex } from "./key-index.js";
import { orUndefined, readEach, readKeys, readStored, stored, unreadable } from "./stored-value.js";

const ACQUIRE = new RedisScript(new URL("acquire.lua", import.meta.url));
const RELEASE = new RedisScript(new URL("release.lua", import.meta.url));

const answer = z.tuple([z.string(), z.string()]);

/**
 * Acquiring and releasing are idempotent: one that threw `StoreUnavailable` may have been executed, and repeating it gives the
 * right answer. A lock that such an acquire left behind belongs to its change request. An unreadable value throws
 * `StoredValueUnreadable`, also in `list`, and stays until somebody deletes its key.
 */
export class RedisLockStore implements LockStore {
  readonly index = new KeyIndex(KEYS.lock);

  constructor(private readonly connection: RedisConnection) {}

  async acquire(request: LockRequest, now: Date, from?: ChangeRequestRef): Promise<LockAttempt> {
    const key = lockKey(request.application);
    const args = [
      ...ownerArguments(request.holder),
      beginningOfLockRecord(request),
      now.toISOString(),
      request.planRevision ?? "",
      request.sourceFile ?? "",
      LOCK_LIFETIME_MS,
      ...(from === undefined ? [] : ownerArguments(from)),
    ];
    await this.connection.run((redis) => this.index.enter(redis, [request.application]));
    const [outcome, record] = await this.#call(ACQUIRE, key, args);
    if (outcome === "unreadable") throw unreadable(describeLock(key), key);
    const lock = readLock(record, key);
    if (outcome === "held") return { kind: "held", lock };
    return { kind: "acquired", lock, fresh: outcome === "acquired" };
  }

  async release(application: ApplicationName, by: ChangeRequestRef): Promise<boolean> {
    const key = lockKey(application);
    const [outcome] = await this.#call(RELEASE, key, ownerArguments(by));
    if (outcome === "unreadable") throw unreadable(describeLock(key), key);
    return outcome === "released";
  }

  async find(application: ApplicationName): Promise<Lock | undefined> {
    const key = lockKey(application);
    const record = await this.connection.run((redis) => redis.get(key));
    return record === null ? undefined : readLock(record, key);
  }

  async list(holder?: ChangeRequestRef, skip?: OnUnreadable): Promise<readonly Lock[]> {
    const entries = await this.connection.run(async (redis) => readKeys(redis, await this.index.keys(redis)));
    return readEach(entries, ([key, record]) => readLock(record, key), skip)
      .filter((lock) => holder === undefined || sameChangeRequest(lock.holder, holder))
      .sort(byApplication);
  }

  ping(): Promise<void> {
    return this.connection.ping();
  }

  async #call(script: RedisScript, key: string, args: readonly (string | number)[]): Promise<z.infer<typeof answer>> {
    return answer.parse(await this.connection.run((redis) => script.run(redis, [key], args)));
  }
}

function ownerArguments({ host, repository, number, repositoryId = "" }: ChangeRequestRef): (string | number)[] {
  return [host, repository, number, repositoryId];
}

/** The record under `svc:lock:<application>`; an empty plan revision means that there is no plan yet. */
const lockRecord = z.object({
  v: z.literal(1),
  application: stored.application,
  pr_number: stored.number,
  repository: stored.repository,
  host: stored.host,
  repository_id: orUndefined(z.string()),
  user: z.string(),
  timestamp: stored.time,
  plan_revision: z.union([z.literal(""), stored.revision]),
  source_file: orUndefined(z.string()),
});

function lockKey(application: string): string {
  return KEYS.lock + application;
}

/** The part of the record that the stored one does not affect: a JSON object without its closing brace. */
function beginningOfLockRecord({ application, holder, user }: LockRequest): string {
  const { host, repository, number } = holder;
  return JSON.stringify({ v: 1, application, pr_number: number, repository, host, user }).slice(0, -1);
}

/** @throws {StoredValueUnreadable} */
function readLock(text: string, key: string): Lock {
  const record = readStored(lockRecord, text, describeLock(key), key);
  return {
    application: record.application,
    holder: changeRequestRef({
      host: record.host,
      repository: record.repository,
      repositoryId: record.repository_id,
      number: record.pr_number,
    }),
    user: record.user,
    timestamp: record.timestamp,
    planRevision: record.plan_revision === "" ? undefined : record.plan_revision,
    sourceFile: record.source_file,
  };
}

function describeLock(key: string): string {
  return `the lock of application ${key.slice(KEYS.lock.length)}`;
}

const JOIN = new RedisScript(new URL("join.lua", import.meta.url));
const LEAVE = new RedisScript(new URL("leave.lua", import.meta.url));

const place = z.object({ v: z.literal(1), change: stored.change, since: orUndefined(z.int().nonnegative()) });

/**
 * One sorted set per application, `svc:waiting:<application>`: a record for each change request, scored by the order in
 * which they joined. A change request is found by what its record says: another version may have written it differently.
 */
export class RedisWaitStore implements WaitStore {
  readonly index = new KeyIndex(KEYS.waiting);

  constructor(private readonly connection: RedisConnection) {}

  async join(application: ApplicationName, change: ChangeRequestRef, where?: "first"): Promise<number | undefined> {
    const args = [
      ...ownerArguments(change),
      // The record without its time: a JSON object without its closing brace.
      JSON.stringify({ v: 1, change: changeRequestRef(change) }).slice(0, -1),
      MAX_WAITING,
      WAITING_LIFETIME_MS,
      where ?? "last",
    ];
    await this.connection.run((redis) => this.index.enter(redis, [application]));
    const answer = await this.connection.run((redis) => JOIN.run(redis, [waitingKey(application)], args));
    const number = z.int().nonnegative().parse(answer);
    return number === 0 ? undefined : number;
  }

  async leave(application: ApplicationName, change: ChangeRequestRef): Promise<boolean> {
    const key = waitingKey(application);
    return (await this.connection.run((redis) => LEAVE.run(redis, [key], ownerArguments(change)))) !== 0;
  }

  async of(application: ApplicationName): Promise<readonly ChangeRequestRef[]> {
    const key = waitingKey(application);
    const records = await this.connection.run((redis) => redis.zrange(key, "0", "-1"));
    return readPlaces(records, key).map(({ change }) => change);
  }

  async list(skip?: OnUnreadable): Promise<readonly Waiting[]> {
    const queues = await this.connection.run(async (redis) => {
      const keys = await this.index.keys(redis);
      return Promise.all(keys.map(async (key) => ({ key, records: await redis.zrange(key, "0", "-1") })));
    });
    const read = ({ key, records }: (typeof queues)[number]): Waiting => {
      const places = readPlaces(records, key);
      return {
        application: applicationName(key.slice(KEYS.waiting.length)),
        changes: places.map(({ change }) => change),
        since: places.map(({ since }) => (since === undefined ? undefined : new Date(since).toISOString())),
      };
    };
    const filled = queues.filter(({ records }) => records.length > 0);
    return [...readEach(filled, read, skip)].sort(byApplication);
  }
}

function waitingKey(application: ApplicationName): string {
  return KEYS.waiting + application;
}

/** @throws {StoredValueUnreadable} */
function readPlaces(records: readonly string[], key: string): readonly z.infer<typeof place>[] {
  return records.map((text) => readStored(place, text, "the queue for a lock", key));
}

const holdRecord = z.object({
  v: z.literal(1),
  hold: vouched<Hold>(z.object({ id: z.string(), applications: stored.list, since: stored.time, until: stored.time })),
});

/** Holds under `svc:hold:<id>`, which Redis removes at their end. */
export class RedisHoldStore implements HoldStore {
  readonly index = new KeyIndex(KEYS.hold);

  constructor(private readonly connection: RedisConnection) {}

  async save(hold: Hold, now: Date): Promise<void> {
    const leftMs = Date.parse(hold.until) - now.getTime();
    if (leftMs <= 0) return;
    const record = JSON.stringify({ v: 1, hold });
    await this.connection.run((redis) => this.index.enter(redis, [hold.id]));
    await this.connection.run((redis) => redis.set(KEYS.hold + hold.id, record, "PX", leftMs));
  }

  async remove(id: string): Promise<Hold | undefined> {
    const key = KEYS.hold + id;
    const found = await this.connection.run((redis) => redis.getdel(key));
    return found === null ? undefined : readHold(found, key);
  }

  async list(): Promise<readonly Hold[]> {
    const entries = await this.connection.run(async (redis) => readKeys(redis, await this.index.keys(redis)));
    return entries.map(([key, record]) => readHold(record, key)).sort(byBegin);
  }
}

/** @throws {StoredValueUnreadable} */
function readHold(text: string, key: string): Hold {
  return readStored(holdRecord, text, "a hold", key).hold;
}

const rolloutRecord = z.object({
  v: z.literal(1),
  rollout: vouched<Rollout>(
    z.object({
      change: stored.change,
      merged: stored.revision,
      until: stored.time,
      applications: stored.list,
      deployed: stored.list,
    }),
  ),
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
    return readEach(entries, ([key, record]) => readRollout(record, key), leavesOut(this.log))
      .filter(({ ended }) => ended === undefined)
      .sort(bySince);
  }
}

function keyOf(change: ChangeRequestRef): string {
  return KEYS.follow + identityKey(change);
}

/** @throws {StoredValueUnreadable} */
function readRollout(text: string, key: string): Rollout {
  return readStored(rolloutRecord, text, "what svc follows after a merge", key).rollout;
}
