import type { ApplicationName, Revision } from "./brand.js";
import type { ChangeRequestRef } from "./change-request.js";
import type { OverriddenOf } from "./check.js";
import type { OverdueChange } from "./deployment.js";
import type { ApplicationSync } from "./result.js";

/** A message for receivers outside: facts only, no secrets and no foreign messages. */
export type Notification = {
  /** Equal for repeated messages, such as those of two attempts of one run: a receiver gets only one of them. */
  readonly id: string;
  /** When it happened. ISO 8601. */
  readonly at: string;
} & (RunEnded | LocksReleased | Merged | RolledOut | NotMerged | SystemChanged | TokenExpires);

/** A sync or a rollback came to its end. */
export interface RunEnded {
  readonly kind: "run-ended";
  readonly command: "sync" | "rollback";
  readonly change: ChangeRequestRef;
  /** Undefined if it ended before that was known. */
  readonly head: Revision | undefined;
  /** The login of the person who gave the command. */
  readonly by: string;
  /** Empty if something broke before any application was looked at. */
  readonly applications: readonly {
    readonly application: ApplicationName;
    readonly outcome: ApplicationSync["kind"];
    /** It did not get healthy, and svc has rolled it back by itself. */
    readonly rolledBack: boolean;
  }[];
  /** Failed checks that an approval lifted. */
  readonly overridden: readonly OverriddenOf[];
  /** Locks that it took from change requests that had only planned. */
  readonly takenOver: readonly { readonly application: ApplicationName; readonly from: ChangeRequestRef }[];
}

/** An administrator released locks of a change request. */
interface LocksReleased {
  readonly kind: "locks-released";
  readonly change: ChangeRequestRef;
  readonly by: string;
  readonly applications: readonly ApplicationName[];
}

/** A change request was merged that had locked or deployed something. */
interface Merged {
  readonly kind: "merged";
  readonly change: ChangeRequestRef;
  readonly head: Revision | undefined;
  readonly applications: readonly ApplicationName[];
}

/** What takes effect at a merge was followed to its end. */
export interface RolledOut {
  readonly kind: "rolled-out";
  readonly change: ChangeRequestRef;
  /** The commit of the base branch. */
  readonly head: Revision;
  /** It was merged without the approval that its rules require. */
  readonly unapproved: boolean;
  readonly applications: readonly {
    readonly application: ApplicationName;
    /** `waiting`: nothing syncs it by itself. */
    readonly end: "succeeded" | "failed" | "waiting";
  }[];
}

/** Commits of a change request have been in the cluster for a day or more, and its branch is not merged. */
interface NotMerged extends Omit<OverdueChange, "user"> {
  readonly kind: "not-merged";
  /** Closed without a merge, or still open. */
  readonly closed: boolean;
  readonly by: string;
}

/** A system that svc needs went away, or came back. */
interface SystemChanged {
  readonly kind: "system";
  /** As people call it. */
  readonly system: string;
  readonly available: boolean;
  /** Since when it was away. ISO 8601. */
  readonly since: string;
}

/** A token of svc expires soon. */
interface TokenExpires {
  readonly kind: "token-expires";
  /** The system that gave it, as people call it. */
  readonly system: string;
  /** ISO 8601. */
  readonly expires: string;
  /** Whole days that are left. */
  readonly days: number;
}
