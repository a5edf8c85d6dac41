import type { Settings } from "../../config/settings.js";
import type { ApplicationName } from "../model/brand.js";
import type { Approval, ChangeRequest, Mergeability, User } from "../model/change-request.js";
import type { Lock } from "../model/lock.js";
import { isPlanOf, type NotDeployed, type Plan } from "../model/plan.js";
import type { BarredApplication, Refusal } from "../model/result.js";
import { accessRefusal } from "./access.js";
import { staleRefusal } from "./as-planned.js";
import { approvalNeeds, deployedOf, type ApprovalNeed } from "./effect-rules.js";

/** Facts for the checks of a sync, all read for this run. */
export interface SyncFacts {
  readonly change: ChangeRequest;
  readonly settings: Settings;
  /** The locks of the selected applications, without new and deleted ones. */
  readonly locks: readonly Lock[];
  /** A dry run of somebody who needs no approval for it. */
  readonly withoutApproval: boolean;
  /** Read only if an application requires it. */
  readonly approval: Approval | undefined;
  readonly mergeability: Mergeability;
  readonly autoSynced: ReadonlySet<ApplicationName>;
  /** Who asked, and the selected applications that this person may not deploy. */
  readonly user: User;
  readonly barred: readonly BarredApplication[];
  /** Selected applications that cannot be deployed for another reason. */
  readonly obstacles: readonly NotDeployed[];
  /** What a sync would deploy that was not planned, by the selected application. */
  readonly differing: ReadonlyMap<ApplicationName, string>;
  /** The newest stored plan says why a stale application could not be evaluated. */
  readonly plan: Plan | undefined;
  /** What moved since the plan of an application: a sentence. */
  readonly moved: ReadonlyMap<ApplicationName, string>;
}

/**
 * Checks a sync: approval, freshness, mergeability, auto-sync, access, other obstacles, and that the effect is the
 * planned one. The first check that fails refuses the whole command and names every application that it fails for.
 */
export function checkSync(facts: SyncFacts): Refusal | undefined {
  return (
    checkApproval(facts) ??
    checkFreshness(facts) ??
    checkMergeability(facts.mergeability) ??
    checkAutoSync(facts) ??
    accessRefusal("sync", facts.barred, passing(facts), facts) ??
    checkObstacles(facts) ??
    staleRefusal(facts.differing, passing(facts))
  );
}

function checkApproval(facts: SyncFacts): Refusal | undefined {
  const all = unapproved(facts);
  if (all.length === 0) return undefined;
  const applications = [...new Set(all.map(({ application }) => application))];
  const needs = all.filter(({ application, member, because }) => application !== member || because !== "");
  const missing = facts.approval?.missing ?? "";
  return { reason: "not-approved", applications, needs, missing, others: passing(facts) };
}

function checkFreshness(facts: SyncFacts): Refusal | undefined {
  const { change, plan, moved, locks } = facts;
  const unplanned = new Set(locks.filter((lock) => isUnplanned(lock, facts)).map(({ application }) => application));
  const applications = stale(facts).map((application) => ({
    application,
    planFailure: failureOf(application, change, plan),
    moved: unplanned.has(application) ? undefined : moved.get(application),
  }));
  return applications.length === 0 ? undefined : { reason: "stale", applications, others: passing(facts) };
}

function failureOf(application: ApplicationName, change: ChangeRequest, plan: Plan | undefined): string | undefined {
  if (!isPlanOf(plan, change)) return undefined;
  const planned = plan.applications.find((one) => one.application === application);
  return planned?.kind === "unevaluated" ? planned.reason : undefined;
}

function checkMergeability(mergeability: Mergeability): Refusal | undefined {
  switch (mergeability) {
    case "mergeable":
      return undefined;
    case "conflicts":
      return { reason: "conflicts" };
    case "unknown":
      return { reason: "mergeability-unknown" };
  }
}

function checkAutoSync(facts: SyncFacts): Refusal | undefined {
  const applications = selected(facts).filter((name) => facts.autoSynced.has(name));
  return applications.length === 0 ? undefined : { reason: "auto-sync", applications, others: passing(facts) };
}

function checkObstacles(facts: SyncFacts): Refusal | undefined {
  const { obstacles } = facts;
  if (obstacles.length === 0) return undefined;
  return { reason: "not-deployable", applications: obstacles, others: passing(facts) };
}

function selected({ locks }: SyncFacts): readonly ApplicationName[] {
  return locks.map(({ application }) => application);
}

function unapproved(facts: SyncFacts): readonly ApprovalNeed[] {
  const { approval, withoutApproval, plan, change, settings } = facts;
  if (withoutApproval || approval?.approved === true) return [];
  return approvalNeeds(deployedOf(plan, selected(facts), change), settings);
}

function stale(facts: SyncFacts): readonly ApplicationName[] {
  return facts.locks
    .filter((lock) => isUnplanned(lock, facts) || facts.moved.has(lock.application))
    .map(({ application }) => application);
}

/** Without the stored plan, nobody knows what a sync of the application reaches. */
function isUnplanned({ planRevision }: Lock, { change, plan }: SyncFacts): boolean {
  return planRevision !== change.headRevision || !isPlanOf(plan, change);
}

/** Applications that pass every check, including later ones: the refusal offers them. */
function passing(facts: SyncFacts): readonly ApplicationName[] {
  if (facts.mergeability !== "mergeable") return [];
  const failing = new Set([
    ...unapproved(facts).map(({ application }) => application),
    ...stale(facts),
    ...facts.differing.keys(),
    ...facts.autoSynced,
    ...facts.barred.map(({ application, through }) => through ?? application),
    ...facts.obstacles.map(({ application }) => application),
  ]);
  return selected(facts).filter((name) => !failing.has(name));
}
