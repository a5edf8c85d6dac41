import type { ApplicationName, Revision } from "./brand.js";
import { changeRequestKey, type ChangeRequestRef } from "./change-request.js";
import type { Deployment } from "./deployment.js";

/** A change request whose commits have been in the cluster for long without being merged. */
export interface OverdueChange {
  readonly change: ChangeRequestRef;
  readonly applications: readonly ApplicationName[];
  /** What was deployed last, and by whom. */
  readonly head: Revision;
  readonly user: string;
  /** When the oldest of it was deployed. ISO 8601. */
  readonly since: string;
}

/**
 * The change requests of which something was deployed `afterMs` ago or earlier, also by a sync that failed: it may have applied
 * a part. Says nothing of whether they were merged meanwhile: ask the host.
 */
export function overdueChanges(records: readonly Deployment[], now: Date, afterMs: number): readonly OverdueChange[] {
  return [...recordsByChange(records).values()].flatMap((deployed) => {
    const oldest = deployed.reduce((first, one) => (one.timestamp < first.timestamp ? one : first));
    const newest = deployed.reduce((last, one) => (one.timestamp > last.timestamp ? one : last));
    if (now.getTime() - Date.parse(oldest.timestamp) < afterMs) return [];
    const { change, revision: head, user } = newest;
    const applications = deployed.map(({ application }) => application);
    return [{ change, applications, head, user, since: oldest.timestamp }];
  });
}

function recordsByChange(records: readonly Deployment[]): ReadonlyMap<string, readonly [Deployment, ...Deployment[]]> {
  const changes = new Map<string, readonly [Deployment, ...Deployment[]]>();
  for (const record of records) {
    const key = changeRequestKey(record.change);
    const others = changes.get(key);
    changes.set(key, others === undefined ? [record] : [...others, record]);
  }
  return changes;
}
