import { changeRequestKey, identityKey } from "../core/model/change-request.js";
import type { HostEvent } from "../core/model/event.js";
import type { Clock } from "../core/ports/clock.js";
import type { RunEnd, RunTicket } from "../core/ports/event-queue.js";
import type { Log } from "../core/ports/log.js";

export interface QueueOptions {
  readonly concurrency: number;
  /** Handles one event. A rejection counts as a failed run. */
  readonly run: (event: HostEvent, ticket: RunTicket) => Promise<RunEnd>;
  readonly log: Log;
  readonly clock: Clock;
}

/** Times of the queue in Redis, in milliseconds. */
export interface QueueTiming {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** How often to look for change requests whose announcement was lost. */
  readonly lookEveryMs: number;
  /** Pauses before each retry of a failed run; after the last one it stays failed. */
  readonly retryAfterMs: readonly number[];
  /** Age at which a command that Redis may have accepted unnoticed was certainly answered as refused by its replica. */
  readonly undoubtedMs: number;
}

/** Hosts repeat a delivery for up to three days; ids are kept a day longer. */
export const IDS_KEPT_MS = 4 * 24 * 60 * 60 * 1000;

/** An event is new if none of its ids was accepted before. Not every host signs the delivery id, so a comment has its own. */
export function idsOf(event: HostEvent): readonly string[] {
  if (event.kind !== "commented") return [event.delivery];
  // The name as well: older versions know comments by it alone.
  const keys = new Set([changeRequestKey(event.change), identityKey(event.change)]);
  return [event.delivery, ...[...keys].map((key) => `${key} comment ${event.commentId}`)];
}

/** How many runs may step aside at once: each keeps its result in memory. */
export const MAX_ASIDE = 200;

export function fieldsOf(event: HostEvent): object {
  return { delivery: event.delivery, kind: event.kind, change: changeRequestKey(event.change) };
}
