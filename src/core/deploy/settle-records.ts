import type { ApplicationName, Revision } from "../model/brand.js";
import { sameChangeRequest, type ChangeRequestRef } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";
import { destinationOf, type Destination } from "../model/destination.js";
import { StoreUnavailable } from "../model/errors.js";
import type { SyncOutcome } from "../model/result.js";
import type { CommandPorts } from "../ports/context.js";
import { endDeployment } from "./settle.js";

type SettlePorts = Pick<CommandPorts, "deployer" | "deployments" | "locks" | "log">;

/** An earlier sync whose end was not recorded at the time, because the store or this program was unavailable. */
export interface Settled {
  readonly application: ApplicationName;
  /** The run that started it. */
  readonly runId: string;
  readonly outcome: "succeeded" | "failed";
  /** The commit that it deployed, and where. */
  readonly revision: Revision;
  readonly destination: Destination;
}

type Unsettled = Deployment & { readonly runId: string };

/** Whether the end of this record's sync is not recorded and can be looked up. */
export function isUnsettled(record: Deployment): record is Unsettled {
  return record.runId !== undefined && (record.outcome === "started" || record.outcome === "unknown");
}

/**
 * Looks up in Argo CD how the unfinished syncs of a change request ended, and updates records and locks. Call it while no
 * command of the change request runs. What Argo CD no longer knows stays as it is.
 * @throws {StoreUnavailable}
 */
export async function settleRecords(change: ChangeRequestRef, ports: SettlePorts): Promise<readonly Settled[]> {
  const records = (await ports.deployments.ofChange(change)).filter(isUnsettled);
  const settled = await Promise.all(records.map((record) => settleOne(record, ports)));
  return settled.filter((one) => one !== undefined);
}

async function settleOne(record: Unsettled, ports: SettlePorts): Promise<Settled | undefined> {
  const { application, runId } = record;
  try {
    const { outcome, destination } = await lookUp(record, ports);
    if (outcome?.kind !== "succeeded" && outcome?.kind !== "failed") return undefined;
    if (outcome.kind === "succeeded" && (await isLockOf(record, ports))) {
      await endDeployment(application, record.change, ports);
    }
    await ports.deployments.save({ ...record, outcome: outcome.kind });
    ports.log.info({ application, runId, outcome: outcome.kind }, "looked up the end of an earlier sync");
    return { application, runId, outcome: outcome.kind, revision: record.revision, destination };
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    ports.log.warn({ application, err: error }, "could not look up how an earlier sync ended");
    return undefined;
  }
}

async function lookUp(
  record: Unsettled,
  { deployer }: SettlePorts,
): Promise<{ readonly outcome: SyncOutcome | undefined; readonly destination: Destination }> {
  const live = await deployer.findApplication(record.application);
  const spec = record.specWritten ?? live?.spec ?? record.specBefore;
  const destination = destinationOf(spec);
  if (live === undefined) return { outcome: undefined, destination };
  const at = record.pins.length === 0 ? "target" : record.pins;
  const outcome = await deployer.findOutcome({ application: { ...live, spec }, at, runId: record.runId });
  return { outcome, destination };
}

/** False once a newer plan took the lock for a newer head. */
async function isLockOf({ application, change, revision }: Deployment, { locks }: SettlePorts): Promise<boolean> {
  const lock = await locks.find(application);
  return lock?.planRevision === revision && sameChangeRequest(lock.holder, change);
}
