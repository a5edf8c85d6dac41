import type { ApplicationName, Revision } from "./brand.js";
import type { HoldOf } from "./hold.js";
import type { Lock } from "./lock.js";
import type { AccessRule } from "./settings.js";

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
  /** Kubernetes refuses what a sync would apply: fix that, or go on knowing that the sync fails. */
  | { readonly kind: "mend"; readonly applications: Names; readonly then: Afterwards }
  /** Only another commit helps. `command` is set if svc can make it. */
  | {
      readonly kind: "push";
      readonly because: WhyPush;
      readonly applications: Names;
      readonly baseBranch: string;
      readonly command?: "update";
    }
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
  /** An administrator, or somebody who may deploy it, keeps these applications from being deployed for a time. */
  | { readonly kind: "held"; readonly holds: readonly HoldOf[] }
  /** A later stage is left: `at` is when it begins, if it only has to wait, and `by` who has asked svc to deploy it then. */
  | {
      readonly kind: "stage";
      readonly stage: string;
      readonly at?: string;
      readonly by?: string;
      /** What the sync has to name, since without `-a` it would deploy an earlier stage again. */
      readonly only?: Names;
      /** The commit that needs an approval as well. */
      readonly unapproved?: Revision;
      /** A clause about the application that waits; untrusted. */
      readonly because?: string | undefined;
    }
  /** A fact could not be read: a sentence without a full stop, untrusted. */
  | { readonly kind: "later"; readonly because: string }
  /** What was just undone can be done again, or left. */
  | { readonly kind: "undone"; readonly by: "rollback" | "unlock"; readonly again: AdvisedCommand }
  /** Nothing can be done here. */
  | { readonly kind: "none"; readonly because: "merged" | "closed" | "fork" | "queued" };

/** A command that would not be refused now. */
export interface AdvisedCommand {
  readonly kind: "command";
  readonly command: "plan" | "sync" | "rollback";
  /** Named with `-a`; empty if the command is given without it. */
  readonly applications: Names;
  /** Who may give it: each of these rules must allow the person. */
  readonly by: readonly AccessRule[];
  /** What a sync does that cannot be taken back, in a few words each; untrusted. */
  readonly knowing?: readonly string[] | undefined;
  /** Objects that this change request removes, if a sync meets any. `pruning`: a sync deletes them without `--prune`. */
  readonly removes?: { readonly count: number; readonly pruning: boolean } | undefined;
  /**
   * Only of a sync that an approval of the head starts as well, under the rules for that. `given`: there is one, so that another
   * may not start it.
   */
  readonly onApproval?: "awaited" | "given" | undefined;
  /** What keeps the others from being deployed for a time. */
  readonly held?: readonly HoldOf[] | undefined;
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
  /** False if the host was not asked whether there is one. */
  readonly known: boolean;
  readonly commit: Revision;
  /** Login of the author, whose approval does not count. */
  readonly author: string | undefined;
  readonly then: AfterApproval;
}

/** `replan`: svc plans again by itself. */
export type AfterApproval = AdvisedCommand | AdvisedMerge | { readonly kind: "replan" };

/** What is left to do once Kubernetes would accept everything. */
type Afterwards = AdvisedCommand | NeededApproval | Extract<NextStep, { readonly kind: "retry" }>;

export type WhyPush =
  | "conflicts"
  | "behind"
  | "uncovered"
  | "unevaluated"
  | "missed"
  | "project"
  | "unread"
  | "unseen"
  | "rules-broken";

export type Names = readonly ApplicationName[];
