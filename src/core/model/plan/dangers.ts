import type { Danger } from "./manifest-diff.js";
import { type ApplicationPlan, type Plan, previewedDiff } from "./plan.js";

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

/** Whether a plan names any danger, also of what only the merge does. */
export function hasDanger({ applications, applicationSets, previews }: Plan): boolean {
  return (
    applications.some(isDangerous) ||
    applicationSets.some(({ removed, failure }) => removed.length > 0 || failure !== undefined) ||
    previews.some(
      ({ origin, content }) => origin.change === "removed" || (previewedDiff(content)?.dangers.length ?? 0) > 0,
    )
  );
}
