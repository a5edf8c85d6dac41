import type { Check, CheckOutcome } from "../model/check.js";

export interface CheckOrder {
  readonly check: Check;
  readonly application: string;
  /** The namespace that the application deploys to; empty if it names none. */
  readonly namespace: string;
  readonly repository: string;
  readonly number: number;
  /** What the head and the target branch render, as YAML documents. They contain no value of a Secret. */
  readonly head: string;
  readonly base: string;
  /** An equal order that ran within the last hour may answer this one. */
  readonly reuse: boolean;
}

export interface CheckLimits {
  /** Whose work it is, for example a change request. Owners take turns. */
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** Runs the programs of checks, a few at a time, within their limits. */
export interface CheckRunner {
  /** What a program prints comes as it was, as far as it was kept; what keeps it from running is an outcome. @throws only the signal's reason. */
  run(order: CheckOrder, limits: CheckLimits): Promise<CheckOutcome>;
}
