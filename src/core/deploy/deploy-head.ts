import type { ApplicationName } from "../model/brand.js";
import { changeRequestRef, sameChangeRequest } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import type { Deployment } from "../model/deployment.js";
import { safeMessage, StoreUnavailable } from "../model/errors.js";
import type { ApplicationSync } from "../model/result.js";
import { specEqual } from "../model/spec-equality.js";
import type { BehindBase, LiveSubject } from "../model/subject.js";
import { deployOne, writesSpec, type DeployContext } from "./deploy.js";
import { settleSync } from "./settle.js";

/** How the head is deployed. */
export interface HeadOptions {
  readonly command: Command<"sync">;
  /** Logins whose approval this deployment runs under. */
  readonly approvers: readonly string[];
  /** What it reverts of the base branch. */
  readonly behind: BehindBase | undefined;
  readonly context: DeployContext;
}

/**
 * Deploys the head commit to one application, after writing the record of it. A failed sync restores the definition from
 * before it; a success releases the lock.
 */
export async function deployHead(subject: LiveSubject, options: HeadOptions): Promise<ApplicationSync> {
  const { command, behind, context } = options;
  const { name: application, live, head } = subject;
  const reverts = command.dryRun ? behind?.wouldRevert : behind?.reverted;
  const { spec, positions } = head;
  const pins = positions.map((position) => ({ position, revision: context.change.headRevision }));
  const request = { live, spec, at: pins.length === 0 ? "target" : pins } as const;
  const warnings = reverts === undefined ? subject.warnings : [...subject.warnings, reverts];
  if (command.dryRun) return { application, warnings, ...(await deployOne(request, command, context)) };
  const record = recordOf(subject, options);
  try {
    await context.deployments.save(record);
  } catch (error) {
    context.log.error({ application, err: error }, "nothing was deployed: could not write the record");
    return { application, warnings: subject.warnings, kind: "rejected", message: NO_LOCK };
  }
  const taken = await lockTaken(application, context);
  if (taken !== undefined) {
    await settleSync(record, { kind: "untouched", earlier: subject.ownRecord }, context);
    return { application, warnings: subject.warnings, kind: "rejected", message: taken };
  }
  const outcome = await deployOne(request, command, context);
  const failed = outcome.kind === "failed" || outcome.kind === "rejected";
  const restored = failed && writesSpec(request) ? await restoreSpec(subject, context) : undefined;
  const untouched = outcome.kind === "rejected" && restored?.done !== false;
  const unsettled = await settleSync(
    record,
    untouched ? { kind: "untouched", earlier: subject.ownRecord } : outcome,
    context,
  );
  return {
    application,
    ...outcome,
    warnings: [...(untouched ? subject.warnings : warnings), restored?.sentence, unsettled].filter(
      (one) => one !== undefined,
    ),
  };
}

/**
 * Why nothing may be deployed; undefined if the lock is held: a rollback of another change request takes over the lock of one that has no record yet. It
 * looks for the record after that, and this looks for the lock after writing the record.
 */
async function lockTaken(application: ApplicationName, { locks, change }: DeployContext): Promise<string | undefined> {
  try {
    const lock = await locks.find(application);
    if (lock !== undefined && sameChangeRequest(lock.holder, change)) return undefined;
    const by = lock === undefined ? "It was released" : `PR #${lock.holder.number} (${lock.user}) has it now`;
    return `its lock is no longer this PR's: nothing was deployed. ${by}. Plan it again`;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return NO_LOCK;
  }
}

const NO_LOCK = "failed to acquire lock: nothing was deployed";

/** Every later record keeps the spec from before this change request's first sync. */
function recordOf(
  { name, ownRecord, live, head }: LiveSubject,
  { approvers, behind, context }: HeadOptions,
): Deployment {
  const { change, user, clock, runId } = context;
  return {
    application: name,
    change: changeRequestRef(change),
    revision: change.headRevision,
    outcome: "started",
    specBefore: ownRecord?.specBefore ?? live.spec,
    specWritten: writesSpec({ live, spec: head.spec }) ? head.spec : ownRecord?.specWritten,
    approvers,
    user: user.login,
    reverted: behind?.reverted,
    runId,
    timestamp: clock.now().toISOString(),
  };
}

interface Restored {
  readonly done: boolean;
  readonly sentence: string;
}

async function restoreSpec({ name, live, head }: LiveSubject, { deployer, log }: DeployContext): Promise<Restored> {
  try {
    const now = await deployer.findApplication(name);
    if (now === undefined || !specEqual(now.spec, head.spec)) {
      return { done: true, sentence: "its definition is not the one of this PR and was left as it is" };
    }
    await deployer.updateSpec(now, live.spec);
    return { done: true, sentence: "its definition was put back to what it was before this sync" };
  } catch (error) {
    log.error({ application: name, err: error }, "could not restore the definition");
    const sentence = `its definition could not be put back (${safeMessage(error)}): run the rollback command, or restore it in Argo CD`;
    return { done: false, sentence };
  }
}
