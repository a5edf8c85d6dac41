/** Counts login attempts per address, across replicas. Methods throw `StoreUnavailable`. */
export interface AttemptCounter {
  /** Adds one and returns the count of the window, which opens with the first. */
  add(key: string, windowMs: number): Promise<{ readonly count: number; readonly resetsInMs: number }>;
}
