import { changeRequestKey } from "../core/model/change-request.js";
import type { BranchPushed } from "../core/model/event.js";
import type { Log } from "../core/ports/log.js";
import type { LockStore } from "../core/ports/stores.js";
import type { Push } from "../hosts/webhook-route.js";

export interface TellPlannedParts {
  readonly locks: LockStore;
  readonly push: Push;
  readonly log: Log;
}

/**
 * Has every change request of this repository that holds a lock look whether the push outdates its plan. Only those can
 * deploy something, and a sync asks again by itself: that this fails is logged and does no harm.
 */
export async function tellPlanned(
  { delivery, host, repository, branch }: BranchPushed,
  { locks, push, log }: TellPlannedParts,
): Promise<void> {
  try {
    const holders = (await locks.list()).map(({ holder }) => holder);
    const planned = new Map(
      holders
        .filter((holder) => holder.host === host && holder.repository === repository)
        .map((holder) => [changeRequestKey(holder), holder]),
    );
    for (const change of planned.values()) {
      await push({ kind: "base-moved", delivery: `${delivery}-${change.number}`, change, branch });
    }
  } catch (error) {
    log.warn({ repository, branch, err: error }, "could not tell the planned change requests of a push");
  }
}
