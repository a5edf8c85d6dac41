import type { AccessRule } from "../../config/requirements.js";
import type { Settings } from "../../config/settings.js";
import type { ApplicationName, Revision } from "../model/brand.js";
import type { Approval, ChangeRequest } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";
import type { Lock } from "../model/lock.js";
import type { Plan } from "../model/plan.js";
import type { MergeChecks } from "./merge-checks.js";

/** Where a change request stands: everything that decides its next step, read for one answer. */
export interface Standing {
  readonly change: ChangeRequest;
  readonly settings: Settings;
  /** Nothing is planned or deployed while the repository's file has problems. */
  readonly broken: boolean;
  /** Its newest stored plan, of whichever head. */
  readonly plan: Plan | undefined;
  /** Every lock that it holds, and those that others hold of what it planned or deployed. */
  readonly locks: readonly Lock[];
  /** Its records "deployed, not merged". */
  readonly records: readonly Deployment[];
  /** Those of other change requests for the same applications. */
  readonly foreign: readonly Deployment[];
  /** Undefined if it was not read: what needs an approval then waits for one. */
  readonly approval: Approval | undefined;
  /** What the approval lacks because the repository's rules change, as a clause about the change request. */
  readonly missingForRules: string | undefined;
  readonly mergeChecks: MergeChecks;
  /** svc merges it right after this answer. */
  readonly merging: boolean;
}

/** Who has to do what next with a change request, so that it gets ahead. */
export type NextStep =
  | AdvisedCommand
  | AdvisedMerge
  | { readonly kind: "merging"; readonly into: string }
  | NeededApproval
  /** Only some approvals count, because the change request changes the rules: a clause about it. */
  | { readonly kind: "approve-rules"; readonly missing: string }
  /** An earlier sync failed: something else has to change first, or the target branch is deployed again. */
  | {
      readonly kind: "retry";
      readonly after: "failed" | "unclear";
      readonly applications: Names;
      readonly then: AdvisedCommand;
    }
  /** Nothing but another commit helps. */
  | { readonly kind: "push"; readonly because: WhyPush; readonly applications: Names; readonly baseBranch: string }
  /** Required checks failed, and another commit has to pass them. */
  | {
      readonly kind: "checks";
      readonly checks: readonly string[];
      readonly applications: Names;
      /** What follows once they pass. */
      readonly then: "sync" | "merge";
      /** Teams of which a member may lift each of them by an approval; empty if nobody may lift all of them. */
      readonly overridableBy: readonly string[];
      readonly commit: Revision;
    }
  /** Others hold the locks. */
  | { readonly kind: "wait"; readonly locks: readonly Lock[] }
  /** Nothing can be done here. */
  | { readonly kind: "none"; readonly because: "merged" | "closed" | "fork" };

/** A command that would not be refused now. */
export interface AdvisedCommand {
  readonly kind: "command";
  readonly command: "plan" | "sync" | "rollback";
  /** Named with `-a`; empty if the command is given without it. */
  readonly applications: Names;
  /** Who may give it: each of these rules must allow the person. */
  readonly by: readonly AccessRule[];
}

/** A merge on the code host. It deploys what svc does not, so the same rules say by whom. */
export interface AdvisedMerge {
  readonly kind: "merge";
  readonly draft: boolean;
  readonly by: readonly AccessRule[];
}

/** The head needs an approval by somebody independent first. */
export interface NeededApproval {
  readonly kind: "approve";
  /** False if nobody asked the host whether there is one. */
  readonly known: boolean;
  readonly commit: Revision;
  /** Login of the author, whose approval does not count. */
  readonly author: string | undefined;
  readonly then: AfterApproval;
}

/** `replan`: svc plans again by itself. */
export type AfterApproval = AdvisedCommand | AdvisedMerge | { readonly kind: "replan" };

export type WhyPush = "conflicts" | "behind" | "uncovered" | "unevaluated" | "unread" | "rules-broken";

export type Names = readonly ApplicationName[];
