import type { Approval } from "../approval.js";
import type { ApplicationName } from "../brand.js";
import { needsApproval } from "../checks.js";
import { mergeDecision } from "../merge-decision.js";
import type { NotDeployed, Plan } from "../plan.js";
import type { ApplicationSync, SyncedResult } from "../result.js";
import type { CommandContext } from "./context.js";

export interface SyncedSoFar {
  readonly dryRun: boolean;
  /** The applications that the sync was for. */
  readonly involved: readonly ApplicationName[];
  readonly deployed: readonly ApplicationSync[];
  readonly plan: Plan | undefined;
  /** Read for this run, if one of the involved applications requires it. */
  readonly approval: Approval | undefined;
}

/** Whether to merge after this sync, or what hinders it; says nothing while auto-merge is off. */
export async function decideMerge(
  so: SyncedSoFar,
  context: CommandContext,
): Promise<Pick<SyncedResult, "merge" | "notMerged">> {
  const { settings } = context;
  if (so.dryRun || !settings.autoMerge) return { merge: undefined, notMerged: [] };
  const hindrances = await hindrancesOf(so, context);
  if (hindrances.length > 0) return { merge: undefined, notMerged: hindrances };
  const { mergeMethod, deleteSourceBranch, protectedBranches } = settings;
  return { merge: { method: mergeMethod, deleteSourceBranch, protectedBranches }, notMerged: [] };
}

async function hindrancesOf(
  { involved, deployed, plan, approval }: SyncedSoFar,
  { settings, deployments, change, host }: CommandContext,
): Promise<readonly NotDeployed[]> {
  const failed = deployed
    .filter(({ kind }) => kind !== "succeeded")
    .map(({ application }) => ({ application, reason: "its sync did not succeed" }));
  const decided = mergeDecision(plan, involved, await deployments.ofChange(change), change, settings);
  const others = decided.filter((one) => !failed.some(({ application }) => application === one.application));
  if (failed.length + others.length > 0) return [...failed, ...others];
  // New, deleted and auto-synced applications take effect by the merge itself: it needs the approval that they require.
  const requiring = (plan?.applications ?? [])
    .map(({ application }) => application)
    .filter((name) => needsApproval(settings, [name]));
  if (requiring.length === 0) return [];
  const { approved } = approval ?? (await host.approval(change));
  return approved
    ? []
    : requiring.map((application) => ({ application, reason: "PR must be approved before it is merged" }));
}
