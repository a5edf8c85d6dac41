import type { Settings } from "../../config/settings.js";
import type { ApplicationName } from "../model/brand.js";
import type { Approval, ChangeRequest, Mergeability, User } from "../model/change-request.js";
import type { Lock } from "../model/lock.js";
import type { NotDeployed, Plan } from "../model/plan.js";
import type { BarredApplication, Refusal } from "../model/result.js";
import { accessRefusal } from "./access.js";

/** Facts for the checks of a sync, all read for this run. */
export interface SyncFacts {
  readonly change: ChangeRequest;
  readonly settings: Settings;
  /** The locks of the selected applications, without new and deleted ones. */
  readonly locks: readonly Lock[];
  /** Read only if an application requires it. */
  readonly approval: Approval | undefined;
  readonly mergeability: Mergeability;
  readonly autoSynced: ReadonlySet<ApplicationName>;
  /** Who asked, and the selected applications that this person may not deploy. */
  readonly user: User;
  readonly barred: readonly BarredApplication[];
  /** Selected applications that cannot be deployed for another reason. */
  readonly obstacles: readonly NotDeployed[];
  /** The newest stored plan says why a stale application could not be evaluated. */
  readonly plan: Plan | undefined;
}

/**
 * Checks a sync: approval, freshness, mergeability, auto-sync, access, then everything else. The first check that fails
 * refuses the whole command and names every application that it fails for.
 */
export function checkSync(facts: SyncFacts): Refusal | undefined {
  return (
    checkApproval(facts) ??
    checkFreshness(facts) ??
    checkMergeability(facts.mergeability) ??
    checkAutoSync(facts) ??
    accessRefusal("sync", facts.barred, passing(facts), facts) ??
    checkObstacles(facts)
  );
}

/** Whether any of these applications requires an approval. */
export function needsApproval(settings: Settings, applications: readonly ApplicationName[]): boolean {
  return applications.some((name) => settings.requirementsFor({ name }).requireApproval);
}

function checkApproval(facts: SyncFacts): Refusal | undefined {
  const applications = unapproved(facts);
  if (applications.length === 0) return undefined;
  return { reason: "not-approved", applications, missing: facts.approval?.missing ?? "", others: passing(facts) };
}

function checkFreshness(facts: SyncFacts): Refusal | undefined {
  const { change, plan } = facts;
  const applications = stale(facts).map((application) => ({
    application,
    planFailure: failureOf(application, change, plan),
  }));
  return applications.length === 0 ? undefined : { reason: "stale", applications, others: passing(facts) };
}

function failureOf(application: ApplicationName, change: ChangeRequest, plan: Plan | undefined): string | undefined {
  if (plan?.head !== change.headRevision) return undefined;
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

function unapproved(facts: SyncFacts): readonly ApplicationName[] {
  if (facts.approval?.approved === true) return [];
  return selected(facts).filter((name) => facts.settings.requirementsFor({ name }).requireApproval);
}

function stale({ locks, change }: SyncFacts): readonly ApplicationName[] {
  return locks.filter(({ planRevision }) => planRevision !== change.headRevision).map(({ application }) => application);
}

/** Applications that pass every check, including later ones: the refusal offers them. */
function passing(facts: SyncFacts): readonly ApplicationName[] {
  if (facts.mergeability !== "mergeable") return [];
  const failing = new Set([
    ...unapproved(facts),
    ...stale(facts),
    ...facts.autoSynced,
    ...facts.barred.map(({ application }) => application),
    ...facts.obstacles.map(({ application }) => application),
  ]);
  return selected(facts).filter((name) => !failing.has(name));
}
