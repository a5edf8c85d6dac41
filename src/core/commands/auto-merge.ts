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
  const requiring = takingEffect(plan).filter((name) => needsApproval(settings, [name]));
  if (requiring.length === 0) return [];
  const { approved } = approval ?? (await host.approval(change));
  return approved
    ? []
    : requiring.map((application) => ({ application, reason: "PR must be approved before it is merged" }));
}

/**
 * Every application that the merge deploys by itself or that a sync has deployed: new, deleted and auto-synced ones, those
 * that svc does not deploy, and what ApplicationSets generate. The merge needs the approval that they require.
 */
function takingEffect(plan: Plan | undefined): readonly ApplicationName[] {
  if (plan === undefined) return [];
  const listed = [...plan.applications, ...plan.notDeployed].map(({ application }) => application);
  const generated = plan.applicationSets.flatMap(({ added, removed, changed }) => [...added, ...removed, ...changed]);
  return [...new Set([...listed, ...generated])];
}
