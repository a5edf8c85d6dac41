import { isAutoSynced } from "../application-spec.js";
import type { Approval } from "../approval.js";
import type { ApplicationName } from "../brand.js";
import { sameChangeRequest } from "../change-request.js";
import { checkSync, needsApproval } from "../checks.js";
import type { Command } from "../command.js";
import { deploySubject } from "../deploy.js";
import { findInputGaps } from "../input-gaps.js";
import type { Lock } from "../lock.js";
import type { ApplicationPlan, NotDeployed, Plan } from "../plan.js";
import type { CommandResult, Refusal } from "../result.js";
import { survey, type LiveSubject, type Subject } from "../survey.js";
import { decideMerge } from "./auto-merge.js";
import type { CommandContext } from "./context.js";
import { select } from "./selection.js";

export type SyncCommand = Extract<Command, { readonly name: "sync" }>;

/**
 * Deploys the head commit to the selected applications that this change request has locked, all in parallel; one failure
 * hides no other. Everything that the checks decide over is read again right before the first call that deploys.
 */
export async function sync(command: SyncCommand, context: CommandContext): Promise<CommandResult> {
  const { locks, change, plans, settings } = context;
  const selection = select(await locks.list(change), command.applications);
  if (selection.kind === "refused") return selection;
  const plan = await plans.find(change);
  const announced = (plan?.applications ?? []).filter(
    (one) => isAnnounced(one) && selection.items.some(({ application }) => application === one.application),
  );
  const chosen = selection.items.filter(
    (lock) => !announced.some(({ application }) => application === lock.application),
  );
  const { subjects, notDeployed } = await survey(context);
  const prepared = await prepare(chosen, subjects, notDeployed, plan, context);
  if ("reason" in prepared) return { kind: "refused", refusal: prepared };
  const unchanged = chosen.filter((lock) => isUnchanged(lock, plan, context) && !runsOurs(lock, prepared.subjects));
  const skipped = settings.skipNoChanges ? unchanged : [];
  const deployable = prepared.subjects.filter(({ name }) => !skipped.some(({ application }) => application === name));
  const confirmed = await confirm(chosen, deployable, context, command);
  if ("reason" in confirmed) return { kind: "refused", refusal: confirmed };
  const approvers = prepared.approval?.approvers ?? [];
  const deployed = await Promise.all(
    confirmed.subjects.map((subject) => deploySubject(subject, { command, approvers, context })),
  );
  if (!command.dryRun) await Promise.all(skipped.map(({ application }) => locks.release(application, change)));
  const names = chosen.map(({ application }) => application);
  const skippedNames = skipped.map(({ application }) => application);
  return {
    kind: "synced",
    dryRun: command.dryRun,
    applications: deployed,
    announced,
    skipped: skippedNames,
    ...(await decideMerge(
      { dryRun: command.dryRun, involved: names, deployed, plan, approval: prepared.approval },
      context,
    )),
  };
}

function isAnnounced(plan: ApplicationPlan): boolean {
  return plan.kind === "new" || plan.kind === "deleted";
}

function isUnchanged(lock: Lock, plan: Plan | undefined, { change }: CommandContext): boolean {
  const planned = plan?.applications.find(({ application }) => application === lock.application);
  return plan?.head === change.headRevision && planned?.kind === "evaluated" && planned.verdict === "unchanged";
}

/** The plan compares with the target branch; what an earlier sync from here deployed may differ from both sides. */
function runsOurs({ application }: Lock, subjects: readonly LiveSubject[]): boolean {
  return subjects.some(({ name, ownRecord }) => name === application && ownRecord !== undefined);
}

interface Prepared {
  readonly subjects: readonly LiveSubject[];
  readonly approval: Approval | undefined;
}

async function prepare(
  chosen: readonly Lock[],
  subjects: readonly Subject[],
  notDeployed: readonly NotDeployed[],
  plan: Plan | undefined,
  context: CommandContext,
): Promise<Prepared | Refusal> {
  const { host, change, settings } = context;
  const names = chosen.map(({ application }) => application);
  const [approval, mergeability] = await Promise.all([
    needsApproval(settings, names) ? host.approval(change) : undefined,
    host.mergeability(change),
  ]);
  const selected = subjects.filter(({ name }) => names.includes(name));
  const live = selected.filter((subject) => subject.kind === "live");
  const refusal = checkSync({
    change,
    settings,
    locks: chosen,
    approval,
    mergeability,
    autoSynced: new Set(live.filter(({ autoSynced }) => autoSynced).map(({ name }) => name)),
    obstacles: await obstaclesOf(names, selected, notDeployed, context),
    plan,
  });
  return refusal ?? { subjects: live, approval };
}

/** Why a selected application cannot be deployed although it is locked and planned. */
async function obstaclesOf(
  names: readonly ApplicationName[],
  selected: readonly Subject[],
  notDeployed: readonly NotDeployed[],
  context: CommandContext,
): Promise<readonly NotDeployed[]> {
  const found = await Promise.all(
    names.map(async (application): Promise<readonly NotDeployed[]> => {
      const refused = notDeployed.find((one) => one.application === application);
      if (refused !== undefined) return [refused];
      const subject = selected.find(({ name }) => name === application);
      if (subject === undefined) return [{ application, reason: NO_LONGER_AFFECTED }];
      if (subject.kind === "unreadable") return [{ application, reason: subject.problem }];
      if (subject.kind !== "live") return [{ application, reason: NOT_PLANNED_AS_SUCH }];
      const { uncovered, behind } = await findInputGaps(subject, context);
      if (uncovered !== undefined) return [{ application, reason: uncovered }];
      const { requireUpToDate } = context.settings.requirementsFor(application);
      return behind === undefined || !requireUpToDate ? [] : [{ application, reason: behind }];
    }),
  );
  return found.flat();
}

const NO_LONGER_AFFECTED = "this PR no longer affects it: run the plan command again, which releases its lock";
const NOT_PLANNED_AS_SUCH = "its Application resource was added or removed since the plan: run the plan command again";

interface Confirmed {
  readonly subjects: readonly LiveSubject[];
}

/** The head, the approval, the locks and auto-sync once more, right before the first call that deploys. */
async function confirm(
  chosen: readonly Lock[],
  subjects: readonly LiveSubject[],
  context: CommandContext,
  { dryRun }: SyncCommand,
): Promise<Confirmed | Refusal> {
  const { host, change, settings, deployer } = context;
  const names = chosen.map(({ application }) => application);
  const [now, approval, live, others] = await Promise.all([
    host.getChangeRequest(change),
    needsApproval(settings, names) ? host.approval(change) : undefined,
    Promise.all(subjects.map(({ name }) => deployer.findApplication(name))),
    Promise.all(chosen.map((lock) => holderUnlessOurs(lock, dryRun, context))),
  ]);
  if (now.state !== "open") return { reason: "closed", state: now.state };
  if (now.headRevision !== change.headRevision || now.baseBranch !== change.baseBranch) return { reason: "head-moved" };
  if (approval?.approved === false) {
    return { reason: "not-approved", applications: names, missing: approval.missing ?? "", others: [] };
  }
  const lost = others.filter((one) => one !== undefined);
  if (lost.length > 0) {
    const held = lost.filter((one) => one !== "nobody");
    return held.length > 0 ? { reason: "locked-by-other", locks: held } : { reason: "nothing-locked" };
  }
  const autoSynced = live.filter((one) => one !== undefined).filter(({ spec }) => isAutoSynced(spec));
  if (autoSynced.length > 0) {
    const failing = autoSynced.map(({ name }) => name);
    return { reason: "auto-sync", applications: failing, others: names.filter((name) => !failing.includes(name)) };
  }
  return { subjects: subjects.map((subject, index) => ({ ...subject, live: live[index] ?? subject.live })) };
}

/** Refreshes our lock; undefined when it is still ours with the same plan, else who has it. A dry run only looks. */
async function holderUnlessOurs(
  lock: Lock,
  dryRun: boolean,
  { locks, clock }: CommandContext,
): Promise<Lock | "nobody" | undefined> {
  if (dryRun) {
    const found = await locks.find(lock.application);
    if (found === undefined) return "nobody";
    return sameChangeRequest(found.holder, lock.holder) ? undefined : found;
  }
  const { application, holder, user, sourceFile } = lock;
  const attempt = await locks.acquire({ application, holder, user, sourceFile, planRevision: undefined }, clock.now());
  if (attempt.kind === "held") return attempt.lock;
  if (!attempt.fresh) return undefined;
  await locks.release(lock.application, lock.holder);
  return "nobody";
}
