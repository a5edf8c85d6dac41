/** Every task; `src/workers/tasks.ts` has the table. */
export type TaskName = "read-resources";

/** A pure function over content that strangers wrote. Input and output are plain values that can be cloned. */
export interface Task<I, O> {
  readonly name: TaskName;
  /** What is wrong with the content is part of the output. An error is a bug. */
  readonly run: (input: I) => O | Promise<O>;
}

/**
 * Runs tasks away from the thread that answers requests. A task that takes too long, or too much memory, is ended, and
 * nothing else is harmed.
 */
export interface Compute {
  /** Rejects with the reason of the signal, or with the error of a task that has a bug. */
  run<I, O>(task: Task<I, O>, input: I, limits: ComputeLimits): Promise<Computed<O>>;
}

export interface ComputeLimits {
  /** Whose work it is, for example a change request. Owners take turns, and none gets all the threads. */
  readonly owner: string;
  /** Milliseconds of running; waiting for a turn does not count. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

export type Computed<O> =
  | { readonly kind: "done"; readonly output: O }
  /** The task was ended; it would exceed its limits again. */
  | { readonly kind: "exceeded"; readonly limit: "time" | "memory" };
