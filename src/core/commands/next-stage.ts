import { matchesName } from "../../config/pattern.js";
import { retryWhileUnavailable } from "../deploy/settle.js";
import { readStores, type FactSource } from "../facts/read-facts.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequestRef } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import { StoreUnavailable } from "../model/errors.js";
import { isPlanOf } from "../model/plan/plan.js";
import type { ApplicationSync } from "../model/result.js";
import { ownLocksIn } from "../policy/application-state.js";
import { followingStage } from "../policy/stages.js";
import type { CommandContext } from "../ports/context.js";

interface Synced {
  readonly command: Command<"sync">;
  readonly deployed: readonly ApplicationSync[];
  /** What the command named of later stages; undefined if a restart has forgotten it. */
  readonly later?: readonly ApplicationName[];
}

/**
 * Notes with the plan which stage follows a sync by itself, and when. A failure, and a stage that somebody has to begin, end the
 * run. What was deployed is reported whatever happens here.
 */
export async function noteNextStage(
  { command, deployed, later }: Synced,
  context: FactSource & Pick<CommandContext, "user" | "runId" | "log">,
): Promise<void> {
  const { change, settings, plans, clock, user, runId, log } = context;
  if (command.dryRun) return;
  try {
    const plan = await plans.find(change);
    if (!isPlanOf(plan, change) || (settings.stages.length === 0 && plan.next === undefined)) return;
    const { facts } = await readStores(context, { plan: { ...plan, next: undefined } });
    const named = command.applications;
    const locked = ownLocksIn(facts).map(({ application }) => application);
    const left = later ?? locked.filter((name) => named.length === 0 || named.some((one) => matchesName(one, name)));
    const isDone = deployed.every(({ kind }) => kind === "succeeded");
    const following = isDone ? followingStage(left, facts) : undefined;
    const next = following && {
      id: runId,
      by: user,
      applications: named.length === 0 ? [] : left,
      prune: command.prune,
      stage: following.stage,
      due: following.due.toISOString(),
    };
    if (next !== undefined || plan.next !== undefined) {
      await retryWhileUnavailable(clock, () => plans.save({ ...plan, next }));
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.error({ err: error }, "could not note the next stage of a sync");
  }
}

/** A sync does not go on by itself. @throws {StoreUnavailable} */
export async function endStages(change: ChangeRequestRef, { plans }: Pick<CommandContext, "plans">): Promise<void> {
  const plan = await plans.find(change);
  if (plan?.next !== undefined) await plans.save({ ...plan, next: undefined });
}
