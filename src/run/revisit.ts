import { endProgress } from "../comments/settled.js";
import { isUnsettled, settleRecords, type Settled } from "../core/deploy/settle-records.js";
import type { ChangeRequest, ChangeRequestRef } from "../core/model/change-request.js";
import { silent, type Silent } from "./outcome.js";
import type { Run } from "./run.js";
import { refreshPlanStatus } from "./status.js";

/** Updates a change request after a review, or for the reconciler: its unsettled syncs and its commit status. */
export async function revisit(ref: ChangeRequestRef, run: Run): Promise<Silent> {
  const unsettled = (await run.deployments.ofChange(ref)).some(isUnsettled);
  const settled = unsettled ? await settleEarlier(await run.host.getChangeRequest(ref), run) : [];
  const updated = await refreshPlanStatus(ref, run);
  if (settled.length > 0) return silent("settled");
  return silent(updated ? "status-updated" : "nothing-to-update");
}

/** Records how earlier syncs ended whose outcome was lost, before the next command of the change request runs. */
export async function settleEarlier(change: ChangeRequest, run: Run): Promise<readonly Settled[]> {
  const settled = await settleRecords(change, run);
  try {
    await endProgress(run.host, change, settled);
  } catch (error) {
    run.log.warn({ err: error }, "could not finish the progress comment of an interrupted command");
  }
  return settled;
}
