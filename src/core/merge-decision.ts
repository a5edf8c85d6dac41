import type { Settings } from "../config/settings.js";
import type { ApplicationName } from "./brand.js";
import type { ChangeRequest } from "./change-request.js";
import { isDeployedAt, type Deployment } from "./deployment.js";
import type { ApplicationPlan, NotDeployed, Plan } from "./plan.js";

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
      return planned.verdict === "unchanged" && settings.skipNoChanges && own.length === 0
        ? undefined
        : "it was not synced at the head commit";
    case "unevaluated":
      return "its plan could not be evaluated";
    case "unplanned":
      return "it was left out of the plan";
  }
}
