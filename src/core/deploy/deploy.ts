import type { ApplicationSpec, LiveApplication, Pin } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef } from "../model/change-request.js";
import type { DeployingCommand } from "../model/command.js";
import { LeaseLost, neverStarted, safeMessage } from "../model/errors.js";
import { STARTED, endOf } from "../model/progress.js";
import type { ApplicationSync, SyncOutcome } from "../model/result.js";
import { startedOf } from "../model/run-notes.js";
import { specEqual } from "../model/spec-equality.js";
import type { CommandContext } from "../ports/context.js";

/** Deploying needs no repository: a rollback works while `.svc.yaml` is broken. */
export type DeployContext = Omit<CommandContext, "snapshot" | "scanner">;

/** What to deploy to one application. */
export interface DeployRequest {
  readonly live: LiveApplication;
  /** Its definition; written to Argo CD first if the live one differs. */
  readonly spec: ApplicationSpec;
  /** `target` deploys the configured target revisions. */
  readonly at: readonly Pin[] | "target";
}

/** What became of it; `rejected` means that nothing was started. */
export type DeployOutcome = SyncOutcome | { readonly kind: "rejected"; readonly message: string };

/** One of the applications that a command deploys. */
export interface DeployTarget {
  readonly application: ApplicationName;
  /** Undefined if Argo CD does not show it. */
  readonly live: LiveApplication | undefined;
  readonly deploy: () => Promise<ApplicationSync>;
}

/** Deploys to all targets in parallel, after noting for a later attempt what is about to start. */
export async function deployAll(
  targets: readonly DeployTarget[],
  context: DeployContext,
  skipped: readonly ApplicationName[] = [],
): Promise<readonly ApplicationSync[]> {
  await context.noteStarted(
    targets.flatMap(({ live }) => (live === undefined ? [] : [startedOf(live)])),
    skipped,
  );
  for (const { application } of targets) context.progress(application, { kind: "waiting" });
  return Promise.all(
    targets.map(async ({ application, deploy }) => {
      const result = await deploy();
      context.progress(application, { kind: "ended", outcome: endOf(result) });
      return result;
    }),
  );
}

const ENDED = { sync: "sync ended", rollback: "rollback ended" } as const;

/**
 * Deploys to one application: writes its definition if it changes, then syncs and follows the sync to its end. Records
 * and locks are the caller's.
 * @throws {LeaseLost}
 */
export async function deployOne(
  request: DeployRequest,
  command: DeployingCommand,
  context: DeployContext,
): Promise<DeployOutcome> {
  const { clock, log, progress } = context;
  const { name, dryRun } = command;
  const application = request.live.name;
  if (dryRun && writesSpec(request)) return { kind: "rejected", message: NOT_TRIABLE };
  const started = clock.now().getTime();
  progress(application, STARTED);
  const outcome = await attempt(request, command, context);
  log.info({ application, outcome: outcome.kind, dryRun, ms: clock.now().getTime() - started }, ENDED[name]);
  return outcome;
}

/** Whether the deployment replaces the application's definition in Argo CD. */
export function writesSpec({ live, spec }: Pick<DeployRequest, "live" | "spec">): boolean {
  return !specEqual(spec, live.spec);
}

const NOT_TRIABLE = "cannot be tried without changing its definition in Argo CD, which a dry run does not do";

async function attempt(
  request: DeployRequest,
  { name: command, dryRun, prune }: DeployingCommand,
  { deployer, change, settings, runId, progress, log }: DeployContext,
): Promise<DeployOutcome> {
  const { live, spec, at } = request;
  try {
    if (writesSpec(request)) await deployer.updateSpec(live, spec);
    return await deployer.sync({
      application: { ...live, spec },
      at,
      dryRun,
      prune: prune || settings.prune,
      runId,
      change: changeRequestRef(change),
      onProgress: (reported) => progress(live.name, { kind: "running", ...reported }),
    });
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    log.warn({ application: live.name, command, err: error }, "could not start the sync");
    return { kind: neverStarted(error) ? "rejected" : "unknown", message: safeMessage(error) };
  }
}
