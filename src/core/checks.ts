import type { Settings } from "../config/settings.js";
import type { Approval } from "./approval.js";
import type { ApplicationName } from "./brand.js";
import type { ChangeRequest, Mergeability } from "./change-request.js";
import type { Lock } from "./lock.js";
import type { NotDeployed, Plan } from "./plan.js";
import type { Refusal } from "./result.js";

/** What the checks of a sync decide over; each value was read fresh for this run. */
export interface SyncFacts {
  readonly change: ChangeRequest;
  readonly settings: Settings;
  /** The locks of the selected applications, new and deleted ones left out. */
  readonly locks: readonly Lock[];
  /** Asked only when an application requires it. */
  readonly approval: Approval | undefined;
  readonly mergeability: Mergeability;
  readonly autoSynced: ReadonlySet<ApplicationName>;
  /** Selected applications that cannot be deployed for another reason. */
  readonly obstacles: readonly NotDeployed[];
  /** The newest stored plan: tells why a stale application could not be evaluated. */
  readonly plan: Plan | undefined;
}

/**
 * The checks of a sync in their order: approved, stale, mergeable, auto-sync, then everything else. The first that fails
 * refuses the whole run and names every application that it fails for.
 */
export function checkSync(facts: SyncFacts): Refusal | undefined {
  return (
    checkApproval(facts) ??
    checkFreshness(facts) ??
    checkMergeability(facts.mergeability) ??
    checkAutoSync(facts) ??
    checkObstacles(facts)
  );
}

/** Whether any of these applications requires an approval. */
export function needsApproval(settings: Settings, applications: readonly ApplicationName[]): boolean {
  return applications.some((name) => settings.requirementsFor(name).requireApproval);
}

function checkApproval({ approval, settings, locks }: SyncFacts): Refusal | undefined {
  const names = locks.map(({ application }) => application);
  const requiring = names.filter((name) => settings.requirementsFor(name).requireApproval);
  if (requiring.length === 0 || approval?.approved === true) return undefined;
  return {
    reason: "not-approved",
    applications: requiring,
    missing: approval?.missing ?? "",
    others: names.filter((name) => !requiring.includes(name)),
  };
}

function checkFreshness({ locks, change, plan }: SyncFacts): Refusal | undefined {
  const stale = locks.filter(({ planRevision }) => planRevision !== change.headRevision);
  if (stale.length === 0) return undefined;
  return {
    reason: "stale",
    applications: stale.map(({ application }) => ({ application, planFailure: failureOf(application, change, plan) })),
    others: locks.filter((lock) => !stale.includes(lock)).map(({ application }) => application),
  };
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

function checkAutoSync({ locks, autoSynced }: SyncFacts): Refusal | undefined {
  const names = locks.map(({ application }) => application);
  const failing = names.filter((name) => autoSynced.has(name));
  if (failing.length === 0) return undefined;
  return { reason: "auto-sync", applications: failing, others: names.filter((name) => !autoSynced.has(name)) };
}

function checkObstacles({ locks, obstacles }: SyncFacts): Refusal | undefined {
  if (obstacles.length === 0) return undefined;
  const failing = new Set(obstacles.map(({ application }) => application));
  const others = locks.map(({ application }) => application).filter((name) => !failing.has(name));
  return { reason: "not-deployable", applications: obstacles, others };
}
