import type { LiveApplication } from "../model/application.js";
import type { DeployingCommand } from "../model/command.js";
import type { Deployment } from "../model/deployment.js";
import { DeployerFailure, safeMessage } from "../model/errors.js";
import type { ApplicationSync, SyncedResource, SyncOutcome } from "../model/result.js";
import type { SyncLookup } from "../ports/deployer.js";
import { awaitHealth, type HealthEnd } from "./await-health.js";
import type { DeployContext } from "./deploy.js";
import { settleSync } from "./settle.js";
import { undo } from "./undo.js";

type Succeeded = Extract<ApplicationSync, { kind: "succeeded" }>;
type Failed = Extract<SyncOutcome, { kind: "failed" }>;

/**
 * The end of a sync whose operation succeeded, once the application is as healthy as its record asks. What did not get
 * healthy has failed: its lock is kept, or it is rolled back. Anything else is returned as it is.
 */
export async function confirmHealth(
  deployed: ApplicationSync,
  record: Deployment,
  command: DeployingCommand,
  context: DeployContext,
): Promise<ApplicationSync> {
  if (deployed.kind !== "succeeded" || record.health === undefined) return deployed;
  const { application, warnings, overridden } = deployed;
  const started = context.clock.now().getTime();
  const end = await watch(deployed, record, context);
  const outcome = outcomeOf(deployed, end);
  const ms = context.clock.now().getTime() - started;
  context.log.info({ application, outcome: outcome.kind, ms }, "health wait ended");
  if (outcome.kind === "failed" && record.health.onFailure === "rollback") {
    return { application, overridden, ...(await undo(record, { ...outcome, warnings }, command, context)) };
  }
  const unsettled = await settleSync(record, outcome, context);
  return {
    application,
    overridden,
    ...outcome,
    warnings: unsettled === undefined ? warnings : [...warnings, unsettled],
  };
}

/** How our sync of this record is found in Argo CD. */
export function lookupOf(record: Deployment, live: LiveApplication, runId: string): SyncLookup {
  const at = record.pins.length === 0 ? "target" : record.pins;
  return { application: { ...live, spec: record.specWritten ?? live.spec }, at, runId };
}

async function watch(
  deployed: Succeeded,
  record: Deployment,
  context: Pick<DeployContext, "deployer" | "clock" | "progress" | "runId">,
): Promise<HealthEnd> {
  const { deployer, progress, runId } = context;
  const { application, resources } = deployed;
  try {
    const live = await deployer.findApplication(application);
    if (live === undefined) return { kind: "unknown", message: "the application no longer exists" };
    const all = { done: resources.length, total: resources.length };
    const onLook = (health: string, unhealthy: readonly SyncedResource[]) =>
      progress(application, { kind: "running", ...all, message: waitingFor(unhealthy), health });
    const timeoutMs = record.health?.timeoutMs ?? 0;
    return await awaitHealth(lookupOf(record, live, runId), { timeoutMs, onLook }, context);
  } catch (error) {
    if (!(error instanceof DeployerFailure)) throw error;
    return { kind: "unknown", message: `svc could not look at its health: ${safeMessage(error)}` };
  }
}

/** The object that holds it up, for one line. */
function waitingFor([first, ...others]: readonly SyncedResource[]): string {
  if (first === undefined) return "";
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `${[first.title, first.status, first.message].filter((text) => text !== "").join(": ")}${more}`;
}

function outcomeOf(deployed: Succeeded, end: HealthEnd): SyncOutcome {
  switch (end.kind) {
    case "healthy": {
      const { kind, message, resources, revisions, pruneSkipped } = deployed;
      const { health, unhealthy } = end;
      return { kind, message, resources, revisions, pruneSkipped, health, unhealthy };
    }
    case "unhealthy":
      return failure(end.health, end.message, end.unhealthy);
    case "unknown":
      return { kind: "unknown", message: `Argo CD deployed it, but ${end.message}` };
  }
}

/** A sync that succeeded for Argo CD and left the application unhealthy. */
export function failure(health: string, message: string, resources: readonly SyncedResource[]): Failed {
  return { kind: "failed", message, resources, notHealthy: { health } };
}
