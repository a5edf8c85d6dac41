import { type ApplicationSpec, type LiveApplication, type Pin, specEqual } from "../model/application.js";
import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef } from "../model/change-request.js";
import type { DeployingCommand } from "../model/command.js";
import { LeaseLost, neverStarted, safeMessage } from "../model/errors.js";
import { type StartedApplication, endOf, type Phase } from "../model/progress.js";
import type { ApplicationSync, SyncOutcome } from "../model/result.js";
import type { Settings } from "../model/settings.js";
import type { CommandContext } from "../ports/context.js";

/** Where the end of a deployment is written down. */
export type SettleContext = Pick<CommandContext, "change" | "locks" | "deployments" | "clock" | "log">;

/** What a deployment takes. It needs no repository: a rollback works while `.svc.yaml` is broken. */
export interface DeployContext
  extends
    SettleContext,
    Pick<
      CommandContext,
      "noteStarted" | "takenBefore" | "host" | "progress" | "runId" | "deployer" | "user" | "hostWords"
    > {
  readonly settings: Pick<Settings, "prune">;
}

interface DeployRequest {
  readonly live: LiveApplication;
  /** Its definition; written to Argo CD first if the live one differs. */
  readonly spec: ApplicationSpec;
  /** `target` deploys the configured target revisions. */
  readonly at: readonly Pin[] | "target";
  /** Is given what Argo CD stored of the definition, before the sync starts. */
  readonly onWritten?: (stored: ApplicationSpec) => Promise<void>;
}

/** The outcome of a deployment; `rejected` means that nothing was started. */
export type DeployOutcome = SyncOutcome | { readonly kind: "rejected"; readonly message: string };

export interface DeployTarget extends Ordered, Pick<StartedApplication, "pins" | "revision" | "destination"> {
  /** Undefined if Argo CD does not show it. */
  readonly live: LiveApplication | undefined;
  /** @param parents how those of `after` ended; without those that wait for this one themselves. */
  readonly deploy: (parents: readonly ApplicationSync[]) => Promise<ApplicationSync>;
  /** What follows its operation, such as a wait for its health. Nothing waits for this: a parent gets healthy through its children. */
  readonly confirm?: ((deployed: ApplicationSync) => Promise<ApplicationSync>) | undefined;
}

interface DeployOptions {
  readonly skipped?: readonly ApplicationName[];
  /** Runs right before the first deployment; what it returns stands for all results. */
  readonly prepare?: (() => Promise<readonly ApplicationSync[] | undefined>) | undefined;
  /** Runs before each level but the first; what it returns is why nothing more is deployed. */
  readonly between?: () => Promise<string | undefined>;
}

/** Deploys to all targets, noted first for a later attempt: parents before the children whose definitions they write, the rest in parallel. */
export async function deployAll(
  targets: readonly DeployTarget[],
  context: Pick<DeployContext, "noteStarted" | "progress">,
  { skipped = [], prepare, between }: DeployOptions = {},
): Promise<readonly ApplicationSync[]> {
  await context.noteStarted(targets.flatMap(startedOf), skipped);
  for (const { application } of targets) context.progress(application, { kind: "waiting" });
  const refused = await prepare?.();
  if (refused !== undefined) return refused;
  const results = new Map<ApplicationName, ApplicationSync>();
  const confirmed = new Map<ApplicationName, Promise<ApplicationSync>>();
  for (const level of levelsOf(targets)) {
    const why = results.size === 0 ? undefined : await between?.();
    const ended = await Promise.all(
      level.map(async ({ application, after, deploy, confirm }) => {
        const parents = after.flatMap((name) => results.get(name) ?? []);
        const result = why === undefined ? await deploy(parents) : rejectedSync(application, why);
        confirmed.set(application, ending(application, confirm === undefined ? result : confirm(result), context));
        return result;
      }),
    );
    for (const result of ended) results.set(result.application, result);
  }
  return Promise.all(targets.flatMap(({ application }) => confirmed.get(application) ?? []));
}

/** What became of an application that a command did not deploy. */
export function rejectedSync(application: ApplicationName, message: string): ApplicationSync {
  return { application, warnings: [], kind: "rejected", message };
}

function ending(
  application: ApplicationName,
  result: ApplicationSync | Promise<ApplicationSync>,
  { progress }: Pick<DeployContext, "progress">,
): Promise<ApplicationSync> {
  const ended = Promise.resolve(result).then((one) => {
    progress(application, { kind: "ended", outcome: endOf(one) });
    return one;
  });
  // It is awaited at the end; until then its failure must not count as unhandled.
  ended.catch(() => undefined);
  return ended;
}

function startedOf(target: DeployTarget): readonly StartedApplication[] {
  const { application, live, pins, revision, destination, after } = target;
  if (live === undefined) return [];
  return [{ application, lastOperation: live.lastOperation, pins, revision, destination, after }];
}

const ENDED = { sync: "sync ended", rollback: "rollback ended" } as const;

/** Writes the definition if it changes, syncs, and follows the sync to its end. Records and locks are the caller's. @throws {LeaseLost} */
export async function deployOne(
  request: DeployRequest,
  command: DeployingCommand,
  context: DeployContext,
): Promise<DeployOutcome> {
  const { clock, log, progress } = context;
  const { name, dryRun } = command;
  const application = request.live.name;
  if (dryRun && writesSpec(request)) return { kind: "rejected", message: NOT_TRIABLE };
  if (request.live.hasOperation === true && writesSpec(request)) return { kind: "rejected", message: OPERATING };
  const started = clock.now().getTime();
  progress(application, STARTED);
  const outcome = await attempt(request, command, context);
  log.info({ application, outcome: outcome.kind, dryRun, ms: clock.now().getTime() - started }, ENDED[name]);
  return outcome;
}

/** A running operation reads the definition again at each of its steps: the destination, for instance. */
const OPERATING =
  "an operation runs in Argo CD, which may deploy the new definition as well. Run the command again once it has ended";

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
    if (writesSpec(request)) {
      const stored = await deployer.updateSpec(live, spec);
      await request.onWritten?.(stored);
    }
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

/** An application of a run, and those of the same run that apply its definition. */
interface Ordered {
  readonly application: ApplicationName;
  readonly after: readonly ApplicationName[];
}

/** Each application comes in the first level after those that it waits for, a circle last; names outside of the run count as done. */
export function levelsOf<T extends Ordered>(run: readonly T[]): readonly (readonly T[])[] {
  const levels: (readonly T[])[] = [];
  let left = run;
  while (left.length > 0) {
    const waiting = new Set(left.map(({ application }) => application));
    const ready = left.filter(({ after }) => !after.some((one) => waiting.has(one)));
    const level = ready.length > 0 ? ready : left;
    levels.push(level);
    left = left.filter((one) => !level.includes(one));
  }
  return levels;
}

/** The first report of a sync that starts. */
const STARTED: Phase = { kind: "running", done: 0, total: 0, message: "" };
