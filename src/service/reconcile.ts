import { isUnsettled } from "../core/deploy/settle-records.js";
import {
  changeRequestKey,
  changeRequestRef,
  type ChangeRequest,
  type ChangeRequestRef,
  identityKey,
} from "../core/model/change-request.js";
import { type Deployment, overdueChanges, type OverdueChange } from "../core/model/deployment.js";
import type { HostEvent } from "../core/model/event.js";
import type { Clock } from "../core/ports/clock.js";
import type { CodeHost } from "../core/ports/code-host.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";
import type { Notifications } from "../core/ports/notifications.js";
import type { DeploymentStore, LockStore, StatusStore, WaitStore } from "../core/ports/stores.js";
import type { HostId } from "../names.js";
import { callNext } from "../run/around/turns.js";

const DAY_MS = 24 * 60 * 60 * 1000;

export interface ReconcileParts {
  readonly hosts: Readonly<Partial<Record<HostId, CodeHost>>>;
  readonly locks: LockStore;
  readonly waiting: WaitStore;
  readonly deployments: DeploymentStore;
  readonly statuses: StatusStore;
  readonly queue: EventQueue;
  readonly notifications: Notifications;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Makes up for lost webhooks. Pushes the missing "closed" event of closed change requests that still hold a lock, wait
 * for one, hold back the status of a commit that others share, or are recorded as deployed; revisits syncs without a recorded outcome; and passes expired or abandoned
 * locks to those who wait.
 */
export async function reconcile(parts: ReconcileParts): Promise<void> {
  const [locks, queues, records, shared] = await Promise.all([
    parts.locks.list(),
    parts.waiting.list(),
    parts.deployments.list(),
    parts.statuses.listShared(),
  ]);
  const waiting = queues.flatMap(({ changes }) => changes);
  const holding = [...locks.map(({ holder }) => holder), ...waiting, ...shared];
  const holders = new Set(holding.map(identityKey));
  const unsettled = new Set(
    records.filter((one) => isUnsettled(one) && isRecent(one, parts.clock)).map(({ change }) => identityKey(change)),
  );
  const changes = new Map<string, ChangeRequestRef>();
  for (const change of [...holding, ...records.map((record) => record.change)]) {
    changes.set(identityKey(change), change);
  }
  const overdue = new Map(
    overdueChanges(records, parts.clock.now(), DAY_MS).map((one) => [identityKey(one.change), one]),
  );
  for (const [key, change] of changes) {
    const state = await reconcileChange(change, { holds: holders.has(key), unsettled: unsettled.has(key) }, parts);
    const waiting = overdue.get(key);
    if (waiting !== undefined && state !== undefined) await tellOfOverdue(waiting, state, parts);
  }
  const applications = queues.map(({ application }) => application);
  const cause = `reconcile-${parts.clock.now().getTime()}`;
  const push = (event: HostEvent) => parts.queue.push(event);
  await callNext({ applications, after: undefined }, cause, { ...parts, push });
}

/** Tells receivers every day that a change request is deployed and not merged. */
async function tellOfOverdue(
  { change, applications, head, user: by, since }: OverdueChange,
  state: ChangeRequest["state"],
  { notifications, clock }: ReconcileParts,
): Promise<void> {
  if (state === "merged") return;
  const now = clock.now();
  const days = Math.floor((now.getTime() - Date.parse(since)) / DAY_MS);
  const id = `not-merged ${changeRequestKey(change)} ${since} ${days}`;
  const facts = { change, closed: state === "closed", head, by, since, applications };
  await notifications.publish({ id, at: now.toISOString(), kind: "not-merged", ...facts });
}

/** Pushes the event that a change request misses, and logs failures. @returns Its state, if the host tells. */
export async function reconcileChange(
  change: ChangeRequestRef,
  { holds, unsettled }: { readonly holds: boolean; readonly unsettled: boolean },
  parts: ReconcileParts,
): Promise<ChangeRequest["state"] | undefined> {
  const key = changeRequestKey(change);
  try {
    const state = await parts.hosts[change.host]?.state(change);
    if (state === undefined) return undefined;
    const origin = {
      change: changeRequestRef(change),
      delivery: `reconcile-${identityKey(change)}-${parts.clock.now().getTime()}`,
    };
    if (state === "merged" || (state === "closed" && holds)) {
      parts.log.info({ change: key, state }, "cleaning up after a lost webhook");
      await parts.queue.push({ kind: "closed", merged: state === "merged", ...origin });
    } else if (unsettled) {
      await parts.queue.push({ kind: "reviewed", ...origin });
    }
    return state;
  } catch (error) {
    parts.log.warn({ change: key, err: error }, "could not reconcile a change request");
    return undefined;
  }
}

/** After a day, Argo CD no longer knows how a sync ended. */
function isRecent({ timestamp }: Deployment, clock: Clock): boolean {
  return clock.now().getTime() - Date.parse(timestamp) < DAY_MS;
}
