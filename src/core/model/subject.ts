import {
  type Application,
  type ApplicationSpec,
  type LiveApplication,
  type Pin,
  type Source,
  sourcesOf,
  specEqual,
} from "./application.js";
import type { ApplicationName, Revision } from "./brand.js";
import { type Deployment, writerOf } from "./deployment.js";
import { DeployerFailure, safeMessage } from "./errors.js";
import type { DefinedIn } from "./settings.js";

/** One application that the change request affects. */
export type Subject = AnnouncedSubject | UnreadableSubject | LiveSubject;

interface SubjectBase {
  readonly name: ApplicationName;
  readonly sourceFile: string | undefined;
  /** Other repositories that define the one that Argo CD runs. */
  readonly definedIn?: readonly DefinedIn[] | undefined;
}

interface Undeployed extends SubjectBase {
  /** The definition to come, or else the one to go; undefined if none could be read. */
  readonly definition: Application | undefined;
}

/** Created or deleted with its Application resource; never deployed by us. */
export type AnnouncedSubject = NewSubject | DeletedSubject;

interface NewSubject extends Undeployed {
  readonly kind: "new";
  /** Why its definition is not known; undefined if it is. */
  readonly problem: string | undefined;
}

interface DeletedSubject extends Undeployed {
  readonly kind: "deleted";
  /** Undefined if Argo CD does not have it. */
  readonly live: LiveApplication | undefined;
}

/** Argo CD does not know it, or could not be reached. */
export interface UnreadableSubject extends Undeployed {
  readonly kind: "unreadable";
  readonly problem: string;
  /** Argo CD did not answer, and may do so later. */
  readonly passes?: true | undefined;
  /** The change request may not introduce it, and so must not lock its name either. */
  readonly unlocked?: true;
  /** Its parent, if it runs and only the parent's render tells its definition. */
  readonly below?: ApplicationName | undefined;
}

/** Why an application could not be read. */
export function unreadableBy(error: unknown): Pick<UnreadableSubject, "problem" | "passes"> {
  const passes = error instanceof DeployerFailure && error.reason === "unreachable";
  return { problem: safeMessage(error), ...(passes && { passes }) };
}

/** Runs in Argo CD. */
export interface LiveSubject extends SubjectBase {
  readonly kind: "live";
  readonly live: LiveApplication;
  /** The definition that a sync deploys. */
  readonly head: Side;
  /** The definition on the target branch. */
  readonly base: Side;
  /** This change request's record of an earlier sync, if any. */
  readonly ownRecord: Deployment | undefined;
  readonly foreignRecords: readonly Deployment[];
  readonly autoSynced: boolean;
  /** The ApplicationSet that syncs it in steps, or does so from the merge on; `autoSynced` is true then. */
  readonly syncingSet?: string | undefined;
  /** Argo CD runs Applications that it tracks as this one's: a sync of equal renders may still change those. */
  readonly hasChildren: boolean;
  /** Why its changed definition is not deployed from here: it is shown, not locked, and takes effect at the merge. */
  readonly notDriven: string | undefined;
  /** The parent whose head gives it the definition of `head`. */
  readonly definedBy?: ApplicationName | undefined;
  /** The ApplicationSet of that parent which generates it. */
  readonly definedBySet?: string | undefined;
  /** Its changed file carries an operation, which Argo CD runs as soon as somebody applies it. */
  readonly operates?: boolean;
  readonly warnings: readonly string[];
}

/**
 * The definition that a rollback leads back to. It is the target branch's if that runs, or if an ApplicationSet will write it again.
 * Otherwise it is the one from before the first sync of this change request, or of the one that wrote what runs.
 */
export function specBeforeOf({
  live,
  base,
  head,
  definedBySet,
  ownRecord,
  foreignRecords,
}: Pick<LiveSubject, "live" | "base" | "head" | "definedBySet" | "ownRecord" | "foreignRecords">): ApplicationSpec {
  if (specEqual(live.spec, base.spec)) return live.spec;
  // The parent was synced without it, so its set has written the head's already.
  if (definedBySet !== undefined && ownRecord === undefined && specEqual(live.spec, head.spec)) return base.spec;
  return (ownRecord ?? writerOf(live, foreignRecords))?.specBefore ?? live.spec;
}

/** What the base branch got since the head branched off, and the head lacks. Both sentences have untrusted words. */
export interface BehindBase {
  /** The sentence for a plan, and for the refusal of a sync. */
  readonly wouldRevert: string;
  /** The sentence for the result of a sync that was allowed nevertheless. */
  readonly reverted: string;
}

export interface Side {
  readonly spec: ApplicationSpec;
  /** 1-based positions of the sources that get the side's own commit. */
  readonly positions: readonly number[];
  /** The other sources of this repository. */
  readonly fixed: readonly FixedSource[];
}

/** A source of this repository that does not follow the change request's base branch. */
export interface FixedSource extends Pin {
  /** Its target revision: a branch, a tag or a commit. */
  readonly follows: string;
}

/** Every source of this repository at its commit. */
export function pinsOf({ positions, fixed }: Side, commit: Revision): readonly Pin[] {
  const pins = positions.map((position) => ({ position, revision: commit }));
  return [...pins, ...fixed.map(({ position, revision }) => ({ position, revision }))].sort(
    (left, right) => left.position - right.position,
  );
}

/** What one source of the head's definition was read at. */
export interface PlannedSource {
  /** 1-based. */
  readonly position: number;
  /** `head` gets the head commit; `fixed` is another revision of this repository; `foreign` is another repository or chart. */
  readonly kind: "head" | "fixed" | "foreign";
  /** Its target revision. */
  readonly follows: string;
  /** The commit, or a chart's version. Undefined for a foreign source that Argo CD had not read yet. */
  readonly revision: string | undefined;
  /** The head was approved before any plan showed this commit. */
  readonly unseen: boolean;
}

/** What the plan of a subject is made from; of other repositories, what Argo CD compared last. */
export function plannedSources({ head, live }: LiveSubject, headRevision: Revision): readonly PlannedSource[] {
  const before = sourcesOf(live.spec);
  return sourcesOf(head.spec).map((source): PlannedSource => {
    const { position, targetRevision: follows } = source;
    const common = { position, follows, unseen: false };
    if (head.positions.includes(position)) return { ...common, kind: "head", revision: headRevision };
    const fixed = head.fixed.find((one) => one.position === position);
    if (fixed !== undefined) return { ...common, kind: "fixed", revision: fixed.revision };
    const same = before[position - 1];
    const known = same !== undefined && isSameOrigin(same, source);
    return { ...common, kind: "foreign", revision: known ? live.comparedRevisions[position - 1] : undefined };
  });
}

function isSameOrigin(left: Origin, right: Origin): boolean {
  return left.repoURL === right.repoURL && left.chart === right.chart && left.targetRevision === right.targetRevision;
}

type Origin = Pick<Source, "repoURL" | "chart" | "targetRevision">;

/** Whether Argo CD neither compares nor syncs the application, nor answers questions about its objects. Go reads all of these as true. */
export function isLeftAlone({ annotations }: Pick<Application, "annotations">): boolean {
  return ["1", "t", "T", "TRUE", "true", "True"].includes(annotations["argocd.argoproj.io/skip-reconcile"] ?? "");
}

export const LEFT_ALONE = "Argo CD leaves the application alone (skip-reconcile)";
