import { blockedBy, type Blocked } from "../deploy/child.js";
import { levelsOf } from "../deploy/levels.js";
import type { ApplicationName } from "../model/brand.js";
import type { DeployingCommand } from "../model/command.js";
import type { ApplicationSync, CommandResult, SyncedResult } from "../model/result.js";
import type { RunNotes, StartedApplication } from "../model/run-notes.js";
import type { CommandContext } from "../ports/context.js";
import { decideMerge } from "./auto-merge.js";
import { followStarted, isFollowed, writeDown } from "./follow-started.js";
import { rollback } from "./rollback.js";
import { releaseSkipped } from "./skip.js";
import { sync } from "./sync.js";

/**
 * Finishes what an earlier attempt of this run started to deploy. Operations that reached Argo CD are followed, never
 * repeated; those that certainly did not are started after all checks. Undefined if none reached it, although some should.
 */
export async function resumeDeployment(
  command: DeployingCommand,
  { started = [], skipped = [] }: Pick<RunNotes, "started" | "skipped">,
  context: CommandContext,
): Promise<CommandResult | undefined> {
  const followed = (await Promise.all(started.map((one) => followStarted(one, command, context)))).filter(isFollowed);
  if (followed.length === 0 && started.length > 0) return undefined;
  const applications = followed.map(({ operation }) => operation);
  const { missing, blocked } = splitMissing(started, applications, command);
  const [confirmed, restarted, stopped] = await Promise.all([
    Promise.all(followed.map(({ confirm }) => confirm())),
    missing.length === 0 ? undefined : startMissing(command, missing, { started, skipped, applications }, context),
    Promise.all(blocked.map((one) => giveUp(one, command, context))),
  ]);
  const all = [...confirmed, ...stopped, ...rest(restarted, missing)];
  const { dryRun } = command;
  if (command.name === "rollback") {
    const takenOver = restarted?.kind === "rolled-back" ? restarted.takenOver : [];
    return { kind: "rolled-back", dryRun, applications: all, takenOver };
  }
  const involved = [...started.map(({ application }) => application), ...skipped];
  const unchanged = dryRun ? skipped : await releaseSkipped(skipped, context);
  const plan = await context.plans.find(context.change);
  return {
    kind: "synced",
    dryRun,
    applications: all,
    announced: restarted?.kind === "synced" ? restarted.announced : [],
    skipped: [...unchanged, ...(restarted?.kind === "synced" ? restarted.skipped : [])],
    replaced: restarted?.kind === "synced" ? restarted.replaced : [],
    ...(await decideMerge({ dryRun, involved, deployed: all, plan }, context)),
  };
}

/**
 * The noted result of a sync that was about to be merged. Decides again whether to merge: since then the change request
 * may have got another commit, lost its approval, or been closed.
 */
export async function resumeSynced(result: SyncedResult, context: CommandContext): Promise<SyncedResult> {
  const { state } = context.change;
  if (state === "merged") return result;
  if (state === "closed") return { ...result, merge: undefined };
  const involved = result.applications.map(({ application }) => application);
  const plan = await context.plans.find(context.change);
  const deployed = result.applications;
  return { ...result, ...(await decideMerge({ dryRun: result.dryRun, involved, deployed, plan }, context)) };
}

/** Runs the command for the applications that never started, and keeps the notes of the others. */
async function startMissing(
  command: DeployingCommand,
  missing: readonly ApplicationName[],
  { started, skipped, applications }: Required<Pick<RunNotes, "started" | "skipped">> & Followed,
  context: CommandContext,
): Promise<CommandResult> {
  const noted = new Map(started.map((one) => [one.application, one]));
  const narrowed: CommandContext = {
    ...context,
    noteStarted: (more, moreSkipped) => {
      const others = started.filter(({ application }) => !more.some((one) => one.application === application));
      const again = more.map((one) => ({ ...one, after: noted.get(one.application)?.after ?? one.after }));
      return context.noteStarted([...others, ...again], [...skipped, ...moreSkipped]);
    },
  };
  if (command.name === "rollback") return rollback({ ...command, applications: missing }, narrowed);
  const parentsOf = (name: ApplicationName) =>
    applications.filter(({ application }) => noted.get(name)?.after.includes(application));
  return sync({ ...command, applications: missing }, narrowed, parentsOf);
}

interface Followed {
  /** What reached Argo CD before this attempt, and how it ended. */
  readonly applications: readonly ApplicationSync[];
}

type BlockedChild = Pick<StartedApplication, "application"> & { readonly why: Blocked };

/** Applications that never started: those to start now, and those whose parents were not deployed. */
function splitMissing(
  started: readonly StartedApplication[],
  followed: readonly ApplicationSync[],
  { name, dryRun }: DeployingCommand,
): { readonly missing: readonly ApplicationName[]; readonly blocked: readonly BlockedChild[] } {
  const ended = new Map<ApplicationName, ApplicationSync>(followed.map((one) => [one.application, one]));
  const waiting = started.filter(({ application }) => !ended.has(application));
  const blocked: BlockedChild[] = [];
  for (const { application, after } of levelsOf(waiting).flat()) {
    const parents = after.flatMap((parent) => ended.get(parent) ?? []);
    const why = name === "rollback" || dryRun ? undefined : blockedBy([], parents);
    if (why === undefined) continue;
    blocked.push({ application, why });
    ended.set(application, rejectedSync(application, why.message));
  }
  const isBlocked = new Set(blocked.map(({ application }) => application));
  return {
    missing: waiting.map(({ application }) => application).filter((application) => !isBlocked.has(application)),
    blocked,
  };
}

/** Its record was written before its parents were deployed. */
async function giveUp(
  { application, why }: BlockedChild,
  command: DeployingCommand,
  context: CommandContext,
): Promise<ApplicationSync> {
  const records = await context.deployments.ofChange(context.change);
  const record = records.find((one) => one.application === application);
  const failed = { kind: "failed", message: why.message, resources: [] } as const;
  const kept = await writeDown(application, failed, record, command, context);
  return { ...rejectedSync(application, why.message), warnings: kept === undefined ? [] : [kept] };
}

function rejectedSync(application: ApplicationName, message: string): ApplicationSync {
  return { application, warnings: [], kind: "rejected", message };
}

function rest(restarted: CommandResult | undefined, missing: readonly ApplicationName[]): readonly ApplicationSync[] {
  if (restarted?.kind === "synced" || restarted?.kind === "rolled-back") return restarted.applications;
  if (restarted === undefined) return [];
  const why = restarted.kind === "refused" ? ` (${restarted.refusal.reason})` : "";
  const message = `svc was restarted before it started, and the checks do not let it start now${why}: give the command again`;
  return missing.map((application) => rejectedSync(application, message));
}
