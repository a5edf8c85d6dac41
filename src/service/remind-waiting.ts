import { changeRequestKey, changeRequestRef, type ChangeRequestRef } from "../core/model/change-request.js";
import type { Clock } from "../core/ports/clock.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { DeploymentStore } from "../core/ports/stores.js";
import type { Reminders } from "../queue/reminders.js";

export interface RemindParts {
  readonly deployments: DeploymentStore;
  readonly reminders: Reminders;
  readonly queue: EventQueue;
  /** Milliseconds. */
  readonly remindAfter: number | "off";
  readonly clock: Clock;
}

/** Gives the event of a reminder to what has been deployed and not merged for too long. Asks no host. */
export async function remindWaiting({ deployments, reminders, queue, remindAfter, clock }: RemindParts): Promise<void> {
  if (remindAfter === "off") return;
  const now = clock.now().getTime();
  const due = new Map<string, ChangeRequestRef>();
  for (const { change, timestamp } of await deployments.list()) {
    if (now - Date.parse(timestamp) >= remindAfter) due.set(changeRequestKey(change), changeRequestRef(change));
  }
  for (const [key, change] of due) {
    if (!(await reminders.isTime(key))) continue;
    await queue.push({ kind: "still-deployed", delivery: `still-deployed-${key}-${now}`, change });
  }
}
