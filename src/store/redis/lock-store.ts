import type { ApplicationName } from "../../core/model/brand.js";
import { sameChangeRequest, type ChangeRequestRef } from "../../core/model/change-request.js";
import { LOCK_LIFETIME_MS, type Lock, type LockAttempt, type LockRequest } from "../../core/model/lock.js";
import type { LockStore } from "../../core/ports/lock-store.js";
import { LOCK_KEY_PREFIX } from "../../names.js";
import { byApplication } from "../by-application.js";
import { ACQUIRE_SCRIPT } from "./acquire-script.js";
import type { RedisConnection } from "./connection.js";
import { readKeys, scanKeys } from "./keys.js";
import { beginningOfLockRecord, describeLock, lockKey, readLock } from "./lock-record.js";
import { RELEASE_SCRIPT } from "./release-script.js";
import { LockScript } from "./script.js";
import { unreadable } from "./stored-value.js";

const acquireScript = new LockScript(ACQUIRE_SCRIPT);
const releaseScript = new LockScript(RELEASE_SCRIPT);

/**
 * Locks in Redis. Both writes are idempotent: an acquire or a release that threw `StoreUnavailable` may have happened,
 * and asking again gives the right answer. A lock that an acquire left behind in this way belongs to its change
 * request and goes when that one's locks are released, or after seven days.
 *
 * A stored value that cannot be read makes every method that meets it throw `StoredValueUnreadable`, `list` included;
 * only a release by `anyone` removes it.
 */
export class RedisLockStore implements LockStore {
  constructor(private readonly connection: RedisConnection) {}

  async acquire(request: LockRequest, now: Date): Promise<LockAttempt> {
    const key = lockKey(request.application);
    const args = [
      ...ownerArguments(request.holder),
      beginningOfLockRecord(request),
      now.toISOString(),
      request.planRevision ?? "",
      request.sourceFile ?? "",
      LOCK_LIFETIME_MS,
    ];
    const [outcome, record] = await this.connection.run((redis) => acquireScript.run(redis, key, args));
    if (outcome === "unreadable") throw unreadable(describeLock(key), key);
    const lock = readLock(record, key);
    if (outcome === "held") return { kind: "held", lock };
    return { kind: "acquired", lock, fresh: outcome === "acquired" };
  }

  async release(application: ApplicationName, by: ChangeRequestRef | "anyone"): Promise<boolean> {
    const key = lockKey(application);
    if (by === "anyone") return (await this.connection.run((redis) => redis.del(key))) === 1;
    const [outcome] = await this.connection.run((redis) => releaseScript.run(redis, key, ownerArguments(by)));
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
}

function ownerArguments({ host, repository, number }: ChangeRequestRef): (string | number)[] {
  return [host, repository, number];
}
