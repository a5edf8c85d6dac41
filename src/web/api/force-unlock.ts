import type { Account } from "../../core/model/account.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { Lock } from "../../core/model/lock.js";
import { recordAudit, type AuditLog } from "../../core/ports/audit.js";
import type { Clock } from "../../core/ports/clock.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { LockStore } from "../../core/ports/lock-store.js";
import type { Log } from "../../core/ports/log.js";

export interface ForceUnlockParts {
  readonly locks: LockStore;
  readonly audit: AuditLog;
  readonly push: EventQueue["push"];
  readonly newRun: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often a lock is looked at anew that changed hands between the look and the release. */
const MOST_TRIES = 3;

/**
 * Takes the lock of an application away from whoever holds it, writes down who did so and has the commit status of the
 * change request brought up to date. Answers the lock that is gone, or undefined when there was none.
 * @throws {StoreUnavailable}
 */
export async function forceUnlock(
  application: ApplicationName,
  by: Account,
  parts: ForceUnlockParts,
): Promise<Lock | undefined> {
  const lock = await release(application, parts.locks);
  if (lock === undefined) return undefined;
  const { clock, log, push } = parts;
  const run = parts.newRun();
  const entry = {
    at: clock.now().toISOString(),
    run,
    delivery: "",
    who: { host: by.provider, id: by.id, login: by.username },
    change: lock.holder,
    head: lock.planRevision,
    action: "force-unlocked",
    command: undefined,
    applications: [{ application, outcome: "released", detail: `was locked by ${lock.user}` }],
    reason: undefined,
  } as const;
  await recordAudit(entry, parts);
  try {
    // In the order of the change request's own events; it plans nothing and brings the status up to date.
    await push({ kind: "reviewed", change: lock.holder, delivery: `unlock-${run}` });
  } catch (error) {
    log.warn({ err: error, application }, "the status of a change request that lost its lock could not be asked for");
  }
  return lock;
}

/** The holder that was removed is the one that was seen, so that the audit trail never names another. */
async function release(application: ApplicationName, locks: LockStore): Promise<Lock | undefined> {
  for (let left = MOST_TRIES; left > 0; left -= 1) {
    const lock = await locks.find(application);
    if (lock === undefined) return undefined;
    if (await locks.release(application, lock.holder)) return lock;
  }
  return undefined;
}
