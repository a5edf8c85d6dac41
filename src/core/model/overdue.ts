import type { ApplicationName, Revision } from "./brand.js";
import { changeRequestKey, type ChangeRequestRef } from "./change-request.js";
import type { Deployment } from "./deployment.js";

/** A change request whose commits have run in the cluster for long without being merged. */
export interface OverdueChange {
  readonly change: ChangeRequestRef;
  readonly applications: readonly ApplicationName[];
  /** What was deployed last, by whom and when (ISO 8601). */
  readonly head: Revision;
  readonly user: string;
  readonly since: string;
}

/**
 * The change requests whose newest deployment is older than `afterMs`; one that is deployed to again starts anew. Says nothing of
 * whether they were merged meanwhile: ask the host.
 */
export function overdueChanges(records: readonly Deployment[], now: Date, afterMs: number): readonly OverdueChange[] {
  const changes = new Map<string, readonly [Deployment, ...Deployment[]]>();
  for (const record of records) {
    if (record.outcome !== "succeeded") continue;
    const key = changeRequestKey(record.change);
    const others = changes.get(key);
    changes.set(key, others === undefined ? [record] : [...others, record]);
  }
  return [...changes.values()].flatMap((deployed) => {
    const newest = deployed.reduce((last, one) => (one.timestamp > last.timestamp ? one : last));
    if (now.getTime() - Date.parse(newest.timestamp) <= afterMs) return [];
    const { change, revision: head, user, timestamp: since } = newest;
    return [{ change, applications: deployed.map(({ application }) => application), head, user, since }];
  });
}
