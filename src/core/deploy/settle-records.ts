import { movingPositions } from "../detect/inputs/moving-sources.js";
import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest, type ChangeRequest } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";
import { StoreUnavailable } from "../model/errors.js";
import type { SyncOutcome } from "../model/result.js";
import type { CommandPorts } from "../ports/context.js";

type SettlePorts = Pick<CommandPorts, "deployer" | "deployments" | "locks" | "log">;

/** A sync whose end was not written down when it came, because the store or this program was away. */
export interface Settled {
  readonly application: ApplicationName;
  /** The run that had begun it. */
  readonly run: string;
  readonly outcome: "succeeded" | "failed";
}

/** Whether the end of this record's sync is not written down and can be looked up. */
export function isUnsettled({ outcome, run }: Deployment): boolean {
  return run !== undefined && (outcome === "started" || outcome === "unknown");
}

/**
 * Looks up in Argo CD how the unfinished syncs of a change request ended, and brings records and locks up to date. To be
 * called while no command of it runs. What Argo CD cannot tell stays as it is.
 * @throws {StoreUnavailable}
 */
export async function settleRecords(change: ChangeRequest, ports: SettlePorts): Promise<readonly Settled[]> {
  const records = (await ports.deployments.ofChange(change)).filter(isUnsettled);
  const settled = await Promise.all(records.map((record) => settleOne(record, change, ports)));
  return settled.filter((one) => one !== undefined);
}

async function settleOne(record: Deployment, change: ChangeRequest, ports: SettlePorts): Promise<Settled | undefined> {
  const { application, run } = record;
  try {
    const outcome = run === undefined ? undefined : await lookUp(record, run, change, ports);
    if (run === undefined || (outcome?.kind !== "succeeded" && outcome?.kind !== "failed")) return undefined;
    if (outcome.kind === "succeeded") await giveBackLock(record, ports);
    await ports.deployments.save({ ...record, outcome: outcome.kind });
    ports.log.info({ application, run, outcome: outcome.kind }, "the end of an earlier sync was looked up");
    return { application, run, outcome: outcome.kind };
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    ports.log.warn({ application, err: error }, "how an earlier sync ended could not be looked up");
    return undefined;
  }
}

async function lookUp(
  record: Deployment,
  run: string,
  change: ChangeRequest,
  { deployer }: SettlePorts,
): Promise<SyncOutcome | undefined> {
  const live = await deployer.findApplication(record.application);
  if (live === undefined) return undefined;
  const application = { ...live, spec: record.specWritten ?? live.spec };
  const positions = movingPositions(application.spec, change);
  const pins = positions.map((position) => ({ position, revision: record.revision }));
  return deployer.findOutcome({ application, at: pins.length === 0 ? "target" : pins, run });
}

/** Only while the lock is still that of the sync: a newer plan took it for a newer head. */
async function giveBackLock(record: Deployment, { deployments, locks }: SettlePorts): Promise<void> {
  const { application, change, revision } = record;
  const lock = await locks.find(application);
  if (lock?.planRevision !== revision || !sameChangeRequest(lock.holder, change)) return;
  const others = await deployments.ofApplication(application);
  const replaced = others.filter((other) => !sameChangeRequest(other.change, change));
  await Promise.all(replaced.map((other) => deployments.remove(application, other.change)));
  await locks.release(application, change);
}
