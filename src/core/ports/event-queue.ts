import type { HostEvent } from "../model/event.js";
import type { RunNotes } from "../model/run-notes.js";

/** Why a run is stopped: the reason of its `AbortSignal`. With `handed-back` another replica begins it anew. */
export type StopReason = "pushed" | "closed" | "shutdown" | "handed-back";

/** How a run ended; `stopped`: it heeded its signal; `refused`: it was answered that the store is away. */
export type RunEnd = "done" | "failed" | "stopped" | "refused";

/** What a queue gives to each run of an event. */
export interface RunTicket {
  /** Asks the run to stop, with a `Stopped` as its reason; the run decides whether to heed it. */
  readonly signal: AbortSignal;
  /** The event may have been begun before, by a process that is gone: look first at what was done. */
  readonly again: boolean;
  /**
   * To be called before everything that others can see.
   * @throws {LeaseLost} when another replica works on this change request.
   * @throws {StoreUnavailable} when that cannot be told.
   */
  confirm(): Promise<void>;
  readonly journal: RunJournal;
}

/** What a run wrote down of itself, kept until it ends, for the run that goes on after a crash. Methods throw `StoreUnavailable`. */
export interface RunJournal {
  /** @throws {StoredValueUnreadable} */
  read(): Promise<RunNotes>;
  /** Replaces what was written before. */
  write(notes: RunNotes): Promise<void>;
}

/** Runs events in order per change request, and those of different change requests in parallel. */
export interface EventQueue {
  /** False when this delivery was accepted before and did not fail. */
  push(event: HostEvent): Promise<boolean>;
  /** Resolves when nothing waits and nothing runs, over all replicas. */
  idle(): Promise<void>;
  /** Over all replicas. @throws {StoreUnavailable} */
  backlog(): Promise<QueueBacklog>;
  /** Takes no more events, waits for the running ones up to the grace time (ms), then stops them. */
  close(graceMs: number): Promise<void>;
}

export interface QueueBacklog {
  /** Events that were not begun yet. */
  readonly waiting: number;
  readonly running: number;
  /** How long the oldest of those that wait has been waiting, in milliseconds; 0 when none does. */
  readonly oldestMs: number;
}
