/** How a queue in Redis waits; all in milliseconds. */
export interface QueueTiming {
  /** How long a silent replica keeps what it runs. */
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** How often it is looked for change requests whose job was lost. */
  readonly lookEveryMs: number;
  /** Pauses before a run that failed is tried again; after the last one it stays failed. */
  readonly retryAfterMs: readonly number[];
  /**
   * After this time whoever took a command without hearing that it was accepted has answered that it is not run: within
   * a second it is decided, the rest is for the answer.
   */
  readonly undoubtedMs: number;
}

/** A killed replica's work goes on after the lease and two looks at most: within 20 seconds. */
export const QUEUE_TIMING: QueueTiming = {
  leaseMs: 10_000,
  heartbeatMs: 1_000,
  lookEveryMs: 5_000,
  retryAfterMs: [2_000, 10_000, 30_000],
  undoubtedMs: 5_000,
};
