import type { Redis } from "ioredis";
import { changeRequestRef, sameChangeRequest } from "../../src/core/model/change-request.js";
import { LOCK_LIFETIME_MS, type Lock, type LockAttempt, type LockRequest } from "../../src/core/model/lock.js";
import type { LockStore } from "../../src/core/ports/stores.js";
import { KEYS } from "../../src/names.js";
import type { Delay } from "../in-memory/delay.js";

/** The mistake that the interleavings must find: an acquire that reads, waits and writes. All else is the true store's. */
export function readThenWriteLocks(store: LockStore, redis: Redis, delay: Delay): LockStore {
  return {
    async acquire(request: LockRequest, now: Date): Promise<LockAttempt> {
      const current = await store.find(request.application);
      if (current !== undefined && !sameChangeRequest(current.holder, request.holder)) {
        return { kind: "held", lock: current };
      }
      await delay();
      const lock: Lock = {
        ...request,
        holder: changeRequestRef(request.holder),
        timestamp: current?.timestamp ?? now.toISOString(),
        planRevision: request.planRevision ?? current?.planRevision,
        sourceFile: request.sourceFile ?? current?.sourceFile,
      };
      await redis.set(`${KEYS.lock}${lock.application}`, recordOf(lock), "PX", LOCK_LIFETIME_MS);
      return { kind: "acquired", lock, fresh: current === undefined };
    },
    release: (application, by) => store.release(application, by),
    find: (application) => store.find(application),
    list: (holder) => store.list(holder),
    ping: () => store.ping(),
  };
}

function recordOf({ application, holder, user, timestamp, planRevision, sourceFile }: Lock): string {
  const { host, repository, number } = holder;
  return JSON.stringify({
    v: 1,
    application,
    pr_number: number,
    repository,
    host,
    user,
    timestamp,
    plan_revision: planRevision ?? "",
    source_file: sourceFile,
  });
}
