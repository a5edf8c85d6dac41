import type { Settings } from "../../config/settings.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import { isDeployedAt, type Deployment } from "../model/deployment.js";
import type { ApplicationPlan, NotDeployed, Plan } from "../model/plan.js";
import { needsApproval } from "./checks.js";

/**
 * What hinders a merge: empty when every application that the change request affects at this head was synced at this
 * head, or is proven unchanged and dropped by `skip_no_changes`; without a plan of the head the `involved` ones hinder. New and deleted ones, and what takes effect at the
 * merge anyway, hinder nothing.
 */
export function mergeDecision(
  plan: Plan | undefined,
  involved: readonly ApplicationName[],
  records: readonly Deployment[],
  change: ChangeRequest,
  settings: Settings,
): readonly NotDeployed[] {
  if (plan?.head !== change.headRevision) {
    return involved.map((application) => ({ application, reason: "there is no stored plan of the head commit" }));
  }
  return plan.applications.flatMap((one) => {
    const reason = hindrance(one, records, change, settings);
    return reason === undefined ? [] : [{ application: one.application, reason }];
  });
}

function hindrance(
  planned: ApplicationPlan,
  records: readonly Deployment[],
  change: ChangeRequest,
  settings: Settings,
): string | undefined {
  if (planned.kind === "new" || planned.kind === "deleted" || planned.atMerge !== undefined) return undefined;
  const own = records.filter((record) => record.application === planned.application);
  if (own.some((record) => isDeployedAt(record, change.headRevision))) return undefined;
  if (planned.lock.kind === "held") return "it is locked by another PR";
  switch (planned.kind) {
    case "evaluated":
      // What an earlier sync from here deployed may still run, however equal the plan's two sides are.
      return planned.verdict === "unchanged" && !planned.writesDefinition && settings.skipNoChanges && own.length === 0
        ? undefined
        : "it was not synced at the head commit";
    case "unevaluated":
      return "its plan could not be evaluated";
    case "unplanned":
      return "it was left out of the plan";
  }
}

/** Those of the applications that the merge or a sync deploys whose settings ask for an approval before the merge. */
export function requiringApproval(plan: Plan | undefined, settings: Settings): readonly ApplicationName[] {
  return takingEffect(plan).filter((name) => needsApproval(settings, [name]));
}

/**
 * Every application that the merge deploys by itself or that a sync has deployed: new, deleted and auto-synced ones, those
 * that svc does not deploy, and what ApplicationSets generate. The merge needs the approval that they require.
 */
export function takingEffect(plan: Plan | undefined): readonly ApplicationName[] {
  if (plan === undefined) return [];
  const listed = [...plan.applications, ...plan.notDeployed].map(({ application }) => application);
  const generated = plan.applicationSets.flatMap(({ added, removed, changed, owned }) => [
    ...added,
    ...removed,
    ...changed,
    ...owned,
  ]);
  return [...new Set([...listed, ...generated])];
}
