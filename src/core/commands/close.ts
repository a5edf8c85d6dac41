import type { ChangeRequestRef } from "../model/change-request.js";
import type { CommandResult } from "../model/result.js";
import type { CommandPorts } from "../ports/context.js";
import { waitsFor } from "./plan-locks.js";

/**
 * Releases the locks of a closed change request and takes it out of every queue. A merge also removes its records
 * "deployed, not merged"; a close without a merge keeps them, because the applications still run its commit.
 */
export async function close(
  change: ChangeRequestRef,
  merged: boolean,
  { locks, waiting, deployments }: Pick<CommandPorts, "locks" | "waiting" | "deployments">,
): Promise<Extract<CommandResult, { readonly kind: "closed" }>> {
  const [held, waits, records] = await Promise.all([
    locks.list(change),
    waitsFor(change, waiting),
    deployments.ofChange(change),
  ]);
  await Promise.all(waits.map((application) => waiting.leave(application, change)));
  await Promise.all(held.map(({ application }) => locks.release(application, change)));
  if (merged) await Promise.all(records.map(({ application }) => deployments.remove(application, change)));
  return {
    kind: "closed",
    released: held.map(({ application }) => application),
    stillDeployed: merged ? [] : records.map(({ application }) => application),
  };
}
