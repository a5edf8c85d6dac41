import { type Application, type ApplicationSpec, type LiveApplication, type Pin, specEqual } from "./application.js";
import type { ApplicationName, Revision } from "./brand.js";
import { type ChangeRequestRef, identityKey } from "./change-request.js";
import type { OverriddenCheck } from "./check.js";
import { groupedBy } from "./collections.js";
import type { HealthRule } from "./settings.js";

/** "Deployed, not merged": this change request's commit runs in the cluster, its branch is not merged yet. */
export interface Deployment {
  readonly application: ApplicationName;
  /** `metadata.uid` of the Application; undefined in records of older versions. */
  readonly uid?: string | undefined;
  readonly change: ChangeRequestRef;
  /** The head commit of the last attempt to deploy. */
  readonly revision: Revision;
  /** The target branch of the change request then; undefined in records of older versions. */
  readonly baseBranch?: string | undefined;
  /** Where the target branch was then. */
  readonly baseRevision?: Revision | undefined;
  /** What a rollback deploys depends on the target branch and on immutable things only. */
  readonly basePinned?: boolean | undefined;
  /** `started` is written before the first write to Argo CD, and replaced once the outcome is known. */
  readonly outcome: "started" | "succeeded" | "failed" | "unknown";
  /** The commits that the last attempt asked Argo CD for; empty if it asked for the target revisions. */
  readonly pins: readonly Pin[];
  /** The live spec before this change request's first sync. */
  readonly specBefore: ApplicationSpec;
  /** The spec of the last attempt, if svc wrote it, then or earlier; undefined if the change request leaves the definition alone. */
  readonly specWritten: ApplicationSpec | undefined;
  /** The spec before the last attempt, if an earlier one of this change request wrote it. It runs again if the last one fails. */
  readonly specReplaced?: ApplicationSpec | undefined;
  /** The parent and the ApplicationSet that gave `specWritten`, where svc did not write it itself. */
  readonly given?: { readonly parent: ApplicationName; readonly set: string } | undefined;
  /** Logins of the approvers at the time; empty if there were none. */
  readonly approvers: readonly string[];
  readonly user: string;
  /** What it took out of the cluster again that the base branch has, as a sentence: such a head is not merged. Untrusted. */
  readonly reverted?: string | undefined;
  /** Failed checks that an approval lifted for it. */
  readonly overridden?: readonly OverriddenCheck[] | undefined;
  /** The run that synced last; undefined in records of older versions. */
  readonly runId?: string | undefined;
  /** How healthy it must get before the sync has succeeded; undefined if Argo CD's success is enough. */
  readonly health?: HealthRule | undefined;
  /** Why svc rolls it back by itself; written before it does, so that it happens once. */
  readonly undoing?: Undoing | undefined;
  /** When the last attempt to deploy began. ISO 8601. */
  readonly timestamp: string;
  /** How long that took, or how long svc waited for its end; undefined until then, and once svc has found its end later. */
  readonly seconds?: number | undefined;
  /** When svc found that it had succeeded, if it did not see its end. ISO 8601. */
  readonly settledAt?: string | undefined;
}

/** The state of an application that did not become healthy, in Argo CD's words: untrusted. */
interface Undoing {
  readonly health: string;
  readonly message: string;
}

/** Whether this commit was certainly deployed; a failed or unfinished sync proves nothing. */
export function isDeployedAt({ revision, outcome }: Deployment, commit: Revision): boolean {
  return revision === commit && outcome === "succeeded";
}

/** How far a sync is that has not ended. */
export interface RunningSync {
  readonly user: string;
  readonly done: number;
  readonly total: number;
}

/** The sync of a head that runs now. @param records of one change request. */
export function runningSync(records: readonly Deployment[], head: Revision): RunningSync | undefined {
  const started = records.find(({ revision, outcome }) => revision === head && outcome === "started");
  if (started === undefined) return undefined;
  const all = records.filter(({ runId }) => runId === started.runId);
  const done = all.filter(({ outcome }) => outcome !== "started").length;
  return { user: started.user, done, total: all.length };
}

/** Whether it was deployed to an Application that was deleted and made again since. One without a uid counts as the present one. */
export function isOfReplaced({ uid }: Deployment, live: Pick<LiveApplication, "uid">): boolean {
  return uid !== undefined && live.uid !== undefined && uid !== live.uid;
}

/** The records of each application, in their order. */
export function byApplication(records: readonly Deployment[]): ReadonlyMap<ApplicationName, readonly Deployment[]> {
  return groupedBy(records, ({ application }) => application);
}

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

/** The change requests of which something was deployed `afterMs` ago or earlier, merged or not, failed syncs included. */
export function overdueChanges(records: readonly Deployment[], now: Date, afterMs: number): readonly OverdueChange[] {
  return [...groupedBy(records, ({ change }) => identityKey(change)).values()].flatMap((deployed) => {
    const oldest = deployed.reduce((first, one) => (one.timestamp < first.timestamp ? one : first));
    const newest = deployed.reduce((last, one) => (one.timestamp > last.timestamp ? one : last));
    if (now.getTime() - Date.parse(oldest.timestamp) < afterMs) return [];
    const { change, revision: head, user } = newest;
    const applications = deployed.map(({ application }) => application);
    return [{ change, applications, head, user, since: oldest.timestamp }];
  });
}

/** The record of whoever wrote the definition that an application has; undefined if none of them did. */
export function writerOf({ spec }: Pick<Application, "spec">, records: readonly Deployment[]): Deployment | undefined {
  return records.find(({ specWritten, specReplaced }) =>
    [specWritten, specReplaced].some((one) => one !== undefined && specEqual(spec, one)),
  );
}

/** Its definition after the rollback: the one from before a first sync, if the live one was written by one of these change requests. */
export function restoredSpec(
  live: Application,
  records: readonly Deployment[],
): { readonly restores: boolean; readonly spec: ApplicationSpec } {
  const writer = writerOf(live, records);
  return { restores: writer !== undefined, spec: writer?.specBefore ?? live.spec };
}
