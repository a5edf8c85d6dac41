import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest, type ChangeRequestRef } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";
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
    const outcome = await lookUp(record, ports);
    if (outcome?.kind !== "succeeded" && outcome?.kind !== "failed") return undefined;
    if (outcome.kind === "succeeded" && (await isLockOf(record, ports))) {
      await endDeployment(application, record.change, ports);
    }
    await ports.deployments.save({ ...record, outcome: outcome.kind });
    ports.log.info({ application, runId, outcome: outcome.kind }, "looked up the end of an earlier sync");
    return { application, runId, outcome: outcome.kind };
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    ports.log.warn({ application, err: error }, "could not look up how an earlier sync ended");
    return undefined;
  }
}

async function lookUp(record: Unsettled, { deployer }: SettlePorts): Promise<SyncOutcome | undefined> {
  const live = await deployer.findApplication(record.application);
  if (live === undefined) return undefined;
  const application = { ...live, spec: record.specWritten ?? live.spec };
  const at = record.pins.length === 0 ? "target" : record.pins;
  return deployer.findOutcome({ application, at, runId: record.runId });
}

/** False once a newer plan took the lock for a newer head. */
async function isLockOf({ application, change, revision }: Deployment, { locks }: SettlePorts): Promise<boolean> {
  const lock = await locks.find(application);
  return lock?.planRevision === revision && sameChangeRequest(lock.holder, change);
}
