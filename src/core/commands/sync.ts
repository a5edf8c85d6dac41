import { deployHeads } from "../deploy/deploy-head.js";
import { readFacts } from "../facts/read-facts.js";
import { readAgain, readForSync } from "../facts/read-sync.js";
import { isLifted, readSyncChecks, withChecks } from "../facts/sync-checks.js";
import type { ChangeRequest } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import type { CommandResult } from "../model/result.js";
import { ownLocksIn } from "../policy/application-state.js";
import { refusedBy } from "../policy/next-step.js";
import type { CommandContext } from "../ports/context.js";
import { decideMerge } from "./auto-merge.js";
import { labelsFor } from "./label-selector.js";
import { plannedIn, select } from "./selection.js";
import { releaseSkipped, skippable } from "./skip.js";
import { replacedBy, targetsOf, type ParentsDone } from "./sync-targets.js";

/**
 * Deploys the head commit to the selected applications that this change request has locked, parents before their children;
 * one failure does not hide others. Judged before anything is rendered, with the checks, and right before the first call
 * that deploys.
 */
export async function sync(
  command: Command<"sync">,
  context: CommandContext,
  parentsOf: ParentsDone = () => [],
): Promise<CommandResult> {
  const { settings } = context;
  const [read, labelsOf] = await Promise.all([readFacts(context, { review: "nothing" }), labelsFor(command, context)]);
  const { plan, approvals } = read;
  // What the stores could not tell refuses a sync before anything else is read.
  if (Object.keys(read.facts.untold).length > 0) {
    const doubtful = refusedBy("sync", read.facts);
    if (doubtful !== undefined) return doubtful;
  }
  const selection = select(ownLocksIn(read.facts), command, plannedIn(plan), labelsOf);
  if (selection.kind === "refused") return selection;
  const names = selection.items.map(({ application }) => application);
  const announced = (plan?.applications ?? []).filter(
    ({ application, kind }) => (kind === "new" || kind === "deleted") && names.includes(application),
  );
  const first = await readForSync(command, names, read, context);
  const unready = refusedBy("sync", first.facts, (gate) => gate !== "checks");
  if (unready !== undefined) return unready;
  const chosen = first.subjects.map(({ name }) => name);
  const skipped = settings.skipNoChanges ? skippable(chosen, first.subjects, { command, plan, context }) : [];
  const deployable = first.subjects.filter(({ name }) => !skipped.includes(name));
  const checks = await readSyncChecks(deployable, plan, approvals, context);
  const failing = refusedBy("sync", withChecks(first.facts, checks));
  if (failing !== undefined) return failing;
  const again = { plan, command, lifted: isLifted(checks) };
  const { facts, subjects, moved } = await readAgain({ ...first, subjects: deployable }, again, context);
  if (moved !== undefined) return underPresentRules(command, moved, context, parentsOf);
  const barred = refusedBy("sync", withChecks(facts, checks, facts.approval));
  if (barred !== undefined) return barred;
  const deployed = await deployHeads(await targetsOf(subjects, { plan, checks, parentsOf, context }), {
    command,
    approvers: facts.approval?.approvers ?? [],
    skipped,
    context,
  });
  return {
    kind: "synced",
    dryRun: command.dryRun,
    applications: deployed,
    announced,
    skipped: command.dryRun ? skipped : await releaseSkipped(skipped, context),
    replaced: command.dryRun ? [] : replacedBy(deployed, subjects),
    ...(await decideMerge({ dryRun: command.dryRun, involved: names, deployed, plan }, context)),
  };
}

/** Settings come from the target branch: if it moved, everything is read and judged again. */
async function underPresentRules(
  command: Command<"sync">,
  change: ChangeRequest,
  context: CommandContext,
  parentsOf: ParentsDone,
): Promise<CommandResult> {
  context.signal.throwIfAborted();
  const { settings, problems, snapshot } = await context.reload(change);
  if (problems.length > 0) return { kind: "refused", refusal: { reason: "repository-file", problems } };
  return sync(command, { ...context, change, settings, snapshot }, parentsOf);
}
