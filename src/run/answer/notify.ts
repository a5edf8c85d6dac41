import { isDeploying } from "../../core/commands/commands.js";
import {
  type ChangeRequest,
  type ChangeRequestRef,
  changeRequestRef,
  identityKey,
} from "../../core/model/change-request.js";
import type { Command } from "../../core/model/command.js";
import { StoreUnavailable } from "../../core/model/errors.js";
import type { Notification, RolledOut, RunEnded } from "../../core/model/notification.js";
import {
  type ApplicationSync,
  type CommandResult,
  type CommandResultOf,
  type ResultKind,
  wasRolledBack,
} from "../../core/model/result.js";
import type { Rollout, RolloutState } from "../../core/model/rollout.js";
import { leavesOut } from "../../core/ports/log.js";
import { SERVICE } from "../../names.js";
import type { Answerable } from "../line/outcome.js";
import type { Run } from "../line/run.js";

type News = Pick<RunEnded, "command" | "applications" | "overridden" | "takenOver">;

function notificationOf<K extends ResultKind>(
  result: CommandResultOf<K>,
  command: Command | undefined,
): News | undefined {
  return NEWS[result.kind](result, command);
}

type NewsOf<K extends ResultKind> = (result: CommandResultOf<K>, command: Command | undefined) => News | undefined;

const NEWS: { readonly [K in ResultKind]: NewsOf<K> } = {
  planned: () => undefined,
  synced(result) {
    const news = newsOfDeployment("sync", result);
    return news && { ...news, overridden: [...news.overridden, ...(result.merge?.overridden ?? [])] };
  },
  "rolled-back"(result) {
    const news = newsOfDeployment("rollback", result);
    const takenOver = result.takenOver.map(({ application, holder }) => ({
      application,
      from: changeRequestRef(holder),
    }));
    return news && { ...news, takenOver };
  },
  unlocked: () => undefined,
  updated: () => undefined,
  reverted: () => undefined,
  held: () => undefined,
  released: () => undefined,
  closed: () => undefined,
  help: () => undefined,
  // A refusal is no news, for whoever asked knows how to go on; that something broke is.
  refused({ refusal: { reason } }, command) {
    if (reason !== "failure" && reason !== "store-unavailable") return undefined;
    if (command === undefined || !isDeploying(command) || command.dryRun) return undefined;
    return { command: command.name, applications: [], overridden: [], takenOver: [] };
  },
};

function newsOfDeployment(
  command: News["command"],
  { dryRun, applications }: CommandResultOf<"synced" | "rolled-back">,
): News | undefined {
  if (dryRun || applications.length === 0) return undefined;
  const overridden = applications.flatMap(({ application, overridden: lifted = [] }) =>
    lifted.map((check) => ({ ...check, application })),
  );
  return { command, applications: applications.map(notifiedOf), overridden, takenOver: [] };
}

function notifiedOf(sync: ApplicationSync): RunEnded["applications"][number] {
  return { application: sync.application, outcome: sync.kind, rolledBack: wasRolledBack(sync) };
}

/** Tells receivers what became of a command, once per run and beside the answer. Never rejects. @param outsider may not fill a channel. */
export async function tellReceivers(
  { command, by, outsider }: Pick<Answerable, "command" | "by"> & { readonly outsider: boolean },
  result: CommandResult,
  change: ChangeRequest,
  run: Run,
): Promise<void> {
  const facts = outsider && result.kind === "refused" ? undefined : notificationOf(result, command);
  if (facts === undefined) return;
  const about = { change: changeRequestRef(change), head: change.headRevision, by: by?.login ?? SERVICE };
  // A run that broke may go on in another attempt, and deploy after all.
  const id = result.kind === "refused" ? `${run.runId} broke` : run.runId;
  await publish({ ...origin(id, run), kind: "run-ended", ...about, ...facts }, run);
}

/** Tells receivers of a merge, before the locks and records that name its applications are removed. @throws {StoreUnavailable} */
export async function tellOfMerge(change: ChangeRequest, run: Run): Promise<void> {
  if (run.config.notifications.length === 0) return;
  try {
    const skip = leavesOut(run.log);
    const [held, records] = await Promise.all([run.locks.list(change, skip), run.deployments.ofChange(change, skip)]);
    const applications = [...new Set([...records, ...held].map(({ application }) => application))].sort();
    if (applications.length === 0) return;
    const about = { change: changeRequestRef(change), head: change.headRevision, applications };
    await publish({ ...origin(`merged ${identityKey(change)}`, run), kind: "merged", ...about }, run);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    run.log.warn({ err: error }, "could not tell receivers of a merge");
  }
}

/** Tells receivers how a rollout ended. Never rejects. */
export async function tellOfRollout({ applications, merged, approval }: Rollout, change: ChangeRequestRef, run: Run) {
  const about = { change: changeRequestRef(change), head: merged, unapproved: approval === "missing" };
  const ends = applications.map(({ application, state }) => ({ application, end: endOf(state.kind) }));
  const id = `rolled out ${identityKey(change)}`;
  await publish({ ...origin(id, run), kind: "rolled-out", ...about, applications: ends }, run);
}

function endOf(kind: RolloutState["kind"]): RolledOut["applications"][number]["end"] {
  return kind === "reached" ? "succeeded" : kind === "manual" ? "waiting" : "failed";
}

function origin(id: string, { clock }: Run) {
  return { id, at: clock.now().toISOString() };
}

/** Publishes a notification; if that fails, the replica that took over the run publishes it. */
async function publish(notification: Notification, { notifications, log }: Run): Promise<void> {
  try {
    await notifications.publish(notification);
  } catch (error) {
    log.debug({ err: error }, "a notification is left to another replica");
  }
}
