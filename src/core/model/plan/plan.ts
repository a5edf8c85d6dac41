import type { GivenDefinition } from "../application.js";
import type { ApplicationName, Revision } from "../brand.js";
import type { ChangeRequest, ChangeRequestRef } from "../change-request.js";
import type { CheckResult } from "../check.js";
import { type Effect, type Member, NO_EFFECT } from "../effect.js";
import type { Message } from "../host-words.js";
import type { Lock, Turn } from "../lock.js";
import type { DefinedIn } from "../settings.js";
import type { NextStage, PlannedStage } from "../stage.js";
import type { PlannedSource } from "../subject.js";
import { type ClusterCheck, endAsking } from "./cluster-check.js";
import type { ManifestDiff } from "./manifest-diff.js";

/** Whether the application is locked by this change request. */
export type PlanLock =
  | { readonly kind: "ours" }
  /** `place`: in the queue for it, counted from 1; undefined if the change request does not wait. */
  | { readonly kind: "held"; readonly by: Lock; readonly place?: number | undefined }
  /** Its lock was released since it was planned. */
  | { readonly kind: "free" }
  /** Auto-synced and proven unchanged, or not deployed from here: left unlocked for others. */
  | { readonly kind: "not-needed" };

export type ApplicationPlan = ApplicationPlanBase &
  (Evaluated | Unevaluated | Announced | { readonly kind: "unplanned" });

interface ApplicationPlanBase {
  readonly application: ApplicationName;
  readonly lock: PlanLock;
  /** The Application resource's file, if the change request modifies it. */
  readonly sourceFile: string | undefined;
  /** Why svc will not deploy it although it was planned: it takes effect at the merge. */
  readonly atMerge: string | undefined;
  /** Argo CD deploys it at the merge, since auto-sync is on in its live definition. */
  readonly autoSynced?: true;
  /** What deploying it would change, or what the merge does to it; empty if `-a` left it out. */
  readonly effect: Effect;
  readonly warnings: readonly Message[];
  /** What a sync may be refused for although it was planned. */
  readonly gaps?: PlanGaps | undefined;
  /** Deployments of other change requests that run, and that a sync replaces. */
  readonly replaces?: readonly ReplacedDeployment[] | undefined;
  /** The definition that it was planned with, where the head of a parent gives it another one than it has. Never shown. */
  readonly definedBy?: GivenDefinition | undefined;
  readonly missedAt?: MissedAt;
}

/** When a plan first showed that this could not be evaluated, by the host's clock, like `CheckResult.knownAt`. */
type MissedAt = string | undefined;

/** A commit of another change request that runs. */
export interface ReplacedDeployment {
  readonly change: ChangeRequestRef;
  readonly revision: Revision;
  /** What it changed, as `ResourceChange.title` names them; empty if that is not known. Untrusted. */
  readonly objects: readonly string[];
}

/** Problems with what an application is deployed from; the warnings of the plan say which. */
interface PlanGaps {
  /** The base branch changed it since the head branched off. */
  readonly behind: boolean;
  /** Argo CD would ignore the change, and report a success that applied nothing. */
  readonly uncovered: boolean;
}

/**
 * Both sides were rendered. `verdict` is `unknown` if hidden Secret values may have changed, or if the renders differ but
 * the cluster already has the head's objects.
 */
export interface Evaluated {
  readonly kind: "evaluated";
  readonly verdict: "changed" | "unchanged" | "unknown";
  /** A sync also writes the definition, so it has an effect even if both sides render the same. */
  readonly writesDefinition: boolean;
  /** How the change request changes the definition, as hunks of YAML; undefined if it does not. */
  readonly definition?: string | undefined;
  /** What the head was read from. */
  readonly sources: readonly PlannedSource[];
  readonly diff: ManifestDiff;
  /** Undefined if there is nothing to ask Kubernetes about. */
  readonly cluster?: ClusterCheck | undefined;
  /** How the server's checks of what the head renders ended; undefined if there are none for it. */
  readonly checks?: readonly CheckResult[] | undefined;
  /** What it reads that may change without a commit, and what that made of the head; undefined if there is nothing. */
  readonly unpinned?: Unpinned | undefined;
}

/** Inputs whose content no commit, digest or path in the tree decides. */
export interface Unpinned {
  /** The inputs, for people; untrusted. */
  readonly reads: readonly string[];
  readonly rendered: RenderDigest;
  /** The head was approved before any plan showed this. */
  readonly unseen: boolean;
}

/** Tells renders apart without their content. */
export interface RenderDigest {
  readonly whole: string;
  /** As `ResourceChange.title`; the first thousand. */
  readonly objects: readonly { readonly title: string; readonly digest: string }[];
}

/** The reason is untrusted and belongs in a fence. */
export interface Unevaluated {
  readonly kind: "unevaluated";
  readonly reason: string;
  /** It is not rendered before the head is approved. */
  readonly withheld?: boolean | undefined;
  /** How its definition changes, as `Evaluated.definition`. */
  readonly definition?: string | undefined;
  /** Checks that could not be run although the merge deploys it; undefined if there are none. */
  readonly checks?: readonly CheckResult[] | undefined;
}

/** Created or deleted with its Application resource: locked and shown, never synced. */
interface Announced {
  readonly kind: "new" | "deleted";
  /** What becomes of its objects; undefined if Argo CD does not have the application that is deleted. */
  readonly preview?: PreviewContent | undefined;
}

/** An application that the change request affects and svc does not deploy, with the reason and the cure. */
export interface NotDeployed {
  readonly application: ApplicationName;
  readonly reason: string;
  /** Other repositories that define it, where the merge makes it take effect. */
  readonly definedIn?: readonly DefinedIn[] | undefined;
}

/** The applications that a changed ApplicationSet would add, remove and change. */
export interface ApplicationSetPreview {
  readonly name: string;
  /** Undefined if its resource is not in the repository. */
  readonly sourceFile: string | undefined;
  readonly added: readonly ApplicationName[];
  readonly removed: readonly ApplicationName[];
  /** Its policy does not delete those. */
  readonly keepsRemoved?: boolean | undefined;
  readonly changed: readonly ApplicationName[];
  /** Its policy leaves those as they are. */
  readonly keepsChanged?: boolean | undefined;
  /** The applications that it would add, remove or change. */
  readonly members: readonly Member[];
  /** Sentences for people: what happens to removed applications, and where the preview is inexact. */
  readonly notes: readonly string[];
  /** Why it could not be previewed; untrusted. */
  readonly problem: string | undefined;
  /** Why its controller would fail, and what that leaves; untrusted. */
  readonly failure?: SetFailure | undefined;
  /** It is not previewed before the head is approved. */
  readonly withheld?: boolean | undefined;
  /** The parent whose sync applies it, so that it takes effect before the merge. */
  readonly appliedBy?: ApplicationName | undefined;
  /** The applications that it owns now, if it could not be previewed; empty if they are unknown. */
  readonly owned: readonly ApplicationName[];
  readonly missedAt?: MissedAt;
}

/** Shown as "The set will fail: <why>; <then>". */
export interface SetFailure {
  readonly why: string;
  readonly then: string;
}

/** A changed file that was not read and may hide an Application. */
export interface UnreadFile {
  readonly file: string;
  /** Completes "it could not be read: …". */
  readonly reason: string;
}

/** The last plan of a change request, kept in the store for 30 days. */
export interface Plan {
  readonly change: ChangeRequestRef;
  readonly head: Revision;
  /** The branch that the plan compared with, which decides about rules and rights. */
  readonly baseBranch: string;
  /** The newest commit of that branch with which the head was compared. */
  readonly baseRevision?: Revision | undefined;
  /** ISO 8601. */
  readonly plannedAt: string;
  readonly applications: readonly ApplicationPlan[];
  readonly applicationSets: readonly ApplicationSetPreview[];
  /** Applications that ApplicationSets and parents add, change or remove at the merge. */
  readonly previews: readonly Preview[];
  readonly notDeployed: readonly NotDeployed[];
  /** Set if the release of these locks led to the plan. */
  readonly turn?: Turn | undefined;
  /** Applications that the change request no longer affects, whose locks this plan released. */
  readonly released: readonly ApplicationName[];
  /** The plan is not complete while there are any: nothing is synced or merged. */
  readonly unread: readonly UnreadFile[];
  /** Applications that read the changes by now and are not in the plan: nothing is synced or merged while there are any. */
  readonly lacks?: readonly ApplicationName[] | undefined;
  /** Sentences about the whole plan, such as files that could not be parsed. */
  readonly notes: readonly string[];
  /** Only if a sync deploys it in several stages. */
  readonly stages?: readonly PlannedStage[] | undefined;
  readonly next?: NextStage | undefined;
  /** An approval has started a sync of this head, however that ended: no other does. */
  readonly approvalUsed?: true | undefined;
  /** A warning was taken back after the plan was posted: from then on all of its comments are kept up to date. */
  readonly amended?: true | undefined;
}

/** How long a stored plan lives, in milliseconds: 30 days. */
export const PLAN_LIFETIME_MS = 30 * 24 * 60 * 60 * 1000;

/** What distinguishes a plan from those of other commits and target branches. */
export type PlannedFor = Pick<ChangeRequest, "headRevision" | "baseBranch">;

/** Whether a plan shows what the change request asks for now: exactly this head, into this branch. */
export function isPlanOf(plan: Plan | undefined, { headRevision, baseBranch }: PlannedFor): plan is Plan {
  return plan?.head === headRevision && plan.baseBranch === baseBranch;
}

/** Whether there is nothing to say but that no application is affected. */
export function affectsNothing(plan: Plan): boolean {
  const { applications, applicationSets, previews, notDeployed, released, unread, notes } = plan;
  return [applications, applicationSets, previews, notDeployed, released, unread, notes].every(
    (one) => one.length === 0,
  );
}

/** Whether the plan is shown before Kubernetes has answered. */
export function isAsking({ applications }: Plan): boolean {
  return applications.some((one) => one.kind === "evaluated" && one.cluster?.asking !== undefined);
}

/** Ends the question about applications whose answers do not come. @param isOver tells which; all of them by default. */
export function withoutAnswers(
  plan: Plan,
  reason: string,
  isOver: (application: ApplicationName) => boolean = () => true,
): Plan {
  const applications = plan.applications.map((one) => (isOver(one.application) ? withoutAnswer(one, reason) : one));
  return { ...plan, applications };
}

export function withoutAnswer(plan: ApplicationPlan, reason: string): ApplicationPlan {
  if (plan.kind !== "evaluated" || plan.cluster === undefined) return plan;
  return { ...plan, cluster: endAsking(plan.cluster, reason) };
}

/** What a plan shows of an application's objects; undefined if nothing. */
export function shownDiff(plan: ApplicationPlan): ManifestDiff | undefined {
  switch (plan.kind) {
    case "evaluated":
      return plan.diff;
    case "new":
    case "deleted":
      return previewedDiff(plan.preview);
    case "unevaluated":
    case "unplanned":
      return undefined;
  }
}

/** Whether an approval of the head lets another plan show more than this one. */
export function waitsForApproval(plan: Plan): boolean {
  const { applications, applicationSets, previews } = plan;
  return (
    applications.some((one) => isWithheld(one) || isAnnouncedUnseen(one)) ||
    applicationSets.some(({ withheld }) => withheld === true) ||
    previews.some((one) => isPreviewWithheld(one.content))
  );
}

/** The entry of an application that a plan leaves out. */
export function unplanned(application: ApplicationName, sourceFile: string | undefined): ApplicationPlan {
  const common = { application, sourceFile, warnings: [], atMerge: undefined, effect: NO_EFFECT };
  return { kind: "unplanned", lock: { kind: "not-needed" }, ...common };
}

/** Whether a plan tells all that a deployment of the application reaches, rendered or by what its ApplicationSets generate. */
export function tellsReach({ kind, effect }: ApplicationPlan): boolean {
  return kind === "evaluated" && effect.members.every(({ definition }) => definition.kind !== "unknown");
}

/** A new or deleted application whose objects are not shown before an approval. */
export function isAnnouncedUnseen(plan: ApplicationPlan): boolean {
  return (plan.kind === "new" || plan.kind === "deleted") && isPreviewWithheld(plan.preview);
}

/** How the server's checks of an application ended. */
export function checksOf(plan: ApplicationPlan): readonly CheckResult[] {
  switch (plan.kind) {
    case "evaluated":
    case "unevaluated":
      return plan.checks ?? [];
    case "new":
    case "deleted":
      return plan.preview?.checks ?? [];
    case "unplanned":
      return [];
  }
}

export interface Checked {
  readonly application: ApplicationName;
  readonly checks: readonly CheckResult[];
}

/** A check's result under the name `<check> of <application>`. */
export function asCheckOf<T extends CheckResult>(application: ApplicationName, result: T): T {
  return { ...result, name: `${result.name} of ${application}` };
}

/** Whether a sync would change neither its objects nor its definition. */
export function changesNothing(plan: ApplicationPlan): boolean {
  return plan.kind === "evaluated" && plan.verdict === "unchanged" && !plan.writesDefinition;
}

export function isWithheld(plan: ApplicationPlan): boolean {
  return plan.kind === "unevaluated" && plan.withheld === true;
}

/** What the merge makes of the objects of an application that no sync of the plan deploys. */
export type PreviewContent = PreviewOutcome & {
  /** How the server's checks of what it renders ended; undefined if there are none for it. */
  readonly checks?: readonly CheckResult[] | undefined;
};

type PreviewOutcome =
  /** What its definition renders, against what it replaces; for a deleted application, what is deleted with it. */
  | { readonly kind: "compared"; readonly diff: ManifestDiff }
  /** It is deleted, and its objects stay in the cluster, where nothing manages them; named as in `ResourceChange.title`. */
  | { readonly kind: "left-behind"; readonly objects: readonly string[]; readonly caution?: string | undefined }
  /** The reason is untrusted. `withheld`: it is not rendered before the head is approved. */
  | { readonly kind: "failed"; readonly reason: string; readonly withheld?: boolean | undefined }
  /** The plan has as many previews as it may have. */
  | { readonly kind: "beyond-limit"; readonly limit: number };

/** An application that is not in the plan itself: an ApplicationSet or a parent adds, changes or removes it at the merge. */
export interface Preview {
  readonly application: ApplicationName;
  readonly origin: PreviewOrigin;
  readonly content: PreviewContent;
  readonly missedAt?: MissedAt;
}

export interface PreviewOrigin {
  readonly kind: "generated" | "child";
  /** The ApplicationSet or the parent. */
  readonly of: string;
  readonly change: "added" | "changed" | "removed";
  /** As `ApplicationSetPreview.appliedBy`. */
  readonly appliedBy?: ApplicationName | undefined;
}

/** The difference that a preview shows; undefined if it shows none. */
export function previewedDiff(content: PreviewContent | undefined): ManifestDiff | undefined {
  return content?.kind === "compared" ? content.diff : undefined;
}

export function isPreviewWithheld(content: PreviewContent | undefined): boolean {
  return content?.kind === "failed" && content.withheld === true;
}
