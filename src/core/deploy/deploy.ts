import { changeRequestRef, sameChangeRequest } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";
import { LeaseLost, neverStarted, safeMessage, StoreUnavailable } from "../model/errors.js";
import { BEGUN, endOf } from "../model/progress.js";
import type { ApplicationSync, SyncOutcome } from "../model/result.js";
import { specEqual } from "../model/spec-equality.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { insist } from "./insist.js";

export interface DeployOptions {
  readonly command: { readonly dryRun: boolean; readonly prune: boolean };
  /** Logins whose approval this deployment runs under. */
  readonly approvers: readonly string[];
  readonly context: CommandContext;
}

/**
 * Deploys the head commit to one application: the record first, then the definition if it changes, then the sync,
 * followed to its end. A failed sync puts back the definition from before it; a success releases the lock.
 */
export async function deploySubject(subject: LiveSubject, options: DeployOptions): Promise<ApplicationSync> {
  const { command, context } = options;
  const { warnings, name, live } = subject;
  const common = { application: name, warnings };
  const writesSpec = !specEqual(subject.head.spec, live.spec);
  if (command.dryRun && writesSpec) return { ...common, kind: "rejected", message: NOT_TRIABLE };
  const record = recordOf(subject, writesSpec, options);
  try {
    if (!command.dryRun) await context.deployments.save(record);
  } catch (error) {
    context.log.error({ application: name, err: error }, "nothing was deployed: the record could not be written");
    return { ...common, kind: "rejected", message: "failed to acquire lock: nothing was deployed" };
  }
  const begin = context.clock.now().getTime();
  context.progress(name, BEGUN);
  const outcome = await attempt(subject, writesSpec, options);
  context.progress(name, { kind: "ended", outcome: endOf(outcome) });
  const ms = context.clock.now().getTime() - begin;
  context.log.info({ application: name, outcome: outcome.kind, dryRun: command.dryRun, ms }, "sync ended");
  if (command.dryRun) return { ...common, ...outcome };
  const failed = outcome.kind === "failed" || outcome.kind === "rejected";
  const restored = failed && writesSpec ? await putBack(subject, context) : undefined;
  const untouched = outcome.kind === "rejected" && restored?.done !== false;
  const kept = await settleDeployed(
    record,
    untouched ? { kind: "untouched", earlier: subject.ownRecord } : outcome,
    context,
  );
  return {
    ...common,
    ...outcome,
    warnings: [...warnings, restored?.sentence, kept].filter((one) => one !== undefined),
  };
}

const NOT_TRIABLE = "cannot be tried without changing its definition in Argo CD, which a dry run does not do";

type Attempted = SyncOutcome | { readonly kind: "rejected"; readonly message: string };

async function attempt(subject: LiveSubject, writesSpec: boolean, options: DeployOptions): Promise<Attempted> {
  const { command, context } = options;
  const { deployer, change, settings, run } = context;
  const pins = subject.head.positions.map((position) => ({ position, revision: change.headRevision }));
  try {
    if (writesSpec && !command.dryRun) await deployer.updateSpec(subject.live, subject.head.spec);
    return await deployer.sync({
      application: { ...subject.live, spec: writesSpec ? subject.head.spec : subject.live.spec },
      at: pins.length === 0 ? "target" : pins,
      dryRun: command.dryRun,
      prune: command.prune || settings.prune,
      run,
      change: changeRequestRef(change),
      onProgress: (told) => context.progress(subject.name, { kind: "running", ...told }),
    });
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    context.log.warn({ application: subject.name, err: error }, "the sync could not be started");
    const refused = neverStarted(error);
    return { kind: refused ? "rejected" : "unknown", message: safeMessage(error) };
  }
}

/** The spec from before this change request's first sync survives every later one. */
function recordOf(subject: LiveSubject, writesSpec: boolean, { approvers, context }: DeployOptions): Deployment {
  const { change, user, clock, run } = context;
  const { ownRecord, live, head } = subject;
  return {
    application: subject.name,
    change: changeRequestRef(change),
    revision: change.headRevision,
    outcome: "started",
    specBefore: ownRecord?.specBefore ?? live.spec,
    specWritten: writesSpec ? head.spec : ownRecord?.specWritten,
    approvers,
    user: user.login,
    run,
    timestamp: clock.now().toISOString(),
  };
}

interface PutBack {
  readonly done: boolean;
  readonly sentence: string;
}

async function putBack(subject: LiveSubject, context: CommandContext): Promise<PutBack> {
  const { deployer, log } = context;
  try {
    const now = await deployer.findApplication(subject.name);
    if (now === undefined || !specEqual(now.spec, subject.head.spec)) {
      return { done: true, sentence: "its definition is not the one of this PR and was left as it is" };
    }
    await deployer.updateSpec(now, subject.live.spec);
    return { done: true, sentence: "its definition was put back to what it was before this sync" };
  } catch (error) {
    log.error({ application: subject.name, err: error }, "the definition could not be put back");
    const sentence = `its definition could not be put back (${safeMessage(error)}): run the rollback command, or restore it in Argo CD`;
    return { done: false, sentence };
  }
}

/** Argo CD refused before anything was written: the record goes back to what it said before. */
interface Untouched {
  readonly kind: "untouched";
  readonly earlier: Deployment | undefined;
}

/** Brings record and lock up to date; the sync has happened, so a store that is away is asked again for a while. */
export async function settleDeployed(
  record: Deployment,
  outcome: Attempted | Untouched,
  context: CommandContext,
): Promise<string | undefined> {
  const { deployments, locks, change, log } = context;
  try {
    await insist(context, () => writeOutcome(record, outcome, context));
    if (outcome.kind !== "succeeded") return undefined;
    await insist(context, async () => {
      const others = await deployments.ofApplication(record.application);
      const replaced = others.filter((other) => !sameChangeRequest(other.change, record.change));
      await Promise.all(replaced.map((other) => deployments.remove(other.application, other.change)));
      await locks.release(record.application, change);
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.error({ application: record.application, err: error }, "lock and record could not be brought up to date");
    return "the store did not answer afterwards: its lock is kept until the next command or until it expires";
  }
}

async function writeOutcome(
  record: Deployment,
  outcome: Attempted | Untouched,
  { deployments }: CommandContext,
): Promise<void> {
  if (outcome.kind !== "untouched") return deployments.save({ ...record, outcome: endOf(outcome) });
  if (outcome.earlier !== undefined) return deployments.save(outcome.earlier);
  return deployments.remove(record.application, record.change);
}
