import { retryWhileUnavailable } from "../deploy/settle.js";
import { readStores, type FactSource } from "../facts/read-facts.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequestRef } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import { DeployerFailure, ifReadable, StoreUnavailable } from "../model/errors.js";
import { isPlanOf } from "../model/plan/plan.js";
import type { ApplicationSync } from "../model/result.js";
import { ownLocksIn } from "../policy/application-state.js";
import type { Facts } from "../policy/facts.js";
import { followingStage } from "../policy/stages.js";
import type { CommandContext } from "../ports/context.js";
import { labelsFor, namesOf } from "./selection.js";

interface Synced {
  readonly command: Command<"sync">;
  readonly deployed: readonly ApplicationSync[];
  /** The selected applications of later stages; undefined after a restart, when the command selects among its locks again. */
  readonly later?: readonly ApplicationName[];
}

/**
 * Notes with the plan which stage svc deploys next, and when. After a failure, and before a manual stage, it notes that none
 * follows. Errors of the store and of Argo CD are logged, since the deployment has to be reported in any case.
 */
export async function noteNextStage(
  { command, deployed, later }: Synced,
  context: FactSource & Pick<CommandContext, "user" | "runId" | "log" | "deployer" | "signal">,
): Promise<void> {
  const { change, settings, plans, clock, user, runId, log } = context;
  if (command.dryRun) return;
  try {
    const plan = await ifReadable(plans.find(change), undefined);
    if (!isPlanOf(plan, change) || (settings.stages.length === 0 && plan.next === undefined)) return;
    const { facts } = await readStores(context, { plan: { ...plan, next: undefined } });
    const left = later ?? (await lockedOf(command, deployed, facts, context));
    const isDone = deployed.every(({ kind }) => kind === "succeeded");
    const following = isDone ? followingStage(left, facts) : undefined;
    const next = following && {
      id: runId,
      by: user,
      applications: command.applications.length === 0 ? [] : left,
      prune: command.prune,
      stage: following.stage,
      due: following.due.toISOString(),
    };
    if (next !== undefined || plan.next !== undefined) {
      await retryWhileUnavailable(clock, () => plans.save({ ...plan, next }));
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable || error instanceof DeployerFailure)) throw error;
    log.error({ err: error }, "could not note the next stage of a sync");
  }
}

/** Selects what a command still has locked. Names and patterns may also mean what it has just deployed. */
async function lockedOf(
  command: Command<"sync">,
  deployed: readonly ApplicationSync[],
  facts: Facts,
  context: Pick<CommandContext, "deployer" | "clock" | "signal">,
): Promise<readonly ApplicationName[]> {
  const locked = ownLocksIn(facts).map(({ application }) => application);
  const known = [...locked, ...deployed.map(({ application }) => application)];
  const named = namesOf(command, known, await labelsFor(command, context));
  const names = named.kind === "selected" ? named.items : [];
  return command.applications.length === 0 ? locked : locked.filter((name) => names.includes(name));
}

/** Forgets the stage that svc would deploy next. A plan that cannot be read leads to none. @throws {StoreUnavailable} */
export async function endStages(change: ChangeRequestRef, { plans }: Pick<CommandContext, "plans">): Promise<void> {
  const plan = await ifReadable(plans.find(change), undefined);
  if (plan?.next !== undefined) await plans.save({ ...plan, next: undefined });
}
