import { deployHeads, type HeadTarget } from "../deploy/deploy-head.js";
import type { Detection } from "../detect/scan/affected.js";
import type { ApplicationName } from "../model/brand.js";
import { type Approval, type ChangeRequest, changeRequestKey, type ChangeRequestRef } from "../model/change-request.js";
import { expectedRefusals } from "../model/cluster-check.js";
import type { Command } from "../model/command.js";
import type { Lock } from "../model/lock.js";
import { isPlanOf, type ApplicationPlan, type Plan, type UnreadFile } from "../model/plan.js";
import type { ApplicationSync, CommandResult, Refusal } from "../model/result.js";
import type { LiveSubject } from "../model/subject.js";
import { barredFrom, needsNoApproval } from "../policy/access.js";
import { approvalOf } from "../policy/approval.js";
import { differingFrom } from "../policy/as-planned.js";
import { decideMerge } from "../policy/auto-merge.js";
import { gateChecks } from "../policy/check-gate.js";
import { checkSync } from "../policy/checks.js";
import { confirmSync, type ConfirmOptions } from "../policy/confirm-sync.js";
import { deployedOf, healthRuleFor, needsApproval } from "../policy/effect-rules.js";
import { unseenIn } from "../policy/unseen-sources.js";
import type { CommandContext } from "../ports/context.js";
import { withPlannedDefinitions } from "../survey/followed-children.js";
import { behindOf } from "../survey/input-gaps.js";
import { asPlanned } from "../survey/planned-commits.js";
import { survey, type Survey } from "../survey/survey.js";
import { labelsFor } from "./label-selector.js";
import { plannedIn, select } from "./selection.js";
import { releaseSkipped, skippable } from "./skip.js";
import { obstaclesOf } from "./sync-obstacles.js";

/** How parents of an application ended that an earlier attempt of the run deployed. */
type ParentsDone = (application: ApplicationName) => readonly ApplicationSync[];

/**
 * Deploys the head commit to the selected applications that this change request has locked, parents before their children;
 * one failure does not hide others. The facts behind the checks are read again right before the first call that deploys.
 */
export async function sync(
  command: Command<"sync">,
  context: CommandContext,
  parentsOf: ParentsDone = () => [],
): Promise<CommandResult> {
  const { locks, change, plans, settings } = context;
  const [held, plan, labelsOf] = await Promise.all([
    locks.list(change),
    plans.find(change),
    labelsFor(command, context),
  ]);
  const selection = select(held, command, plannedIn(plan), labelsOf);
  if (selection.kind === "refused") return selection;
  const announced = (plan?.applications ?? []).filter(
    (one) => isAnnounced(one) && selection.items.some(({ application }) => application === one.application),
  );
  const chosen = selection.items.filter(
    (lock) => !announced.some(({ application }) => application === lock.application),
  );
  const surveyed = await withPlannedDefinitions(
    await survey(context),
    plan,
    chosen.map(({ application }) => application),
    context,
  );
  const options = { plan, dryRun: command.dryRun, withoutApproval: await needsNoApproval(command, context) };
  const prepared = await prepare(chosen, surveyed, options, context);
  if ("reason" in prepared) return { kind: "refused", refusal: prepared };
  const unread = unreadFiles(surveyed.detection, plan, context);
  if (unread.length > 0) return { kind: "refused", refusal: { reason: "unread-files", files: unread } };
  const skipped = settings.skipNoChanges ? skippable(chosen, prepared.subjects, { command, plan, context }) : [];
  const deployable = prepared.subjects.filter(({ name }) => !skipped.includes(name));
  const checked = await gateChecks(deployable, plan, context);
  if ("reason" in checked) return { kind: "refused", refusal: checked };
  const confirmed = await confirmSync(chosen, deployable, context, options);
  if ("reason" in confirmed) return { kind: "refused", refusal: confirmed };
  if ("moved" in confirmed) return underPresentRules(command, confirmed.moved, context, parentsOf);
  const behind = await behindOf(confirmed.subjects, context);
  const targets = confirmed.subjects.map((subject): HeadTarget => {
    const planned = plan?.applications.find(({ application }) => application === subject.name);
    const health = deployedOf(plan, [subject.name], change).map((one) => healthRuleFor(one, settings));
    return {
      subject: planned === undefined ? subject : withRefusals(subject, planned),
      after: parentsAmong(confirmed.subjects, subject, plan),
      earlier: parentsOf(subject.name),
      behind: behind.get(subject.name),
      overridden: checked.overridden.get(subject.name) ?? [],
      planned: planned?.kind === "evaluated" ? planned.sources : [],
      health: health[0],
    };
  });
  const deployed = await deployHeads(targets, {
    command,
    approvers: prepared.approval?.approvers ?? [],
    skipped,
    context,
  });
  const names = selection.items.map(({ application }) => application);
  return {
    kind: "synced",
    dryRun: command.dryRun,
    applications: deployed,
    announced,
    skipped: command.dryRun ? skipped : await releaseSkipped(skipped, context),
    replaced: command.dryRun ? [] : replacedBy(deployed, confirmed.subjects),
    ...(await decideMerge({ dryRun: command.dryRun, involved: names, deployed, plan }, context)),
  };
}

/** A sync that is known to fail is allowed, and its answer says so. */
function withRefusals(subject: LiveSubject, planned: ApplicationPlan): LiveSubject {
  const expected = planned.kind === "evaluated" ? expectedRefusals(planned.cluster) : [];
  return expected.length === 0 ? subject : { ...subject, warnings: [...subject.warnings, ...expected] };
}

/** Those of the subjects that track it, or whose head applies a new definition of it. One that applies its own does not wait. */
function parentsAmong(
  subjects: readonly LiveSubject[],
  { name, live }: LiveSubject,
  plan: Plan | undefined,
): readonly ApplicationName[] {
  const others = subjects.map((one) => one.name).filter((one) => one !== name);
  return others.filter((other) => {
    if (live.parent === other) return true;
    const planned = plan?.applications.find(({ application }) => application === other);
    if (planned?.kind !== "evaluated") return false;
    const { created, changed } = planned.diff.children;
    const applies = planned.effect.applies.some(({ application }) => application === name);
    return applies || [...created, ...changed].includes(live.resourceName);
  });
}

/** Found now, or by the plan that people have reviewed. */
function unreadFiles({ unread }: Detection, plan: Plan | undefined, { change }: CommandContext): readonly UnreadFile[] {
  return unread.length === 0 && isPlanOf(plan, change) ? plan.unread : unread;
}

/** Settings come from the target branch: if it moved, everything is read and checked again. */
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

/** Other change requests whose record "deployed, not merged" a success replaced. */
function replacedBy(
  deployed: readonly ApplicationSync[],
  subjects: readonly LiveSubject[],
): readonly ChangeRequestRef[] {
  const changes = deployed
    .filter(({ kind }) => kind === "succeeded")
    .flatMap(({ application }) => subjects.filter(({ name }) => name === application))
    .flatMap(({ foreignRecords }) => foreignRecords.map(({ change }) => change));
  return [...new Map(changes.map((change) => [changeRequestKey(change), change])).values()];
}

function isAnnounced(plan: ApplicationPlan): boolean {
  return plan.kind === "new" || plan.kind === "deleted";
}

interface Prepared {
  readonly subjects: readonly LiveSubject[];
  readonly approval: Approval | undefined;
}

async function prepare(
  chosen: readonly Lock[],
  { subjects, notDeployed, everyApplication }: Survey,
  { plan, withoutApproval }: ConfirmOptions,
  context: CommandContext,
): Promise<Prepared | Refusal> {
  const { host, change, settings, user } = context;
  const names = chosen.map(({ application }) => application);
  const deployed = deployedOf(plan, names, change);
  const [approval, mergeability, barred] = await Promise.all([
    !withoutApproval && needsApproval(deployed, settings) ? approvalOf(context) : undefined,
    host.mergeability(change),
    barredFrom("sync", deployed, context),
  ]);
  const selected = subjects.filter(({ name }) => names.includes(name));
  const live = selected.filter((subject) => subject.kind === "live");
  const plannedOf = (name: ApplicationName) =>
    isPlanOf(plan, change) ? plan.applications.find(({ application }) => application === name) : undefined;
  const found = await Promise.all(live.map((subject) => asPlanned(subject, plannedOf(subject.name), context)));
  const pinned = found.flatMap((one) => (one.kind === "as-planned" ? [one.subject] : []));
  const moved = found.flatMap((one, index) => {
    const name = live[index]?.name;
    return one.kind === "moved" && name !== undefined ? [[name, one.sentence] as const] : [];
  });
  const refusal = checkSync({
    change,
    settings,
    locks: chosen,
    withoutApproval,
    approval,
    mergeability,
    autoSynced: new Set(live.filter(({ autoSynced }) => autoSynced).map(({ name }) => name)),
    user,
    barred,
    obstacles: [
      ...(withoutApproval ? [] : unseenIn(deployed, plan, context.settings)),
      ...(await obstaclesOf(deployed, selected, notDeployed, context)),
    ],
    differing: differingFrom(plan, pinned, everyApplication, change),
    plan,
    moved: new Map(moved),
  });
  if (refusal !== undefined) return refusal;
  return { subjects: pinned, approval };
}
