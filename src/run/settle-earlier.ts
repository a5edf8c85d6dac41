import { endProgress } from "../comments/settled.js";
import { isUnsettled, settleRecords, type Settled } from "../core/deploy/settle-records.js";
import type { ChangeRequest, ChangeRequestRef } from "../core/model/change-request.js";
import type { Run } from "./run.js";
import { refreshStatus } from "./show-status.js";

/** Brings up to date what an earlier command could not write down, before the next one of the change request runs. */
export async function settleEarlier(change: ChangeRequest, run: Run): Promise<readonly Settled[]> {
  const settled = await settleRecords(change, run);
  try {
    await endProgress(run.host, change, settled);
  } catch (error) {
    run.log.warn({ err: error }, "the progress comment of a command that was cut off could not be ended");
  }
  return settled;
}

/** Looks once more at a change request about which nothing was asked: after a review, or for the reconciler. */
export async function lookAgain(ref: ChangeRequestRef, run: Run): Promise<string | undefined> {
  const unsettled = (await run.deployments.ofChange(ref)).some(isUnsettled);
  const settled = unsettled ? await settleEarlier(await run.host.getChangeRequest(ref), run) : [];
  const shown = await refreshStatus(ref, run);
  if (settled.length > 0) return `settled ${settled.length}`;
  return shown ? "status brought up to date" : undefined;
}
