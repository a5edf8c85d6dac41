import { destinationOf, type LiveApplication, projectOf } from "../model/application.js";
import { type ChangeRequestRef, sameChangeRequest } from "../model/change-request.js";
import { allInTurns } from "../model/collections.js";
import { type Deployment, isOfReplaced } from "../model/deployment.js";
import { DeployerFailure, ifReadable, StoreUnavailable } from "../model/errors.js";
import type { HealthRule } from "../model/settings.js";
import type { ShownDeployment } from "../ports/code-host.js";
import type { CommandPorts } from "../ports/context.js";
import type { SyncLookup } from "../ports/deployer.js";
import { leavesOut } from "../ports/log.js";
import type { DeploymentStore } from "../ports/stores.js";
import type { DeployContext } from "./deploy.js";
import { awaitHealth, lookupOf } from "./health.js";
import { endOthers, undoIdOf, updateRecord } from "./settle.js";

type SettlePorts = Pick<CommandPorts, "deployer" | "deployments" | "locks" | "clock" | "log">;

/** Longer than an operation in Argo CD usually takes, in milliseconds. */
const OPERATION_MS = 15 * 60_000;

/** An earlier sync whose end was not recorded at the time, because the store or this program was unavailable. */
export interface Settled extends Pick<ShownDeployment, "application" | "runId" | "revision" | "destination"> {
  readonly outcome: "succeeded" | "failed" | "not-healthy" | "rolled-back";
}

type Unsettled = Deployment & { readonly runId: string };

/** Whether the end of this record's sync is not recorded and can be looked up. */
export function isUnsettled(record: Deployment): record is Unsettled {
  const { runId, outcome, undoing } = record;
  return runId !== undefined && (outcome === "started" || outcome === "unknown" || undoing !== undefined);
}

/**
 * Looks up how the unfinished syncs of a change request ended, and updates records and locks, while none of its commands runs.
 * What Argo CD does not know is recorded as unknown. @throws {StoreUnavailable}
 */
export async function settleRecords(change: ChangeRequestRef, ports: SettlePorts): Promise<readonly Settled[]> {
  const records = (await ports.deployments.ofChange(change, leavesOut(ports.log))).filter(isUnsettled);
  const settled = await Promise.all(records.map((record) => settleOne(record, ports)));
  return settled.filter((one) => one !== undefined);
}

async function settleOne(record: Unsettled, ports: SettlePorts): Promise<Settled | undefined> {
  const { application, runId } = record;
  try {
    const live = await ports.deployer.findApplication(application);
    if (live === undefined || (await endReplaced(live, [record], ports)).length === 0) return undefined;
    const outcome = await lookUp(record, live, ports);
    if (outcome === undefined) {
      if (record.outcome === "started") await updateRecord({ ...record, outcome: "unknown" }, ports);
      return undefined;
    }
    await writeDown(record, outcome, ports);
    ports.log.info({ application, runId, outcome }, "looked up the end of an earlier sync");
    const destination = destinationOf(record.specWritten ?? live.spec);
    return { application, runId, outcome, revision: record.revision, destination };
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    ports.log.warn({ application, err: error }, "could not look up how an earlier sync ended");
    return undefined;
  }
}

async function lookUp(
  record: Unsettled,
  live: LiveApplication,
  ports: SettlePorts,
): Promise<Settled["outcome"] | undefined> {
  const { deployer } = ports;
  if (record.undoing !== undefined) {
    const undone = await deployer.findOutcome({
      ...{ application: live, at: "target", runId: undoIdOf(record.runId) },
      readLater: true,
    });
    if (undone?.kind === "succeeded") return "rolled-back";
    return undone?.kind === "failed" ? "not-healthy" : undefined;
  }
  const lookup = lookupOf(record, live, record.runId);
  const outcome = await deployer.findOutcome(lookup);
  if (outcome?.kind === "failed") return "failed";
  if (outcome?.kind !== "succeeded") return undefined;
  return record.health === undefined ? "succeeded" : lookAtHealth(record, lookup, record.health, ports);
}

/** Judges the health of a deployment by now; undefined while it may still get healthy. */
async function lookAtHealth(
  { timestamp }: Unsettled,
  lookup: SyncLookup,
  { timeoutMs }: HealthRule,
  ports: SettlePorts,
): Promise<Settled["outcome"] | undefined> {
  const end = await awaitHealth(lookup, { timeoutMs: 0 }, ports);
  if (end.kind === "healthy") return "succeeded";
  const late = ports.clock.now().getTime() - Date.parse(timestamp) > timeoutMs + OPERATION_MS;
  return end.kind === "unhealthy" && late ? "not-healthy" : undefined;
}

async function writeDown(record: Unsettled, outcome: Settled["outcome"], ports: SettlePorts): Promise<void> {
  const { application, change } = record;
  if (outcome === "succeeded" || outcome === "rolled-back") {
    const isLast = await isLockOf(record, ports);
    await endOthers(application, change, ports, isLast);
    if (isLast) await ports.locks.release(application, change);
  }
  switch (outcome) {
    case "succeeded":
      // The seconds are those that svc waited for, in vain.
      return updateRecord(
        { ...record, outcome, seconds: undefined, settledAt: ports.clock.now().toISOString() },
        ports,
      );
    case "failed":
    case "not-healthy":
      return updateRecord({ ...record, outcome: "failed", undoing: undefined }, ports);
    case "rolled-back":
      return ports.deployments.remove(application, change);
  }
}

/** Whether the lock still belongs to the record: a newer plan takes it for a newer head. */
async function isLockOf({ application, change, revision }: Deployment, { locks }: SettlePorts): Promise<boolean> {
  const lock = await locks.find(application);
  return lock?.planRevision === revision && sameChangeRequest(lock.holder, change);
}

/** Ends records of an Application that was deleted and recreated since. @returns The other records. */
export async function endReplaced(
  live: LiveApplication,
  records: readonly Deployment[],
  { deployments }: { readonly deployments: Pick<DeploymentStore, "remove"> },
): Promise<readonly Deployment[]> {
  const replaced = records.filter((record) => isOfReplaced(record, live));
  await Promise.all(replaced.map(({ application, change, uid }) => deployments.remove(application, change, uid)));
  return records.filter((record) => !replaced.includes(record));
}

/** The same for all records of a change request, also where the Application is gone; one that cannot be read ends none. @throws {StoreUnavailable} */
export async function endReplacedOf(
  change: ChangeRequestRef,
  {
    deployments,
    deployer,
    log,
  }: Pick<DeployContext, "deployer" | "log"> & { readonly deployments: Pick<DeploymentStore, "ofChange" | "remove"> },
): Promise<void> {
  // Whoever reads them next says that they cannot be read.
  const records = await ifReadable(deployments.ofChange(change), []);
  const named = records.filter(({ uid }) => uid !== undefined);
  await allInTurns(named, async (record) => {
    const { application, uid, specWritten, specBefore } = record;
    try {
      const live = await deployer.findApplication(application);
      if (live !== undefined) await endReplaced(live, [record], { deployments });
      else if (await deployer.isGone(application, projectOf(specWritten ?? specBefore))) {
        await deployments.remove(application, record.change, uid);
      }
    } catch (error) {
      if (!(error instanceof DeployerFailure)) throw error;
      log.warn({ application, err: error }, "could not tell whether an application was made again");
    }
  });
}
