import type { MergeMethod } from "../../config/settings.js";
import type { AccessCommand, AccessRule } from "../../config/sync-access.js";
import type { ApplicationName } from "./brand.js";
import type { ChangeRequestRef } from "./change-request.js";
import type { Lock } from "./lock.js";
import type { ApplicationPlan, NotDeployed, Plan } from "./plan.js";

/** What became of a command; `comments/` makes the answer of it. */
export type CommandResult =
  | { readonly kind: "planned"; readonly plan: Plan; readonly pruning: boolean }
  | SyncedResult
  | {
      readonly kind: "rolled-back";
      readonly dryRun: boolean;
      readonly applications: readonly ApplicationSync[];
    }
  | {
      readonly kind: "unlocked";
      readonly released: readonly ApplicationName[];
      /** Applications that were named and are not locked by this change request, with the lock if somebody has it. */
      readonly notHeld: readonly { readonly application: string; readonly lock: Lock | undefined }[];
    }
  | {
      readonly kind: "closed";
      readonly released: readonly ApplicationName[];
      readonly stillDeployed: readonly ApplicationName[];
    }
  | { readonly kind: "help" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export interface SyncedResult {
  readonly kind: "synced";
  readonly dryRun: boolean;
  readonly applications: readonly ApplicationSync[];
  /** New and deleted applications: Argo CD does it when the resource is applied or removed. */
  readonly announced: readonly ApplicationPlan[];
  /** Dropped by `skip_no_changes`. */
  readonly skipped: readonly ApplicationName[];
  /** Set when auto-merge applies and every condition holds. */
  readonly merge: MergeIntent | undefined;
  /** Why auto-merge, though switched on, does not apply; empty when it is off or does apply. */
  readonly notMerged: readonly NotDeployed[];
  /** Change requests whose deployed commit this sync replaced. */
  readonly replaced: readonly ChangeRequestRef[];
}

export interface MergeIntent {
  readonly method: MergeMethod;
  readonly deleteSourceBranch: boolean;
  readonly protectedBranches: readonly string[];
}

/** One object that Argo CD applied, or did not. */
export interface SyncedResource {
  readonly title: string;
  /** Argo CD's word: Synced, SyncFailed, Pruned, PruneSkipped; empty for hooks. */
  readonly status: string;
  readonly message: string;
}

/** What Argo CD made of one sync operation, as the port returns it. */
export type SyncOutcome =
  | {
      readonly kind: "succeeded";
      readonly message: string;
      readonly resources: readonly SyncedResource[];
      /** Objects left in the cluster because pruning was off. */
      readonly pruneSkipped: number;
      /** Argo CD's word for the health right after, for people only. */
      readonly health: string;
      /** What is not healthy yet, with Argo CD's word and reason for it; `status` is a health here. */
      readonly unhealthy: readonly SyncedResource[];
    }
  | { readonly kind: "failed"; readonly message: string; readonly resources: readonly SyncedResource[] }
  /** The time-out passed; the operation goes on. */
  | { readonly kind: "running"; readonly message: string }
  /** Another operation took the place of ours, or another revision was deployed: the outcome is not known. */
  | { readonly kind: "unknown"; readonly message: string };

/** What a sync or a rollback did to one application; `rejected` means that nothing was started. */
export type ApplicationSync = {
  readonly application: ApplicationName;
  readonly warnings: readonly string[];
} & (SyncOutcome | { readonly kind: "rejected"; readonly message: string });

/** Why nothing was run; each has its reply text in `comments/`. */
export type Refusal =
  | { readonly reason: "not-a-command" }
  | { readonly reason: "nothing-locked" }
  /** Named with `-a`, but not locked by this change request. */
  | { readonly reason: "not-locked"; readonly applications: readonly string[] }
  | {
      readonly reason: "not-approved";
      readonly applications: readonly ApplicationName[];
      readonly missing: string;
      readonly others: readonly ApplicationName[];
      readonly command?: NarrowedCommand;
    }
  | {
      readonly reason: "stale";
      readonly applications: readonly StaleApplication[];
      readonly others: readonly ApplicationName[];
    }
  | { readonly reason: "conflicts" }
  | { readonly reason: "mergeability-unknown" }
  | {
      readonly reason: "auto-sync";
      readonly applications: readonly ApplicationName[];
      readonly others: readonly ApplicationName[];
      readonly command?: NarrowedCommand;
    }
  /** Every other reason that belongs to single applications (no right to drive, owner, annotation, behind base). */
  | {
      readonly reason: "not-deployable";
      readonly applications: readonly NotDeployed[];
      readonly others: readonly ApplicationName[];
    }
  | { readonly reason: "unknown-applications"; readonly applications: readonly string[] }
  | { readonly reason: "locked-by-other"; readonly locks: readonly Lock[] }
  | { readonly reason: "head-moved" }
  /** The command is older than the plan of the head commit: webhooks came out of order. */
  | { readonly reason: "plan-unseen" }
  | { readonly reason: "store-unavailable" }
  | { readonly reason: "closed"; readonly state: "closed" | "merged" }
  | { readonly reason: "fork" }
  | { readonly reason: "no-write-access"; readonly login: string }
  /** The lists of `sync_requirements` keep this person from the command for these applications. */
  | {
      readonly reason: "not-allowed";
      readonly command: AccessCommand;
      readonly login: string;
      readonly applications: readonly BarredApplication[];
      readonly others: readonly ApplicationName[];
    }
  | { readonly reason: "repository-file"; readonly problems: readonly string[] }
  | { readonly reason: "superseded"; readonly by: "pushed" | "closed" }
  /** Something outside is broken; the message is safe and untrusted. */
  | { readonly reason: "failure"; readonly message: string };

/** The command that may be given again for the `others` of a refusal; a sync when absent. */
export type NarrowedCommand = AccessCommand;

/** An application that a person may not command. */
export interface BarredApplication {
  readonly application: ApplicationName;
  /** Who may. */
  readonly allowed: AccessRule;
  /** Why the host could not say whether the person is in one of the teams; safe and untrusted. */
  readonly problem: string | undefined;
}

/** A stale application; `planFailure` is the reason when the newest plan could not evaluate it. */
export interface StaleApplication {
  readonly application: ApplicationName;
  readonly planFailure: string | undefined;
}
