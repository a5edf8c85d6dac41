import { type ChangeRequestRef, identityKey } from "../model/change-request.js";
import type { HostEvent } from "../model/event.js";
import type { RunNotes } from "../model/progress.js";

/** Why a run is stopped. After `handed-back` another replica starts it again. */
export type StopReason = "pushed" | "closed" | "shutdown" | "handed-back";

/** How a run ended. `stopped`: by its signal. `refused`: the store was unavailable, and a comment said so. */
export type RunEnd = "done" | "failed" | "stopped" | "refused";

export interface RunTicket {
  /** Asks the run to stop, with a `Stopped` as its reason. The run decides when to obey. */
  readonly signal: AbortSignal;
  /** An earlier attempt may have started and crashed: find out first what it did. */
  readonly again: boolean;
  /** Earlier attempts ended the processes that ran them: say so, and run nothing. */
  readonly givenUp: boolean;
  /** Before each write that others can see. @throws {LeaseLost | StoreUnavailable} if another replica took over, or that is unknown. */
  confirm(): Promise<void>;
  readonly journal: RunJournal;
  /** Before a long wait: the next change request runs in this one's place. The run goes on, and its change request starts nothing else. */
  stepAside(): void;
}

/** Notes of a run for the attempt that resumes it after a crash, stored until the run ends. Methods throw `StoreUnavailable`. */
export interface RunJournal {
  /** @throws {StoredValueUnreadable} */
  read(): Promise<RunNotes>;
  write(notes: RunNotes): Promise<void>;
}

/** Runs the events of one change request in order, and those of different ones in parallel. */
export interface EventQueue {
  /** False if this delivery was already accepted and did not fail. */
  push(event: HostEvent): Promise<boolean>;
  /**
   * Whether this event, or the same comment, was accepted before. What failed does not count, so that it is found again, unless it
   * had done something or ended the processes that ran it. @throws {StoreUnavailable}
   */
  knows(event: HostEvent): Promise<boolean>;
  /** Pushes again, for some hours, what failed after it had done something, such as a sync without a posted result. @throws {StoreUnavailable} */
  pushUntold(): Promise<void>;
  /** Whether an event of this change request waits or runs on any replica. @throws {StoreUnavailable} */
  isBusy(change: ChangeRequestRef): Promise<boolean>;
  /** Resolves once nothing waits or runs on any replica. */
  idle(): Promise<void>;
  /** The backlog of all replicas. @throws {StoreUnavailable} */
  backlog(): Promise<QueueBacklog>;
  /** Takes no more events, waits up to `graceMs` for running ones, then stops them. */
  close(graceMs: number): Promise<void>;
}

export interface QueueBacklog {
  readonly waiting: number;
  readonly running: number;
  /** How long the oldest waiting event has waited, in milliseconds; 0 if none waits. */
  readonly oldestMs: number;
}

export class Stopped extends Error {
  override readonly name = "Stopped";
  constructor(readonly reason: StopReason) {
    super(`stopped: ${reason}`);
  }
}

/** Hosts repeat a delivery for up to three days; ids are kept a day longer. */
export const IDS_KEPT_MS = 4 * 24 * 60 * 60 * 1000;

/** For how long svc tries again to post a result. */
export const UNTOLD_KEPT_MS = 6 * 60 * 60 * 1000;

/** An event is new if none of its ids was accepted before. Not every host signs the delivery id, so a comment has its own. */
export function idsOf(event: HostEvent): readonly string[] {
  if (event.kind !== "commented") return [event.delivery];
  return [event.delivery, `${identityKey(event.change)} comment ${event.commentId}`];
}

/** The event as it is pushed again. Like a comment found late, a command that started nothing is run only soon after it came, at `at`. */
export function toldLate(event: HostEvent, at: number): HostEvent {
  if (event.kind !== "commented" || event.found !== undefined) return event;
  return { ...event, found: { writtenAt: new Date(at).toISOString(), overtaken: false } };
}

/** How many runs may step aside at once: each keeps its result in memory. */
export const MAX_ASIDE = 200;
