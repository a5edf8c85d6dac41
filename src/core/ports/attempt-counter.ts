/** Counts what an address does, for all replicas together. Methods throw `StoreUnavailable`. */
export interface AttemptCounter {
  /** Adds one and answers how many there are in the window that the first one opened. */
  add(key: string, windowMs: number): Promise<{ readonly count: number; readonly resetsInMs: number }>;
}
