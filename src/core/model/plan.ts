import type { ApplicationName, Revision } from "./brand.js";
import type { ChangeRequestRef } from "./change-request.js";
import type { Lock } from "./lock.js";

/** One Kubernetes object that a sync would create, update or delete. */
export interface ResourceChange {
  readonly action: "create" | "update" | "delete";
  /** `apps/Deployment guestbook/web`: group, kind, namespace and name for people. */
  readonly title: string;
  readonly kind: string;
  /** Unified hunks over YAML without a file header; values of Secrets are never in it. */
  readonly diff: string;
  readonly hook: boolean;
}

/** The difference of two renders, or of the cluster and what a sync makes of it. Hooks are in `resources` but not in the counts. */
export interface ManifestDiff {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  readonly hooksChanged: number;
  readonly resources: readonly ResourceChange[];
  /** A Secret is rendered whose values Argo CD hides: an empty diff proves nothing where inputs changed. */
  readonly hiddenSecrets: boolean;
  /** Sentences about what is dangerous, the most dangerous first; they carry names from outside. */
  readonly cautions: readonly string[];
  /** Applications among the manifests (app of apps). */
  readonly children: NameChanges;
  /** ApplicationSets among the manifests. */
  readonly sets: NameChanges;
  readonly basis: DiffBasis;
}

/** Names of objects by what becomes of them. */
export interface NameChanges {
  readonly created: readonly string[];
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
}

/** What the head was compared with. */
export type DiffBasis =
  /** The render of the target branch. */
  | { readonly kind: "branch" }
  /** The live cluster; the lists name objects as `ResourceChange.title` does. */
  | {
      readonly kind: "live";
      /** Why the comparison may be wrong in details: sentences for people. */
      readonly approximate: readonly string[];
      /** What already differs from the target branch in the cluster, whatever this change request does. */
      readonly drifted: readonly string[];
      /** What the change request changes and the cluster has already, so that it is in no hunk. */
      readonly alreadyThere: readonly string[];
    }
  /** The cluster was asked for and could not be read, so it is the target branch; the reason is untrusted text. */
  | { readonly kind: "live-failed"; readonly reason: string };

/** Whether the application is locked by this change request. */
export type PlanLock =
  | { readonly kind: "ours" }
  | { readonly kind: "held"; readonly by: Lock }
  /** Auto-synced and proven unchanged, or not deployed from here: not locked, so that it does not stand in anybody's way. */
  | { readonly kind: "not-needed" };

/** What the plan says of one application. */
export type ApplicationPlan = ApplicationPlanBase & (Evaluated | Unevaluated | Announced | Unplanned);

interface ApplicationPlanBase {
  readonly application: ApplicationName;
  readonly lock: PlanLock;
  /** Path of the Application resource's file if the change request modified it. */
  readonly sourceFile: string | undefined;
  /** Why svc will not deploy it although it was planned; it takes effect at the merge and hinders nothing. */
  readonly atMerge: string | undefined;
  /** Sentences for people: deployed from another change request, owner shows OutOfSync, and the like. */
  readonly warnings: readonly string[];
}

/**
 * Both sides were rendered. `verdict` is `unknown` where hidden Secret values may have changed, and where the renders
 * differ although the cluster already has what the head asks for.
 */
export interface Evaluated {
  readonly kind: "evaluated";
  readonly verdict: "changed" | "unchanged" | "unknown";
  /** A sync writes the definition as well, so it has an effect even where both sides render the same. */
  readonly writesDefinition: boolean;
  readonly diff: ManifestDiff;
}

/** Could not be evaluated; the reason is untrusted text for a fence. */
export interface Unevaluated {
  readonly kind: "unevaluated";
  readonly reason: string;
}

/** Comes or goes with its Application resource: locked and shown, never synced. */
export interface Announced {
  readonly kind: "new" | "deleted";
}

/** Affected, but left out by `-a`. */
export interface Unplanned {
  readonly kind: "unplanned";
}

/** An application that the change request touches and svc does not deploy, with the reason and the cure. */
export interface NotDeployed {
  readonly application: ApplicationName;
  readonly reason: string;
}

/** What a changed ApplicationSet would add, remove and change. */
export interface ApplicationSetPreview {
  readonly name: string;
  /** Undefined where its resource is in no file of the repository. */
  readonly sourceFile: string | undefined;
  readonly added: readonly ApplicationName[];
  readonly removed: readonly ApplicationName[];
  readonly changed: readonly ApplicationName[];
  /** Sentences for people: what becomes of removed applications, where the preview is not exact. */
  readonly notes: readonly string[];
  /** Why it could not be previewed; untrusted text. */
  readonly problem: string | undefined;
  /** The applications that it owns now, where it could not be previewed and they could be told. */
  readonly owned: readonly ApplicationName[];
}

/** The last plan of a change request, kept in the store for 30 days. */
export interface Plan {
  readonly change: ChangeRequestRef;
  readonly head: Revision;
  /** ISO 8601. */
  readonly plannedAt: string;
  readonly applications: readonly ApplicationPlan[];
  readonly applicationSets: readonly ApplicationSetPreview[];
  readonly notDeployed: readonly NotDeployed[];
  /** Applications whose locks this plan released because the change request no longer affects them. */
  readonly released: readonly ApplicationName[];
  /** Sentences about the whole plan: files that could not be parsed, and the like. */
  readonly notes: readonly string[];
}

/** How long a stored plan lives, in milliseconds: 30 days. */
export const PLAN_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;
