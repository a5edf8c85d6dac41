import type { ApplicationName, Revision } from "./brand.js";
import type { ChangeRequestRef } from "./change-request.js";

/** How long a lock lives after its last refresh, in milliseconds: 7 days. */
export const LOCK_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;

/** How many change requests may wait for the lock of one application. */
export const MAX_WAITING = 100;

/** How long a queue for a lock is kept after the last change request joined it, in milliseconds: 30 days. */
export const WAITING_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

/** The change requests that wait for the lock of an application; whoever asked first comes first. */
export interface Waiting {
  readonly application: ApplicationName;
  readonly changes: readonly ChangeRequestRef[];
  /** Since when each of them waits, in their order. ISO 8601; undefined where an older version stored it. */
  readonly since: readonly (string | undefined)[];
}

/** Locks that a change request waited for and that were released. */
export interface Turn {
  readonly applications: readonly ApplicationName[];
  /** The change request that had them; undefined if that is not known. */
  readonly after: ChangeRequestRef | undefined;
}

/** Only the change request that holds a lock may deploy the application. */
export interface Lock {
  readonly application: ApplicationName;
  readonly holder: ChangeRequestRef;
  /** Login of who triggered the plan. */
  readonly user: string;
  /** When the lock was acquired; a refresh does not change it. ISO 8601. */
  readonly timestamp: string;
  /** Head commit of the last successful plan; undefined until then. */
  readonly planRevision: Revision | undefined;
  /** The Application resource's file, if the change request modifies that resource. */
  readonly sourceFile: string | undefined;
}

/** Arguments of an acquire; without a plan revision the lock keeps its plan revision and source file. */
export type LockRequest = Omit<Lock, "timestamp">;

/** Result of an acquire. `fresh`: the lock was not ours before. */
export type LockAttempt =
  | { readonly kind: "acquired"; readonly lock: Lock; readonly fresh: boolean }
  | { readonly kind: "held"; readonly lock: Lock };
