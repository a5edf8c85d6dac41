import type { ApplicationName } from "../../core/model/brand.js";
import {
  changeRequestKey,
  changeRequestRef,
  sameChangeRequest,
  type ChangeRequestRef,
} from "../../core/model/change-request.js";
import type { HostEvent } from "../../core/model/event.js";
import type { Turn } from "../../core/model/result.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { Log } from "../../core/ports/log.js";
import type { LockStore, WaitStore } from "../../core/ports/stores.js";

/** What the queues for locks need of the service. */
export interface TurnParts {
  readonly locks: Pick<LockStore, "find">;
  readonly waiting: Pick<WaitStore, "of" | "leave">;
  readonly push: EventQueue["push"];
  readonly log: Log;
}

/**
 * Gives the event `turn` to whoever waits longest for each of these applications, one for all of them. Logs what fails: the
 * reconciler looks for free locks that somebody waits for.
 * @param cause Makes the delivery unique: the id of the run that released the locks, or a time.
 * @param passing Has had its turn and is not called again: what cannot leave a queue would have its turn for ever.
 */
export async function callNext(
  { applications, after }: Turn,
  cause: string,
  parts: TurnParts,
  passing?: ChangeRequestRef,
): Promise<void> {
  const { waiting, locks, push, log } = parts;
  const turns = new Map<string, { readonly change: ChangeRequestRef; readonly applications: ApplicationName[] }>();
  try {
    for (const application of applications) {
      const queue = await waiting.of(application);
      const first = queue.find((one) => passing === undefined || !sameChangeRequest(one, passing));
      if (first === undefined || (await locks.find(application)) !== undefined) continue;
      const key = changeRequestKey(first);
      const turn = turns.get(key) ?? { change: first, applications: [] };
      turn.applications.push(application);
      turns.set(key, turn);
    }
    for (const [key, turn] of turns) {
      const origin = { change: turn.change, delivery: `turn-${cause}-${key}` };
      const event: HostEvent = { ...origin, kind: "turn", applications: turn.applications };
      await push(after === undefined ? event : { ...event, after: changeRequestRef(after) });
    }
  } catch (error) {
    log.warn({ applications, err: error }, "could not tell who waits for a released lock");
  }
}

/** Takes a change request out of these queues, and calls whoever comes next. @throws {StoreUnavailable} */
export async function passTurn(
  change: ChangeRequestRef,
  { applications, after }: Turn,
  cause: string,
  parts: TurnParts,
): Promise<void> {
  for (const application of applications) await parts.waiting.leave(application, change);
  await callNext({ applications, after }, cause, parts, change);
}
