import { changeRequestKey, changeRequestRef, type ChangeRequestRef } from "./core/change-request.js";
import type { Clock } from "./core/clock.js";
import type { Log } from "./core/log.js";
import type { CodeHost, DeploymentStore, EventQueue, LockStore } from "./core/ports.js";
import type { HostId } from "./names.js";

export interface ReconcileParts {
  readonly hosts: Readonly<Partial<Record<HostId, CodeHost>>>;
  readonly locks: LockStore;
  readonly deployments: DeploymentStore;
  readonly queue: EventQueue;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Cleans up after lost webhooks: a change request that holds a lock, or that was merged and has a record "deployed, not
 * merged", and is closed in truth, gets the event that did not arrive. It runs through the queue like any other.
 */
export async function reconcile(parts: ReconcileParts): Promise<void> {
  const [locks, records] = await Promise.all([parts.locks.list(), parts.deployments.list()]);
  const holders = new Set(locks.map(({ holder }) => changeRequestKey(holder)));
  const changes = new Map<string, ChangeRequestRef>();
  for (const change of [...locks.map(({ holder }) => holder), ...records.map((record) => record.change)]) {
    changes.set(changeRequestKey(change), change);
  }
  for (const [key, change] of changes) {
    try {
      const now = await parts.hosts[change.host]?.getChangeRequest(change);
      if (now === undefined || now.state === "open") continue;
      if (now.state === "closed" && !holders.has(key)) continue;
      parts.log.info({ change: key, state: now.state }, "cleaning up after a lost webhook");
      await parts.queue.push({
        kind: "closed",
        merged: now.state === "merged",
        change: changeRequestRef(change),
        delivery: `reconcile-${key}-${parts.clock.now().getTime()}`,
      });
    } catch (error) {
      parts.log.warn({ change: key, err: error }, "could not look at a change request that holds locks");
    }
  }
}
