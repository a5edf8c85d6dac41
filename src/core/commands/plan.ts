import type { ApplicationName } from "../brand.js";
import { changeRequestName, changeRequestRef } from "../change-request.js";
import type { Command } from "../command.js";
import { isDeployedAt, type Deployment } from "../deployment.js";
import { findInputGaps } from "../input-gaps.js";
import type { LockAttempt } from "../lock.js";
import { diffManifests } from "../manifest-diff.js";
import type { ApplicationPlan, Plan, PlanLock } from "../plan.js";
import { renderSide, type Rendered } from "../render.js";
import type { CommandResult } from "../result.js";
import { survey, type LiveSubject, type Subject } from "../survey.js";
import { previewApplicationSets } from "./application-sets.js";
import type { CommandContext } from "./context.js";

type PlanCommand = Extract<Command, { readonly name: "plan" }>;

/**
 * Finds the affected applications, locks them, renders both sides and stores what differs. An aborted run gives back
 * the locks that it took and leaves nothing behind.
 */
export async function plan(command: PlanCommand, context: CommandContext): Promise<CommandResult> {
  const { change, settings } = context;
  const found = await survey(context);
  const names = new Set<string>(found.subjects.map(({ name }) => name));
  const unknown = command.applications.filter((name) => !names.has(name));
  if (unknown.length > 0) {
    return { kind: "refused", refusal: { reason: "unknown-applications", applications: unknown } };
  }
  const everything = command.applications.length === 0;
  const selected = found.subjects.filter(({ name }) => everything || command.applications.includes(name));
  const locks = new Map<ApplicationName, LockAttempt>();
  try {
    await acquireAll(selected, locks, context);
    const [applications, applicationSets] = await Promise.all([
      evaluate(selected, locks, context),
      previewApplicationSets(found.detection.applicationSets, context),
    ]);
    context.signal.throwIfAborted();
    const settled = await settleLocks(applications, locks, context);
    const left = found.subjects.filter((subject) => !selected.includes(subject)).map(unplanned);
    const result: Plan = {
      change: changeRequestRef(change),
      head: change.headRevision,
      plannedAt: context.clock.now().toISOString(),
      applications: [...settled, ...(await keepEarlier(left, context))].sort(byName),
      applicationSets,
      notDeployed: found.notDeployed,
      released: everything ? await releaseOthers(names, context) : [],
      notes: found.detection.notes,
    };
    await context.plans.save(result);
    context.signal.throwIfAborted();
    return { kind: "planned", plan: result, pruning: settings.prune };
  } catch (error) {
    if (context.signal.aborted) await giveBack(locks, context);
    throw error;
  }
}

function byName(left: ApplicationPlan, right: ApplicationPlan): number {
  return left.application < right.application ? -1 : left.application > right.application ? 1 : 0;
}

async function acquireAll(
  subjects: readonly Subject[],
  into: Map<ApplicationName, LockAttempt>,
  { locks, change, user, clock }: CommandContext,
): Promise<void> {
  await Promise.all(
    subjects.map(async ({ name, sourceFile }) => {
      const request = {
        application: name,
        holder: changeRequestRef(change),
        user: user.login,
        planRevision: undefined,
        sourceFile,
      };
      into.set(name, await locks.acquire(request, clock.now()));
    }),
  );
}

async function giveBack(taken: ReadonlyMap<ApplicationName, LockAttempt>, { locks, change, log }: CommandContext) {
  const fresh = [...taken].filter(([, attempt]) => attempt.kind === "acquired" && attempt.fresh);
  const released = await Promise.allSettled(fresh.map(([name]) => locks.release(name, change)));
  if (released.some(({ status }) => status === "rejected")) {
    log.warn({ applications: fresh.map(([name]) => name) }, "locks of a stopped plan could not be released");
  }
}

async function evaluate(
  subjects: readonly Subject[],
  locks: ReadonlyMap<ApplicationName, LockAttempt>,
  context: CommandContext,
): Promise<readonly ApplicationPlan[]> {
  const live = subjects.filter((subject) => subject.kind === "live");
  const heads = await renderSide("head", live, context);
  const bases = await renderSide("base", live, context);
  return Promise.all(
    subjects.map(async (subject) => {
      const attempt = locks.get(subject.name);
      const lock: PlanLock = attempt?.kind === "held" ? { kind: "held", by: attempt.lock } : { kind: "ours" };
      const common = {
        application: subject.name,
        lock,
        sourceFile: subject.sourceFile,
        warnings: [],
        atMerge: undefined,
      };
      switch (subject.kind) {
        case "new":
        case "deleted":
          return { ...common, kind: subject.kind };
        case "unreadable":
          return { ...common, kind: "unevaluated" as const, reason: subject.problem };
        case "live":
          return {
            ...common,
            warnings: await warningsOf(subject, context),
            atMerge: subject.autoSynced ? AUTO_SYNCED : undefined,
            ...evaluated(subject, heads.get(subject), bases.get(subject), context),
          };
      }
    }),
  );
}

const AUTO_SYNCED = "auto-sync is enabled: Argo CD deploys it by itself at the merge";

function evaluated(
  subject: LiveSubject,
  head: Rendered | undefined,
  base: Rendered | undefined,
  { change }: CommandContext,
) {
  if (head?.kind !== "rendered") return { kind: "unevaluated" as const, reason: head?.reason ?? "not rendered" };
  if (base?.kind !== "rendered") return { kind: "unevaluated" as const, reason: base?.reason ?? "not rendered" };
  const diff = diffManifests({
    base: base.manifests,
    head: head.manifests,
    destinationNamespace: destinationNamespace(subject),
    placeholders: { base: change.baseRevision, head: change.headRevision },
  });
  const verdict = diff.resources.length > 0 ? "changed" : diff.hiddenSecrets ? "unknown" : "unchanged";
  return { kind: "evaluated" as const, verdict, diff } as const;
}

function destinationNamespace({ head }: LiveSubject): string {
  const destination = head.spec.destination;
  const namespace =
    typeof destination === "object" && destination !== null && "namespace" in destination ? destination.namespace : "";
  return typeof namespace === "string" ? namespace : "";
}

async function warningsOf(subject: LiveSubject, context: CommandContext): Promise<readonly string[]> {
  const { uncovered, behind } = await findInputGaps(subject, context);
  const gaps = [uncovered, behind].filter((one) => one !== undefined);
  const { ownRecord, foreignRecords } = subject;
  const deployed =
    ownRecord === undefined || isDeployedAt(ownRecord, context.change.headRevision)
      ? []
      : [deployedFromHere(ownRecord)];
  return [...subject.warnings, ...deployed, ...foreignRecords.map(deployedElsewhere), ...gaps];
}

function deployedFromHere({ revision }: Deployment): string {
  return `may run commit ${revision.slice(0, 8)} of this PR, which was deployed and is not merged: the diff is against the target branch, not against that commit`;
}

function deployedElsewhere(record: Deployment): string {
  return `runs commit ${record.revision.slice(0, 8)} of PR ${changeRequestName(record.change)}, which is deployed and not merged: a sync from here replaces it`;
}

/**
 * The plan revision goes into the lock only after the application was evaluated. An auto-synced application that is
 * proven unchanged is not locked, so that it does not stand in the way of others.
 */
async function settleLocks(
  applications: readonly ApplicationPlan[],
  taken: Map<ApplicationName, LockAttempt>,
  { locks, change, user, clock }: CommandContext,
): Promise<readonly ApplicationPlan[]> {
  return Promise.all(
    applications.map(async (one): Promise<ApplicationPlan> => {
      if (one.lock.kind !== "ours" || one.kind === "unevaluated" || one.kind === "unplanned") return one;
      if (one.kind === "evaluated" && one.verdict === "unchanged" && one.atMerge !== undefined) {
        await locks.release(one.application, change);
        return { ...one, lock: { kind: "not-needed" } };
      }
      const attempt = await locks.acquire(
        {
          application: one.application,
          holder: changeRequestRef(change),
          user: user.login,
          planRevision: change.headRevision,
          sourceFile: one.sourceFile,
        },
        clock.now(),
      );
      // Released meanwhile, by a close that another replica handled for instance, and taken anew by this plan.
      if (attempt.kind === "acquired" && attempt.fresh) taken.set(one.application, attempt);
      return attempt.kind === "held" ? { ...one, lock: { kind: "held", by: attempt.lock } } : one;
    }),
  );
}

function unplanned(subject: Subject): ApplicationPlan {
  return {
    kind: "unplanned",
    application: subject.name,
    lock: { kind: "not-needed" },
    sourceFile: subject.sourceFile,
    warnings: [],
    atMerge: undefined,
  };
}

/** What `-a` leaves out keeps what an earlier plan of the same head said of it. */
async function keepEarlier(
  left: readonly ApplicationPlan[],
  { plans, change }: CommandContext,
): Promise<readonly ApplicationPlan[]> {
  if (left.length === 0) return [];
  const earlier = await plans.find(change);
  if (earlier?.head !== change.headRevision) return left;
  return left.map((one) => earlier.applications.find(({ application }) => application === one.application) ?? one);
}

/** A whole plan gives back the locks of applications that the change request no longer affects. */
async function releaseOthers(
  affected: ReadonlySet<string>,
  { locks, change }: CommandContext,
): Promise<readonly ApplicationName[]> {
  const held = await locks.list(change);
  const others = held.filter(({ application }) => !affected.has(application)).map(({ application }) => application);
  await Promise.all(others.map((name) => locks.release(name, change)));
  return others;
}
