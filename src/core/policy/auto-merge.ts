import { REPOSITORY_FILE } from "../../names.js";
import { applicationName, type ApplicationName } from "../model/brand.js";
import type { FailedCheck } from "../model/check.js";
import { isDeployedAt } from "../model/deployment.js";
import { safeMessage } from "../model/errors.js";
import type { NotDeployed, Plan } from "../model/plan.js";
import type { ApplicationSync, SyncedResult } from "../model/result.js";
import type { CommandContext } from "../ports/context.js";
import { barredFrom } from "./access.js";
import { approvalOf } from "./approval.js";
import { checksOfMerge, type MergeChecks } from "./merge-checks.js";
import { mergeDecision, requiringApproval, takingEffect } from "./merge-decision.js";
import { missingForRules } from "./rules-approval.js";

export interface SyncedSoFar {
  readonly dryRun: boolean;
  /** The applications that the sync was for. */
  readonly involved: readonly ApplicationName[];
  readonly deployed: readonly ApplicationSync[];
  readonly plan: Plan | undefined;
}

/** Whether to merge after this sync, or what blocks it; neither while auto-merge is off. */
export async function decideMerge(
  so: SyncedSoFar,
  context: CommandContext,
): Promise<Pick<SyncedResult, "merge" | "notMerged">> {
  const { settings } = context;
  if (so.dryRun || !settings.autoMerge) return { merge: undefined, notMerged: [] };
  const decided = await judge(so, context).catch((error: unknown): Judged => {
    // The deployment must be reported whatever happens here.
    context.log.error({ err: error }, "could not decide whether to merge");
    const reason = `could not check whether everything is deployed: ${safeMessage(error)}`;
    return { hindrances: so.involved.map((application) => ({ application, reason })), overridden: [] };
  });
  const { hindrances, overridden } = decided;
  if (hindrances.length > 0) return { merge: undefined, notMerged: hindrances };
  const { mergeMethod, deleteSourceBranch, protectedBranches } = settings;
  const merge = { method: mergeMethod, deleteSourceBranch, protectedBranches };
  return { merge: overridden.length === 0 ? merge : { ...merge, overridden }, notMerged: [] };
}

interface Judged extends Pick<MergeChecks, "overridden"> {
  readonly hindrances: readonly NotDeployed[];
}

async function judge(so: SyncedSoFar, context: CommandContext): Promise<Judged> {
  const hindrances = await hindrancesOf(so, context);
  if (hindrances.length > 0 || so.plan === undefined) return { hindrances, overridden: [] };
  const { failed, overridden, missing } = await checksOfMerge(so.plan, context);
  const reasons = [
    ...failed.map((one) => ({ application: one.application, reason: failureOf(one.failed) })),
    ...missing.map((application) => ({ application, reason: NOT_CHECKED })),
  ];
  return { hindrances: reasons, overridden };
}

async function hindrancesOf(
  { involved, deployed, plan }: SyncedSoFar,
  context: CommandContext,
): Promise<readonly NotDeployed[]> {
  const { settings, deployments, change, hostWords } = context;
  const words = hostWords[change.host];
  const failed = deployed
    .filter(({ kind }) => kind !== "succeeded")
    .map(({ application }) => ({ application, reason: "its sync did not succeed" }));
  const records = await deployments.ofChange(change);
  const decided = mergeDecision(plan, involved, records, change, settings, words);
  const others = decided.filter((one) => !failed.some(({ application }) => application === one.application));
  if (failed.length + others.length > 0) return [...failed, ...others];
  const isDeployed = (name: ApplicationName) =>
    records.some((record) => record.application === name && isDeployedAt(record, change.headRevision));
  const byTheMerge = takingEffect(plan).filter(({ application }) => !isDeployed(application));
  const barred = await barredFrom("sync", byTheMerge, context);
  if (barred.length > 0) return barred.map(({ application }) => ({ application, reason: NOT_THEIRS }));
  const requiring = requiringApproval(plan, settings);
  if (requiring.length === 0 && settings.rulesChange === undefined) return [];
  // Read again: an approval can be withdrawn while the sync runs.
  const approval = await approvalOf(context);
  if (requiring.length > 0 && !approval.approved) {
    const reason = `${words.short} must be approved before it is merged`;
    return requiring.map((application) => ({ application, reason }));
  }
  const missing = await missingForRules(context, approval);
  return missing === undefined ? [] : [{ application: applicationName(REPOSITORY_FILE), reason: missing }];
}

function failureOf(failed: readonly FailedCheck[]): string {
  const names = failed.map(({ name }) => name).join(", ");
  return `the merge would deploy it, and ${failed.length === 1 ? "the check" : "the checks"} ${names} failed`;
}

const NOT_CHECKED = "the merge would deploy it, and its checks have changed since the plan";

const NOT_THEIRS = "the merge would deploy it, and the rules do not let the person who gave this command deploy it";
