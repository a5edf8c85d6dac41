import type { ApplicationName } from "../model/brand.js";
import { type ChangeRequest, sameChangeRequest } from "../model/change-request.js";
import { groupedBy } from "../model/collections.js";
import { type Message, referenceTo } from "../model/host-words.js";
import type { Lock } from "../model/lock.js";
import type { AdvisedCommand, AfterApproval, Names, NeededApproval, NextStep, WhyPush } from "../model/next-step.js";
import type { Danger } from "../model/plan/manifest-diff.js";
import { type ApplicationPlan, previewedDiff } from "../model/plan/plan.js";
import type { MemberNeed } from "../model/result.js";
import {
  allowedFor,
  type ApplicationFacts,
  type Facts,
  type FailedFor,
  type ReachedFacts,
  type RecordFacts,
} from "./facts.js";
import type { Judged } from "./gates.js";

/** Whether it is new or deleted: such applications are locked, and no sync deploys them. */
export function isAnnounced({ planned }: Pick<ApplicationFacts, "planned">): boolean {
  return planned?.kind === "new" || planned?.kind === "deleted";
}

/** The applications that the command selects; without a command, all that this change request planned, locked or deployed. */
export function selectedOf({ applications, asker }: Facts): readonly ApplicationFacts[] {
  if (asker === undefined) return applications;
  const selected = new Set(asker.selected);
  return applications.filter(({ application }) => selected.has(application));
}

/** The applications whose definition a sync of this one writes, and that wait for a sync of their own. */
export function writtenBy(parent: ApplicationFacts, facts: Facts): readonly ApplicationFacts[] {
  return touchedBy(parent, facts).flatMap(({ child, deletes }) => (deletes || !("planned" in child) ? [] : [child]));
}

/** An application that the sync of another one touches. */
interface Touched {
  readonly parent: ApplicationName;
  readonly child: ApplicationFacts | ReachedFacts;
  /** Else it writes the definition. */
  readonly deletes: boolean;
  /** Only with `--prune`. */
  readonly pruned: boolean;
}

/** The applications whose definition a sync of this one writes, and those that it deletes. */
export function touchedBy({ application }: ApplicationFacts, facts: Facts): readonly Touched[] {
  const { applications, reached = [], asker, settings } = facts;
  let known = byParent.get(applications);
  if (known === undefined) {
    const touched = [...applications, ...reached].flatMap((child) => {
      const { writtenBy = [], deletedBy = [], removedBy = [] } = ("planned" in child ? child.planned : child) ?? {};
      return [
        ...writtenBy.map((parent) => ({ parent, child, deletes: false, pruned: false })),
        ...deletedBy.map((parent) => ({ parent, child, deletes: true, pruned: true })),
        ...removedBy.map((parent) => ({ parent, child, deletes: true, pruned: false })),
      ];
    });
    known = groupedBy(touched, ({ parent }) => parent);
    byParent.set(applications, known);
  }
  const prunes = asker === undefined ? settings.prune : asker.prunes === true;
  return known.get(application)?.filter(({ pruned }) => prunes || !pruned) ?? [];
}

/** Each gate asks for each of thousands of applications. */
const byParent = new WeakMap<Facts["applications"], ReadonlyMap<ApplicationName, readonly Touched[]>>();

/** The locks of others that bar a command: those of the applications, and of the definitions that it writes or deletes with them. */
export function foreignLocksOf(
  applications: readonly ApplicationFacts[],
  facts: Facts,
  command: Judged,
): readonly Lock[] {
  const held = applications.flatMap((one) => {
    const own = one.now?.takeable === true || (command === "merge" && !awaits(one, facts)) ? [] : [one];
    return [
      ...own,
      ...(one.now?.deletes ?? []),
      ...(command === "sync" ? touchedBy(one, facts).map(({ child }) => child) : []),
    ];
  });
  return [...new Set(held)].flatMap(({ lock }) =>
    lock === undefined || sameChangeRequest(lock.holder, facts.change) ? [] : [lock],
  );
}

/** Why locks of others bar a command for an application; undefined if none does. */
export function lockOfOthers(one: ApplicationFacts, facts: Facts, command: Judged): Message | undefined {
  // Spares most of ten thousand applications the search below.
  if (one.lock === undefined && one.now?.deletes === undefined && command !== "sync") return undefined;
  const [lock] = foreignLocksOf([one], facts, command);
  if (lock === undefined) return undefined;
  const reference = referenceTo(lock.holder, facts.change, facts.words);
  const touched = touchedBy(one, facts).find(({ child }) => child.application === lock.application);
  const isOwn = lock.application === one.application;
  const does = touched === undefined ? `rollback deletes ${lock.application}` : `sync ${touches(touched)}`;
  const subject = isOwn ? "it" : `its ${does}, which`;
  return { before: `${subject} is locked by `, reference, change: lock.holder, after: "" };
}

/** The locks that the change request holds. */
export function ownLocksIn({ applications, change }: Facts): readonly Lock[] {
  return applications.flatMap(({ lock }) =>
    lock !== undefined && sameChangeRequest(lock.holder, change) ? [lock] : [],
  );
}

/** Whether a sync has to deploy it before the head is merged. */
export function awaits(one: ApplicationFacts, { plan, change, settings }: Facts): boolean {
  const { planned, record, lock } = one;
  if (plan?.current !== true || planned === undefined || isAnnounced(one) || planned.atMerge !== undefined) {
    return false;
  }
  if (record !== undefined && isAtHead(record, change)) return record.reverted !== undefined;
  const held = lock !== undefined && !sameChangeRequest(lock.holder, change);
  // An earlier sync of this change request may have deployed something that differs from both sides of the plan.
  return held || !(planned.unchanged && settings.skipNoChanges && record === undefined);
}

/** The applications that a sync has to deploy before the merge. */
export function awaitingIn(facts: Facts): readonly ApplicationFacts[] {
  return facts.applications.filter((one) => awaits(one, facts));
}

/** Whether the head was certainly deployed. */
export function isAtHead(record: RecordFacts, { headRevision }: Pick<ChangeRequest, "headRevision">): boolean {
  return record.revision === headRevision && record.outcome === "succeeded";
}

/** What requires an approval. To roll back, the approval under which the record was deployed is enough, but for what others made. */
export function approvalNeedsOf(one: ApplicationFacts, command: Judged): readonly MemberNeed[] {
  if (command !== "rollback") return one.requires.approvals.sync;
  const { record, now, planned, requires } = one;
  const needs = requires.approvals.rollback;
  const deployed = record !== undefined && (record.approvers.length > 0 || record.baseKept);
  if (!deployed) return needs;
  const others = new Set(now?.deletes?.map(({ application }) => application));
  // Without a plan, nobody knows the rules of what it reaches.
  return planned === undefined && others.size > 0 ? needs : needs.filter(({ member }) => others.has(member));
}

/** What the sync of a parent does to such an application. */
export function touches({ child, deletes }: Touched): string {
  return `${deletes ? "deletes" : "writes the definition of"} ${child.application}`;
}

/** @param only what the command names; empty if it is given without `-a`. */
export function planning({ applications }: Facts, only: Names = []): AdvisedCommand {
  const named = applications.filter(({ application }) => only.length === 0 || only.includes(application));
  const by = allowedFor(
    "plan",
    named.filter(({ planned }) => planned !== undefined),
  );
  return { kind: "command", command: "plan", applications: only, by };
}

export function approving({ change, approval }: Facts, then: AfterApproval): NeededApproval {
  const { headRevision, author } = change;
  return { kind: "approve", known: approval !== undefined, commit: headRevision, author: author?.login, then };
}

/** The step after an approval that lets svc render more: svc plans by itself, except for forks and, unless set otherwise, drafts. */
export function replanning(facts: Facts): AfterApproval {
  const { change, settings } = facts;
  return change.fork || (change.draft && settings.plansDrafts !== true) ? planning(facts) : { kind: "replan" };
}

export function pushing(
  because: WhyPush,
  applications: Names,
  { baseBranch }: ChangeRequest,
): Extract<NextStep, { readonly kind: "push" }> {
  return { kind: "push", because, applications, baseBranch };
}

/** The step that gets failed checks to pass; a plan, if the newest one did not see them fail. */
export function passing(all: readonly FailedFor[], facts: Facts, then: "sync" | "merge"): NextStep {
  const failed = all.flatMap((one) => one.failed);
  if (failed.length === 0) return planning(facts);
  const lifted = failed.every(({ overridableBy }) => overridableBy.length > 0);
  return {
    kind: "checks",
    checks: [...new Set(failed.map(({ name }) => name))],
    applications: all.map(({ application }) => application),
    then,
    overridableBy: lifted ? [...new Set(failed.flatMap(({ overridableBy }) => overridableBy))] : [],
    commit: facts.change.headRevision,
  };
}

/** What a sync or the merge endangers of one application. */
export function dangersOfChange(plan: ApplicationPlan): readonly Danger[] {
  switch (plan.kind) {
    case "evaluated":
      return plan.diff.dangers;
    case "deleted": {
      const gone = { what: `deletes the application ${plan.application}`, pruning: false };
      return [gone, ...(previewedDiff(plan.preview)?.dangers ?? [])];
    }
    case "new":
      return previewedDiff(plan.preview)?.dangers ?? [];
    case "unevaluated":
    case "unplanned":
      return [];
  }
}

/** Whether a sync of it may break or lose something, or replaces what another change request deployed. */
export function isDangerous(plan: ApplicationPlan): boolean {
  return dangersOfChange(plan).length > 0 || (plan.replaces ?? []).length > 0;
}
