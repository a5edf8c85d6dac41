import type { ApplicationName, Revision } from "./brand.js";
import type { ChangeRequestRef } from "./change-request.js";
import type { OverriddenCheck, OverriddenOf } from "./check.js";
import type { Command, CommandName } from "./command.js";
import type { Hold } from "./hold.js";
import type { Message, Sign } from "./host-words.js";
import type { Lock } from "./lock.js";
import type { NextStep } from "./next-step.js";
import type { ApplicationPlan, NotDeployed, Plan, UnreadFile } from "./plan/plan.js";
import type { AccessCommand, AccessRule, Settings } from "./settings.js";

/** The question that a plan is shown with. */
export interface Asking {
  /** Waits for the answers at most this long, and adds them to the plan. @throws the reason why the command is stopped. */
  readonly answers: (withinMs: number) => Promise<Plan>;
}

/** The result of a command. Each layer has a table with a row for every kind. */
interface CommandResults {
  readonly planned: {
    readonly plan: Plan;
    readonly pruning: boolean;
    /** Set if the plan is shown before Kubernetes has answered. */
    readonly asking?: Asking | undefined;
  };
  readonly synced: {
    readonly dryRun: boolean;
    readonly applications: readonly ApplicationSync[];
    /** New and deleted applications, which Argo CD handles when the resource is applied or removed. */
    readonly announced: readonly ApplicationPlan[];
    /** Skipped by `skip_no_changes`. */
    readonly skipped: readonly ApplicationName[];
    /** Set if auto-merge is on and every condition holds. */
    readonly merge: MergeIntent | undefined;
    /** Why auto-merge is on and does not apply; otherwise empty. */
    readonly notMerged: readonly Hindrance[];
    /** Change requests whose deployment this sync replaced. */
    readonly replaced: readonly ChangeRequestRef[];
  };
  readonly "rolled-back": {
    readonly dryRun: boolean;
    readonly applications: readonly ApplicationSync[];
    /** Locks that plans of other change requests held. */
    readonly takenOver: readonly Lock[];
    /** What this change request holds and never deployed, which a rollback without `-a` leaves as it is. */
    readonly kept?: readonly ApplicationName[] | undefined;
  };
  readonly unlocked: {
    readonly released: readonly ApplicationName[];
    /** Named applications that this change request has not locked, with the lock of another holder if there is one. */
    readonly notHeld: readonly { readonly application: string; readonly lock: Lock | undefined }[];
    /** Applications for whose lock it waited, and does not any more. */
    readonly left: readonly ApplicationName[];
    /** Who has waited longest for the released ones, and is planned now. */
    readonly next: readonly { readonly application: ApplicationName; readonly change: ChangeRequestRef }[];
  };
  readonly updated: {
    /** Undefined if the base branch had no commits that the head lacks. */
    readonly done:
      | {
          readonly head: Revision;
          /** The host wrote the commits of the branch anew. */
          readonly rewritten: boolean;
        }
      | undefined;
  };
  readonly reverted: {
    readonly revert: ChangeRequestRef;
    /** It was open already. */
    readonly known: boolean;
  };
  readonly held: { readonly hold: Hold };
  readonly released: { readonly holds: readonly Hold[] };
  readonly closed: {
    readonly released: readonly ApplicationName[];
    readonly stillDeployed: readonly ApplicationName[];
  };
  readonly help: object;
  /** `next`: what has to happen before the command can be given again, or instead of it. */
  readonly refused: { readonly refusal: Refusal; readonly next?: NextStep | undefined };
}

export type ResultKind = keyof CommandResults;

/** One kind of result. A table with a row for each `ResultKind` is asked with `TABLE[result.kind]`. */
export type CommandResultOf<K extends ResultKind> = { [P in K]: { readonly kind: P } & CommandResults[P] }[K];

/** What a command returned. `comments/` renders it. */
export type CommandResult = CommandResultOf<ResultKind>;

export type SyncedResult = CommandResultOf<"synced">;

export interface MergeIntent {
  readonly method: Settings["mergeMethod"];
  readonly deleteSourceBranch: boolean;
  readonly protectedBranches: readonly string[];
  /** Failed checks of what the merge deploys, which an approval lifts; undefined if there are none. */
  readonly overridden?: readonly OverriddenOf[] | undefined;
}

/** One object of a sync operation. */
export interface SyncedResource {
  readonly title: string;
  /** As Argo CD reports it: Synced, SyncFailed, Pruned, PruneSkipped; of hooks, and of what failed once it was applied, the phase. */
  readonly status: string;
  readonly message: string;
}

/** How one sync operation ended. */
export type SyncOutcome =
  | {
      readonly kind: "succeeded";
      readonly message: string;
      readonly resources: readonly SyncedResource[];
      /** What Argo CD deployed of each source: commits, or versions of charts. Untrusted; empty if it is not known any more. */
      readonly revisions: readonly string[];
      /** The number of objects left in the cluster. */
      readonly pruneSkipped: number;
      /** Pruning was on: what is left all the same has `Prune=false`, and no sync deletes it. */
      readonly pruned?: true;
      /** Set if the application no longer exists, because the rollback of its parent deleted it. */
      readonly deleted?: true;
      /** The health right after, as Argo CD reports it; for people only. */
      readonly health: string;
      /** Objects that are not healthy yet; `status` is their health. */
      readonly unhealthy: readonly SyncedResource[];
    }
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly resources: readonly SyncedResource[];
      /** Set if the operation succeeded and the application did not get healthy; `resources` are then its unhealthy objects. */
      readonly notHealthy?: NotHealthy | undefined;
    }
  /** The time-out passed while the operation runs on. */
  | { readonly kind: "running"; readonly message: string }
  /** Another operation replaced ours, or another revision was deployed. */
  | { readonly kind: "unknown"; readonly message: string };

/** What became of an application that had to get healthy after its sync and did not. */
export interface NotHealthy {
  /** As Argo CD reports it. */
  readonly health: string;
  /** Set if svc was to roll it back by itself. */
  readonly rollback?: AutomaticRollback | undefined;
}

/** A rollback that nobody asked for. `skipped`: it was not tried, for this reason. Messages are untrusted. */
export interface AutomaticRollback {
  readonly kind: "succeeded" | "failed" | "skipped" | "unknown";
  readonly message: string;
}

/** Why an application keeps svc from merging. */
export interface Hindrance {
  readonly application: ApplicationName;
  readonly reason: Message;
}

/** What a sync or rollback did to one application. `rejected`: nothing was started. */
export type ApplicationSync = {
  readonly application: ApplicationName;
  readonly warnings: readonly Message[];
  /** Failed checks that did not keep it from being deployed. */
  readonly overridden?: readonly OverriddenCheck[] | undefined;
} & (SyncOutcome | { readonly kind: "rejected"; readonly message: string });

/** Whether svc took the application back by itself. */
export function wasRolledBack(sync: ApplicationSync): boolean {
  return sync.kind === "failed" && sync.notHealthy?.rollback?.kind === "succeeded";
}

/** An option that the command does not have, as it was written. */
export interface UnknownOption {
  readonly command: CommandName;
  readonly option: string;
}

/** Why a command was not run. `comments/` has a text for each. */
export type Refusal =
  | {
      readonly reason: "not-a-command";
      /** What was most likely meant. */
      readonly suggestion?: Command;
      /** A trailing word without `-a` that does not name an application of the change request. */
      readonly unknownWord?: string;
      readonly unknownOption?: UnknownOption | undefined;
      /** What stood before the command word. */
      readonly sign?: Sign | undefined;
    }
  | { readonly reason: "nothing-locked" }
  /** Named with `-a` and not locked by this change request, which holds others, or has deployed them. */
  | {
      readonly reason: "not-locked";
      readonly applications: readonly string[];
      readonly held: readonly string[];
      /** What it has deployed and no lock of: a rollback acts on that as well. */
      readonly deployed?: readonly string[];
      readonly suggestion?: Command | undefined;
    }
  | {
      readonly reason: "not-approved";
      readonly applications: readonly ApplicationName[];
      /** What else than their own rules requires it. */
      readonly needs?: readonly MemberNeed[];
      readonly missing: string;
      readonly others: readonly ApplicationName[];
    }
  | {
      readonly reason: "stale";
      readonly applications: readonly StaleApplication[];
      readonly others: readonly ApplicationName[];
    }
  /** Changed files that may contain an Application could not be read, so a sync or merge may do more than is known. */
  | { readonly reason: "unread-files"; readonly files: readonly UnreadFile[] }
  | { readonly reason: "conflicts" }
  | { readonly reason: "mergeability-unknown" }
  | {
      readonly reason: "auto-sync";
      readonly applications: readonly ApplicationName[];
      /** The applications among them that an ApplicationSet syncs in steps. */
      readonly inSteps?: readonly { readonly application: ApplicationName; readonly set: string }[] | undefined;
      readonly others: readonly ApplicationName[];
    }
  /** Any other reason of single applications, such as an owner that reverts changes. */
  | {
      readonly reason: "not-deployable";
      readonly applications: readonly RefusedApplication[];
      readonly others: readonly ApplicationName[];
    }
  | {
      readonly reason: "unknown-applications";
      readonly applications: readonly string[];
      readonly suggestion?: Command | undefined;
    }
  /** Patterns and labels that match none of the `applications` that the command could act on. */
  | { readonly reason: "no-match"; readonly patterns: readonly string[]; readonly applications: readonly string[] }
  | {
      readonly reason: "locked-by-other";
      readonly locks: readonly Lock[];
      /** Children among them, with the parents with which the command would write or delete their definition. */
      readonly written?: readonly {
        readonly child: ApplicationName;
        readonly parent: ApplicationName;
        readonly deletes?: true;
      }[];
    }
  /** Facts that a gate needs could not be read: clauses such as "whether the head is approved: …"; safe to show, untrusted. */
  | { readonly reason: "cannot-tell"; readonly doubts: readonly string[] }
  /** `base`: the branch that it goes into by now, if that changed. Untrusted. */
  | { readonly reason: "head-moved"; readonly base?: string | undefined }
  /** The command is older than the plan of the head commit, because webhooks arrived out of order. */
  | { readonly reason: "plan-unseen" }
  | { readonly reason: "store-unavailable" }
  /** Its webhook was lost, and by now it may no longer be wanted, or may have been run. */
  | { readonly reason: "found-late"; readonly command: CommandName }
  | { readonly reason: "closed"; readonly state: "closed" | "merged" }
  | { readonly reason: "fork" }
  /** `because`: a clause or a sentence, untrusted. */
  | {
      readonly reason: "not-done";
      readonly command: "update" | "revert" | "hold" | "release";
      readonly because: string;
      /** Files in which git finds a conflict: `because` ends with them. Untrusted. */
      readonly files?: readonly string[] | undefined;
    }
  | { readonly reason: "no-write-access"; readonly login: string }
  /** The lists of `sync_requirements` do not allow this person the command for these applications. */
  | {
      readonly reason: "not-allowed";
      readonly command: AccessCommand;
      readonly login: string;
      readonly applications: readonly BarredApplication[];
      readonly others: readonly ApplicationName[];
    }
  | { readonly reason: "repository-file"; readonly problems: readonly string[] }
  | { readonly reason: "superseded"; readonly by: "pushed" | "closed" }
  /** Something outside failed. The message is safe to show and untrusted. */
  | { readonly reason: "failure"; readonly message: string };

interface RefusedApplication extends NotDeployed {
  /** The reason for the audit trail, which people without access to the repository read too: without files and titles of commits. */
  readonly recorded?: string | undefined;
  /** What a program printed about its manifests; untrusted, and only for those who see the diffs. */
  readonly printed?: string | undefined;
}

/** Something that a deployment reaches and that needs an approval. */
export interface MemberNeed {
  /** What is deployed. */
  readonly application: ApplicationName;
  readonly member: ApplicationName;
  /** Completes "… requires approval: "; untrusted, empty for a plain rule. */
  readonly because: string;
}

/** An application that a person may not command. */
export interface BarredApplication {
  readonly application: ApplicationName;
  /** The application whose deployment reaches it; undefined if that is itself. */
  readonly through?: ApplicationName | undefined;
  /** Who may: each of these rules must allow the person. */
  readonly allowed: readonly AccessRule[];
  /** Whose rules hold besides its own, and why; a clause, untrusted. Undefined if its own are as strict. */
  readonly because?: string | undefined;
  /** Why the host could not check the teams; safe to show and untrusted. */
  readonly problem: string | undefined;
}

/**
 * `planFailure` is the reason if the newest plan could not evaluate the application; `moved` says what moved since that plan.
 */
interface StaleApplication {
  readonly application: ApplicationName;
  readonly planFailure: string | undefined;
  /** What a sync would deploy that was not planned; safe to show and untrusted. */
  readonly differs?: string | undefined;
  /** What moved since the plan; untrusted. */
  readonly moved?: string | undefined;
}
