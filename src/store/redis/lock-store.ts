import * as z from "zod";
import type { ApplicationName } from "../../core/model/brand.js";
import { sameChangeRequest, type ChangeRequestRef } from "../../core/model/change-request.js";
import { LOCK_LIFETIME_MS, type Lock, type LockAttempt, type LockRequest } from "../../core/model/lock.js";
import type { LockStore } from "../../core/ports/stores.js";
import { RedisScript } from "../../http/redis.js";
import { LOCK_KEY_PREFIX } from "../../names.js";
import { byApplication } from "../order.js";
import type { RedisConnection } from "./connection.js";
import { readKeys, scanKeys } from "./keys.js";
import { orUndefined, readStored, stored, unreadable } from "./stored-value.js";

const ACQUIRE = new RedisScript(new URL("acquire.lua", import.meta.url));
const RELEASE = new RedisScript(new URL("release.lua", import.meta.url));

const answer = z.tuple([z.string(), z.string()]);

/**
 * Locks in Redis. Both writes are idempotent: an acquire or a release that threw `StoreUnavailable` may have been
 * executed, and repeating it gives the right answer. A lock left behind by such an acquire belongs to its change request;
 * it goes when that change request releases its locks, or after seven days.
 *
 * Every method that finds an unreadable value throws `StoredValueUnreadable`, including `list`; only a release by
 * `anyone` removes the value.
 */
export class RedisLockStore implements LockStore {
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
    const [outcome, record] = await this.#call(ACQUIRE, key, args);
    if (outcome === "unreadable") throw unreadable(describeLock(key), key);
    const lock = readLock(record, key);
    if (outcome === "held") return { kind: "held", lock };
    return { kind: "acquired", lock, fresh: outcome === "acquired" };
  }

  async release(application: ApplicationName, by: ChangeRequestRef | "anyone"): Promise<boolean> {
    const key = lockKey(application);
    if (by === "anyone") return (await this.connection.run((redis) => redis.del(key))) === 1;
    const [outcome] = await this.#call(RELEASE, key, ownerArguments(by));
    if (outcome === "unreadable") throw unreadable(describeLock(key), key);
    return outcome === "released";
  }

  async find(application: ApplicationName): Promise<Lock | undefined> {
    const key = lockKey(application);
    const record = await this.connection.run((redis) => redis.get(key));
    return record === null ? undefined : readLock(record, key);
  }

  async list(holder?: ChangeRequestRef): Promise<readonly Lock[]> {
    const entries = await this.connection.run(async (redis) => readKeys(redis, await scanKeys(redis, LOCK_KEY_PREFIX)));
    return entries
      .map(([key, record]) => readLock(record, key))
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

function ownerArguments({ host, repository, number }: ChangeRequestRef): (string | number)[] {
  return [host, repository, number];
}

/** The record under `svc:lock:<application>`; an empty plan revision means that there is no plan yet. */
const lockRecord = z.object({
  v: z.literal(1),
  application: stored.application,
  pr_number: stored.number,
  repository: stored.repository,
  host: stored.host,
  user: z.string(),
  timestamp: stored.time,
  plan_revision: z.union([z.literal(""), stored.revision]),
  source_file: orUndefined(z.string()),
});

function lockKey(application: string): string {
  return LOCK_KEY_PREFIX + application;
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
    holder: { host: record.host, repository: record.repository, number: record.pr_number },
    user: record.user,
    timestamp: record.timestamp,
    planRevision: record.plan_revision === "" ? undefined : record.plan_revision,
    sourceFile: record.source_file,
  };
}

function describeLock(key: string): string {
  return `the lock of application ${key.slice(LOCK_KEY_PREFIX.length)}`;
}
