import type { ChangeRequestRef } from "../model/change-request.js";
import type { CommandResult } from "../model/result.js";
import type { DeploymentStore, LockStore } from "../ports/stores.js";

/**
 * Releases the locks of a closed change request. A merge also removes its records "deployed, not merged"; a close without
 * a merge keeps them, because the applications still run its commit.
 */
export async function close(
  change: ChangeRequestRef,
  merged: boolean,
  { locks, deployments }: { readonly locks: LockStore; readonly deployments: DeploymentStore },
): Promise<Extract<CommandResult, { readonly kind: "closed" }>> {
  const [held, records] = await Promise.all([locks.list(change), deployments.ofChange(change)]);
  await Promise.all(held.map(({ application }) => locks.release(application, change)));
  if (merged) await Promise.all(records.map(({ application }) => deployments.remove(application, change)));
  return {
    kind: "closed",
    released: held.map(({ application }) => application),
    stillDeployed: merged ? [] : records.map(({ application }) => application),
  };
}
