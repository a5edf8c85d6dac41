import type { ApplicationName, Revision } from "./brand.js";
import type { ChangeRequestRef } from "./change-request.js";

/** How long a lock lives after its last refresh, in milliseconds: 7 days. */
export const LOCK_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;

/** Only the change request that holds a lock may deploy the application. */
export interface Lock {
  readonly application: ApplicationName;
  readonly holder: ChangeRequestRef;
  /** Login of who triggered the plan. */
  readonly user: string;
  /** When the lock was acquired first; a refresh does not change it. ISO 8601. */
  readonly timestamp: string;
  /** Head commit at the last plan that succeeded; undefined until the application was planned. */
  readonly planRevision: Revision | undefined;
  /** Path of the Application resource's file, only if the change request modified that resource. */
  readonly sourceFile: string | undefined;
}

/**
 * What an acquire asks for. Without a plan revision the lock keeps the one that it has, and its source file; a new plan
 * revision says anew whether there is a source file.
 */
export type LockRequest = Omit<Lock, "timestamp">;

/** The answer to an acquire: ours (`fresh` when it was free before) or somebody else's. */
export type LockAttempt =
  | { readonly kind: "acquired"; readonly lock: Lock; readonly fresh: boolean }
  | { readonly kind: "held"; readonly lock: Lock };
