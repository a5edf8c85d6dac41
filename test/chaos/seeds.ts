/** Rounds that failed once; each is played again before the random ones. */
export const KEPT_SEEDS: readonly number[] = [];
