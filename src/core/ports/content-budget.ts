/** At most `max` writes of this rank or a lower one in any period of `windowMs`. */
export interface ContentLimit {
  readonly windowMs: number;
  readonly max: number;
  readonly rank: number;
}

export type Taken = { readonly kind: "taken" } | { readonly kind: "full"; readonly freeInMs: number };

/**
 * Counts the comments and merges that a code host limits, per account and over all replicas. While the store is
 * unavailable each replica counts its own.
 */
export interface ContentBudget {
  /**
   * Counts one write if every limit leaves room for it; otherwise says when there may be. Never rejects.
   * @param rank 0 is the least urgent.
   * @param limits Those of its own rank and above, over the same periods for every rank.
   */
  take(account: string, rank: number, limits: readonly ContentLimit[]): Promise<Taken>;
}
