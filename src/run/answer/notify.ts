import { notificationOf } from "../../core/commands/notification-of.js";
import { type ChangeRequest, changeRequestKey, changeRequestRef } from "../../core/model/change-request.js";
import type { Notification } from "../../core/model/notification.js";
import type { CommandResult } from "../../core/model/result.js";
import { SERVICE } from "../../names.js";
import type { Answerable } from "../line/asked.js";
import type { Run } from "../line/run.js";

/**
 * Tells receivers what became of a command: once for all attempts of a run. Runs beside the answer, which does not wait for it.
 * Never rejects.
 * @param outsider Whoever has no access cannot fill a channel with what broke.
 */
export async function tellReceivers(
  { command, by, outsider }: Pick<Answerable, "command" | "by"> & { readonly outsider: boolean },
  result: CommandResult,
  change: ChangeRequest,
  run: Run,
): Promise<void> {
  const facts = outsider && result.kind === "refused" ? undefined : notificationOf(result, command);
  if (facts === undefined) return;
  const about = { change: changeRequestRef(change), head: change.headRevision, by: by?.login ?? SERVICE };
  await publish({ ...origin(run.runId, run), kind: "run-ended", ...about, ...facts }, run);
}

/** Before locks and records go, which say what it was about: after an interruption, the next attempt tells it. Never rejects. */
export async function tellOfMerge(change: ChangeRequest, run: Run): Promise<void> {
  if (run.config.notifications.length === 0) return;
  try {
    const [held, records] = await Promise.all([run.locks.list(change), run.deployments.ofChange(change)]);
    const applications = [...new Set([...records, ...held].map(({ application }) => application))].sort();
    if (applications.length === 0) return;
    const about = { change: changeRequestRef(change), head: change.headRevision, applications };
    await publish({ ...origin(`merged ${changeRequestKey(change)}`, run), kind: "merged", ...about }, run);
  } catch (error) {
    run.log.warn({ err: error }, "could not tell receivers of a merge");
  }
}

function origin(id: string, { clock }: Run) {
  return { id, at: clock.now().toISOString() };
}

/** Another replica that took over the run tells it in this one's place. */
async function publish(notification: Notification, { notifications, log }: Run): Promise<void> {
  try {
    await notifications.publish(notification);
  } catch (error) {
    log.debug({ err: error }, "a notification is left to another replica");
  }
}
