import type { Account } from "../../core/model/account.js";
import type { ApplicationName } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import type { Lock } from "../../core/model/lock.js";
import { recordAudit, type AuditLog } from "../../core/ports/audit.js";
import type { Clock } from "../../core/ports/clock.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { Log } from "../../core/ports/log.js";
import type { Notifications } from "../../core/ports/notifications.js";
import type { LockStore, WaitStore } from "../../core/ports/stores.js";
import { callNext } from "../../run/around/turns.js";

export interface ForceUnlockParts {
  readonly locks: LockStore;
  readonly waiting: WaitStore;
  readonly audit: AuditLog;
  readonly push: EventQueue["push"];
  readonly notifications: Notifications;
  readonly newRunId: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The holder of a lock may change between the read and the release. */
const MOST_TRIES = 3;

/**
 * Releases the lock of an application, whoever holds it, records who did so, has the commit status of the change
 * request updated and calls whoever waited longest. Returns the released lock, or undefined if the application was not locked.
 * @throws {StoreUnavailable}
 */
export async function forceUnlock(
  application: ApplicationName,
  by: Account,
  parts: ForceUnlockParts,
): Promise<Lock | undefined> {
  const lock = await release(application, parts.locks);
  if (lock !== undefined) await noteRelease([lock], by, parts);
  return lock;
}

/**
 * As `forceUnlock`, for every lock that a change request holds. Locks that others took meanwhile stay.
 * @throws {StoreUnavailable}
 */
export async function forceUnlockAll(
  holder: ChangeRequestRef,
  by: Account,
  parts: ForceUnlockParts,
): Promise<readonly ApplicationName[]> {
  const { locks } = parts;
  const released: Lock[] = [];
  try {
    for (const lock of await locks.list(holder)) {
      if (await locks.release(lock.application, holder)) released.push(lock);
    }
  } finally {
    await noteRelease(released, by, parts);
  }
  return released.map(({ application }) => application);
}

/** Records and announces the release of locks of one holder. Never throws. */
async function noteRelease(locks: readonly Lock[], by: Account, parts: ForceUnlockParts): Promise<void> {
  const [first] = locks;
  if (first === undefined) return;
  const { clock, log, push } = parts;
  const runId = parts.newRunId();
  const entry = {
    at: clock.now().toISOString(),
    runId,
    delivery: "",
    who: { host: by.provider, id: by.id, login: by.username },
    change: first.holder,
    head: first.planRevision,
    action: "force-unlocked",
    command: undefined,
    applications: locks.map(({ application, user }) => {
      return { application, outcome: "released", detail: `was locked by ${user}` };
    }),
    reason: undefined,
  } as const;
  await recordAudit(entry, parts);
  const applications = locks.map(({ application }) => application);
  const facts = { change: first.holder, by: by.username, applications };
  // The admin does not wait for it.
  void parts.notifications.publish({ id: runId, at: entry.at, kind: "locks-released", ...facts });
  try {
    // Goes into the change request's lane. A review plans nothing and updates the commit status.
    await push({ kind: "reviewed", change: first.holder, delivery: `unlock-${runId}` });
  } catch (error) {
    const message = "could not queue the status update of a change request whose lock was released";
    log.warn({ err: error, application: first.application }, message);
  }
  await callNext({ applications, after: first.holder }, runId, parts);
}

/** Releases only for the holder that was read, so that the audit trail names the right one. */
async function release(application: ApplicationName, locks: LockStore): Promise<Lock | undefined> {
  for (let left = MOST_TRIES; left > 0; left -= 1) {
    const lock = await locks.find(application);
    if (lock === undefined) return undefined;
    if (await locks.release(application, lock.holder)) return lock;
  }
  return undefined;
}
