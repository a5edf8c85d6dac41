import { endProgress } from "../../comments/settled.js";
import { isUnsettled, settleRecords, type Settled } from "../../core/deploy/settle-records.js";
import { createLifting } from "../../core/facts/lifting.js";
import type { ChangeRequest, ChangeRequestRef } from "../../core/model/change-request.js";
import { isAnnouncedUnseen, isPlanOf, isWithheld, waitsForApproval } from "../../core/model/plan.js";
import { isPreviewWithheld } from "../../core/model/preview.js";
import { deployedOf } from "../../core/policy/effect-rules.js";
import { refreshPlanStatus } from "../answer/status.js";
import { openChange, plansAutomatically } from "../line/context.js";
import { silent, type Silent } from "../line/outcome.js";
import type { Run } from "../line/run.js";

export { remind } from "./remind.js";

/** Updates a change request after a review, or for the reconciler: its unsettled syncs and its commit status. */
export async function revisit(ref: ChangeRequestRef, run: Run): Promise<Silent> {
  const unsettled = (await run.deployments.ofChange(ref)).some(isUnsettled);
  const settled = unsettled ? await settleEarlier(await run.host.getChangeRequest(ref), run) : [];
  const updated = await refreshPlanStatus(ref, run);
  if (settled.length > 0) return silent("settled");
  return silent(updated ? "status-updated" : "nothing-to-update");
}

/** Whether an approval of the planned head lifts what the plan withholds, so that it has to be planned again. */
export async function liftsWithheld(ref: ChangeRequestRef, run: Run): Promise<boolean> {
  const plan = await run.plans.find(ref);
  if (plan === undefined || !waitsForApproval(plan)) return false;
  const change = await run.host.getChangeRequest(ref);
  if (!plansAutomatically(change, run.config) || !isPlanOf(plan, change)) return false;
  const { settings, problems, snapshot } = await openChange(change, run);
  if (problems.length > 0) return false;
  const why = createLifting({ ...run, change, settings, snapshot });
  const waiting = [
    ...plan.applications.filter((one) => isWithheld(one) || isAnnouncedUnseen(one)).map((one) => [one.application]),
    ...plan.previews.filter(({ content }) => isPreviewWithheld(content)).map((one) => [one.application]),
    ...plan.applicationSets.filter(({ withheld }) => withheld === true).map(({ owned }) => owned),
  ];
  const reasons = await Promise.all(waiting.map((names) => why(deployedOf(plan, names, change))));
  return reasons.includes(undefined);
}

/** Records how earlier syncs ended whose outcome was lost, before the next command of the change request runs. */
export async function settleEarlier(change: ChangeRequest, run: Run): Promise<readonly Settled[]> {
  const settled = await settleRecords(change, run);
  run.attempt.settledEarlier(settled, change);
  try {
    await endProgress(run.host, change, settled, run.hostWords[change.host]);
  } catch (error) {
    run.log.warn({ err: error }, "could not finish the progress comment of an interrupted command");
  }
  return settled;
}
