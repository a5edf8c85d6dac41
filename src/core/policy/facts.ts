import type { ApplicationName } from "../model/brand.js";
import { type Approval, type ChangeRequest, isSharedHead } from "../model/change-request.js";
import type { FailedCheck, OverriddenOf } from "../model/check.js";
import { distinct } from "../model/collections.js";
import type { Deployment } from "../model/deployment.js";
import type { HoldOf } from "../model/hold.js";
import type { HostWords } from "../model/host-words.js";
import type { Lock } from "../model/lock.js";
import type { Danger } from "../model/plan/manifest-diff.js";
import type { ApplicationPlan, Plan, UnreadFile } from "../model/plan/plan.js";
import type { BarredApplication, MemberNeed } from "../model/result.js";
import type { AccessCommand, AccessRule, OwnSettings } from "../model/settings.js";
import type { StageOf } from "../model/stage.js";

/** Everything that the gates ask about one change request, as plain JSON to be judged again; `untold` names what could not be read. */
export interface Facts {
  readonly change: ChangeRequest;
  /** The words of the change request's host. */
  readonly words: HostWords;
  /** The facts that could not be read, with the reasons: safe to show, and untrusted. */
  readonly untold: Untold;
  readonly settings: SettingFacts;
  /** Mistakes in the repository's file: while there are any, nothing is planned or deployed. */
  readonly problems: readonly string[];
  /** Who gave the command that is judged; undefined if nobody did. */
  readonly asker: Asker | undefined;
  /** The newest stored plan, which may be of an older head. */
  readonly plan: PlanFacts | undefined;
  /** The applications that the newest plan, the locks or the records of this change request name. */
  readonly applications: readonly ApplicationFacts[];
  /** Further applications that the merge deploys: generated ones, and those that svc does not deploy. */
  readonly others: readonly ApplicationFacts[];
  /** Applications that no sync of their own deploys, and that the sync of a planned one creates, changes or deletes. */
  readonly reached?: readonly ReachedFacts[];
  /** Whether the head is approved; undefined if the host was not asked, which counts as not approved. */
  readonly approval: Approval | undefined;
  /** What the approval lacks because the head changes the repository's rules, as a clause about the change request. */
  readonly missingForRules: string | undefined;
  readonly mergeChecks: MergeChecks;
  /** What the merge would deploy although nobody knows what it does; undefined if there is nothing. */
  readonly missed?: readonly Missed[] | undefined;
  /** Whether svc merges right after this answer. */
  readonly merging: boolean;
  /** Whether the head or the base branch has changed since the command was checked. */
  readonly headMoved: boolean;
  /** Applications whose sync has just failed or was refused, before their records say so. */
  readonly justFailed: readonly ApplicationName[];
  /** When they were read; only where there are stages. ISO 8601. */
  readonly at?: string;
  /** What keeps a deployed stage from being followed by the next: clauses about its applications; read for a sync. Untrusted. */
  readonly unhealthy?: Readonly<Record<string, string>>;
}

/** What was written down earlier, so that it may be out of date. */
export type StoredFact = "plan" | "locks" | "records" | "holds";

/** What is read for a judgement. */
export type FactName = StoredFact | "change" | "approval" | "access" | "mergeability" | "applications";

/** Completes "cannot tell …" for a fact that could not be read. */
export const DOUBTS: Readonly<Record<FactName, string>> = {
  change: "whether it is still open, and at which commit",
  plan: "what was planned",
  locks: "who holds the locks",
  records: "what was deployed from here",
  holds: "whether an application is held",
  approval: "whether the head is approved",
  access: "whether you may give this command",
  mergeability: "whether the branches conflict",
  applications: "what an application looks like in Argo CD now",
};

type Untold = Readonly<Partial<Record<FactName, string>>> & {
  /** Set if a later attempt may be able to read one of them. */
  readonly mayPass?: true;
};

/** What could not be read, while facts are still being read. */
export type UntoldSoFar = { -readonly [K in keyof Untold]: Untold[K] };

/** The settings that gates ask about themselves; rules for single applications are part of `ApplicationFacts`. */
interface SettingFacts extends Pick<OwnSettings, "allowForks" | "skipNoChanges" | "prune"> {
  /** Only if `update_branch` is `never`. */
  readonly updatesOff?: true;
  /** Only if a draft is planned like any other. */
  readonly plansDrafts?: true;
  /** Only if the head branch, in this repository, is one that others build on. */
  readonly sharedHead?: true;
}

type GatedSettings = Pick<
  OwnSettings,
  "allowForks" | "skipNoChanges" | "prune" | "updateBranch" | "protectedBranches" | "planDrafts"
>;

function settingFacts(change: ChangeRequest, settings: GatedSettings): SettingFacts {
  const { allowForks, skipNoChanges, prune, updateBranch, protectedBranches, planDrafts } = settings;
  return {
    allowForks,
    skipNoChanges,
    prune,
    ...(updateBranch === "never" ? { updatesOff: true } : {}),
    ...(planDrafts ? { plansDrafts: true } : {}),
    ...(!change.fork && isSharedHead(change, protectedBranches) ? { sharedHead: true } : {}),
  };
}

export interface Asker {
  readonly login: string;
  readonly mayWrite: boolean;
  /** Whether it is a dry run by somebody who needs no approval for that. */
  readonly withoutApproval: boolean;
  readonly dryRun?: true;
  /** Whether the sync deletes what the head no longer has. */
  readonly prunes?: true;
  /** Whether svc gives the command, in their name. */
  readonly automatic?: true;
  /** Selected applications for which the lists of `sync_requirements` do not name this person. */
  readonly barred: readonly BarredApplication[];
  readonly selected: readonly ApplicationName[];
}

interface PlanFacts {
  /** Whether it shows exactly this head, merged into this branch. */
  readonly current: boolean;
  /** Whether it was made for another target branch. */
  readonly retargeted: boolean;
  readonly unread: readonly UnreadFile[];
  /** ApplicationSets that are not previewed before the head is approved. */
  readonly withheldSets: readonly string[];
  /** Changed ApplicationSets, and applications that svc does not deploy: both take effect at the merge. */
  readonly sets: readonly string[];
  readonly notDeployed: readonly ApplicationName[];
  /** As in the plan, or as a command has just found it. */
  readonly lacks?: readonly ApplicationName[] | undefined;
  /** Whether a plan after an approval of the head would show more than this one. */
  readonly waitsForApproval: boolean;
  /** It names a danger. */
  readonly danger?: true;
  /** No further approval of the head starts a sync. */
  readonly approvalUsed?: true;
  /** The stage with which svc goes on by itself, and the login of who asked for it. */
  readonly next?: { readonly stage: string; readonly due: string; readonly by: string };
}

export interface ApplicationFacts {
  readonly application: ApplicationName;
  /** What the newest plan says of it. */
  readonly planned: PlannedFacts | undefined;
  /** Its lock, whoever holds it. */
  readonly lock: Lock | undefined;
  /** "Deployed, not merged" of this change request. */
  readonly record: RecordFacts | undefined;
  /** The same of other change requests. */
  readonly foreign: readonly RecordFacts[];
  readonly requires: Requires;
  /** Its present state, read for a command that is about to act on it. */
  readonly now: NowFacts | undefined;
}

export interface RecordFacts extends Pick<Deployment, "change" | "revision" | "outcome" | "approvers" | "reverted"> {
  /** The target branch certainly has what it had then, in everything that the application is deployed from. */
  readonly baseKept: boolean;
  /** When the sync had certainly ended; only where there are stages. ISO 8601. */
  readonly endedAt?: string | undefined;
}

/** The applications whose sync does something to the definition of another one. */
interface Writers {
  /** The parents whose sync writes its definition, also if its own file says the same. */
  readonly writtenBy?: readonly ApplicationName[] | undefined;
  /** The parents whose sync deletes it with `--prune`. */
  readonly deletedBy?: readonly ApplicationName[] | undefined;
  /** The parents whose sync deletes it in any case: they apply an ApplicationSet that no longer generates it. */
  readonly removedBy?: readonly ApplicationName[] | undefined;
}

/** An application that no sync of its own deploys, and that syncs of planned ones create, change or delete. */
export interface ReachedFacts extends Writers {
  readonly application: ApplicationName;
  /** Its lock, whoever holds it. */
  readonly lock: Lock | undefined;
}

/** The facts about an application from the newest plan. */
interface PlannedFacts extends Writers {
  readonly kind: ApplicationPlan["kind"];
  /** Whether both sides render the same and a sync writes no definition. */
  readonly unchanged: boolean;
  /** Why svc does not deploy it: it takes effect at the merge. */
  readonly atMerge: string | undefined;
  /** The parent that gives it the definition it is planned with, and has to be deployed before it. */
  readonly definedBy?: ApplicationName | undefined;
  /** Why it could not be evaluated; untrusted. */
  readonly failure: string | undefined;
  /** Whether it is rendered only after the head is approved. */
  readonly withheld: boolean;
  readonly behind: boolean;
  readonly uncovered: boolean;
  /** Why the approval of the head does not cover what it shows. Untrusted. */
  readonly unseen: string | undefined;
  /** Required checks. */
  readonly failedChecks: readonly FailedCheck[];
  /** What Kubernetes surely refuses of it: `apps/Deployment shop/web: field is immutable`. Untrusted. */
  readonly refused: readonly string[];
  readonly dangers: readonly Danger[];
  /** Objects that only a sync with `--prune` deletes. */
  readonly deleted: number;
  /** The plan cannot tell all that a deployment of it reaches. */
  readonly reachUnknown?: true;
}

/** The approvals, branches and people that the rules require for a deployment of an application. */
export interface Requires {
  readonly approvals: { readonly sync: readonly MemberNeed[]; readonly rollback: readonly MemberNeed[] };
  readonly upToDate: boolean;
  /** An approval starts its sync, and that of everything that it reaches. */
  readonly onApproval?: true;
  /** Why this repository may not introduce what a deployment would bring into a project. Untrusted. */
  readonly obstacle?: string | undefined;
  /** What keeps it, or something that its deployment reaches, from being deployed for a time. */
  readonly holds?: readonly HoldOf[] | undefined;
  /** Its stage in each repository file that has some. */
  readonly stages?: readonly StageOf[] | undefined;
  /** Rules that must all allow a person the command. */
  readonly allowed: Readonly<Record<AccessCommand, readonly AccessRule[]>>;
}

/** The present state of an application, as a command read it. Texts are untrusted. */
export interface NowFacts {
  readonly autoSynced: boolean;
  /** The ApplicationSet whose `RollingSync` syncs the application, which counts as auto-sync. */
  readonly syncingSet?: string | undefined;
  /** Why svc cannot deploy it, whatever else holds. */
  readonly obstacle?: string | undefined;
  /** The obstacle is that Argo CD does not answer. */
  readonly passes?: true | undefined;
  /** Why it is not rendered yet. */
  readonly withheld?: string | undefined;
  readonly uncovered?: string | undefined;
  /** What a sync would revert. */
  readonly behind?: string | undefined;
  /** What moved since its plan. */
  readonly moved?: string | undefined;
  /** What a sync would deploy that was not planned. */
  readonly differs?: string | undefined;
  /** Failed required checks that nobody lifts, and what their programs printed; undefined while they have not been looked at. */
  readonly checks?: readonly UnliftedCheck[] | undefined;
  /** For a rollback: whether the lock's holder has only planned the application. */
  readonly takeable?: boolean | undefined;
  /** For a rollback: the applications that it deletes and that others made. */
  readonly deletes?: readonly ReachedFacts[] | undefined;
}

interface UnliftedCheck {
  readonly sentence: string;
  readonly printed: string | undefined;
}

/** What the required checks say about the applications that the merge of a planned head deploys without a sync. */
interface MergeChecks {
  /** Failed for these applications, and nobody who may lift that has approved the head. */
  readonly failed: readonly FailedFor[];
  /** Failed, and lifted by an approval of the head. */
  readonly overridden: readonly OverriddenOf[];
  /** Not run for these applications as the checks are configured now. */
  readonly missing: readonly ApplicationName[];
}

export interface FailedFor {
  readonly application: ApplicationName;
  readonly failed: readonly FailedCheck[];
}

/** An application or a set that takes effect at the merge, that could not be evaluated, and that no approval lifts. */
export interface Missed {
  readonly application: ApplicationName;
  /** Whether it is rendered once the head is approved. */
  readonly withheld: boolean;
  /** Completes "the merge would deploy it, and …", with what to do. */
  readonly reason: string;
  /** The applications whose sync makes Argo CD deploy it. */
  readonly through: readonly ApplicationName[];
}

/** Facts before anything is read. */
export function blankFacts(change: ChangeRequest, words: HostWords, settings: GatedSettings): Facts {
  return {
    change,
    words,
    untold: {},
    settings: settingFacts(change, settings),
    problems: [],
    asker: undefined,
    plan: undefined,
    applications: [],
    others: [],
    approval: undefined,
    missingForRules: undefined,
    mergeChecks: NOTHING_FAILED,
    merging: false,
    headMoved: false,
    justFailed: [],
  };
}

export const NOTHING_FAILED: MergeChecks = { failed: [], overridden: [], missing: [] };

/** The rules that must all allow a person the command. */
export function allowedFor(command: AccessCommand, all: readonly ApplicationFacts[]): readonly AccessRule[] {
  return distinct(all.flatMap(({ requires }) => requires.allowed[command]));
}

/** How the syncs of a plan's applications write or delete the definitions of others. */
interface WritersIn {
  /** Which parents write or delete an application that gets a sync of its own. */
  readonly of: (child: ApplicationName) => Writers;
  /** The same for all other applications: those not in the plan, those that `-a` left out, and those that Argo CD deploys by itself. */
  readonly outside: (lockOf: ReadonlyMap<ApplicationName, Lock>) => readonly ReachedFacts[];
}

/** Finds in a plan whose syncs write or delete the definitions of other applications. */
export function writersIn(plan: Plan | undefined): WritersIn {
  const planned = (plan?.applications ?? []).filter(
    ({ kind, atMerge }) => atMerge === undefined && kind !== "unplanned",
  );
  const driven = new Set(planned.map(({ application }) => application));
  const found = new Map<ApplicationName, Record<keyof Writers, Set<ApplicationName>>>();
  const note = (child: ApplicationName, how: keyof Writers, parent: ApplicationName) => {
    const writers = found.get(child) ?? { writtenBy: new Set(), deletedBy: new Set(), removedBy: new Set() };
    found.set(child, writers);
    writers[how].add(parent);
  };
  for (const one of planned) {
    const { application: parent, kind, definedBy, effect } = one;
    if (kind === "new" || kind === "deleted") continue;
    if (definedBy !== undefined) note(parent, "writtenBy", definedBy.parent);
    for (const member of effect.members) {
      const { application: child, definition, reachedBy } = member;
      if (reachedBy.kind === "direct") continue;
      if (definition.kind === "new" || definition.kind === "changed") note(child, "writtenBy", parent);
      if (definition.kind === "removed") note(child, definition.atOnce === true ? "removedBy" : "deletedBy", parent);
    }
  }
  const asFacts = ({ writtenBy, deletedBy, removedBy }: Record<keyof Writers, Set<ApplicationName>>): Writers => ({
    ...(writtenBy.size > 0 && { writtenBy: [...writtenBy] }),
    ...(deletedBy.size > 0 && { deletedBy: [...deletedBy] }),
    ...(removedBy.size > 0 && { removedBy: [...removedBy] }),
  });
  const of = (child: ApplicationName) => {
    const writers = driven.has(child) ? found.get(child) : undefined;
    return writers === undefined ? {} : asFacts(writers);
  };
  return {
    of,
    outside: (lockOf) =>
      [...found]
        .filter(([child]) => !driven.has(child))
        .map(([application, writers]) => ({ application, lock: lockOf.get(application), ...asFacts(writers) })),
  };
}
