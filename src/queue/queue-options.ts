import { changeRequestKey } from "../core/model/change-request.js";
import type { HostEvent } from "../core/model/event.js";
import type { Clock } from "../core/ports/clock.js";
import type { RunEnd, RunTicket } from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";

/** What both queues need. */
export interface QueueOptions {
  /** How many change requests are worked on at once. */
  readonly concurrency: number;
  /** Works on one event; one that rejects has failed. */
  readonly run: (event: HostEvent, ticket: RunTicket) => Promise<RunEnd>;
  readonly log: Log;
  readonly clock: Clock;
}

/** The names of an event, of which none may have been accepted before: only the comment's is signed everywhere. */
export function idsOf(event: HostEvent): readonly string[] {
  if (event.kind !== "commented") return [event.delivery];
  return [event.delivery, `${changeRequestKey(event.change)} comment ${event.commentId}`];
}

/** An event in a log line. */
export function fieldsOf(event: HostEvent): object {
  return { delivery: event.delivery, kind: event.kind, change: changeRequestKey(event.change) };
}
