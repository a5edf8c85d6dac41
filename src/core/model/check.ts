import { createHash } from "node:crypto";
import type { ApplicationName } from "./brand.js";

/** A program of the server's file that looks at what a plan renders. */
export interface Check {
  readonly name: string;
  /** Pattern of the applications that it checks. */
  readonly applications: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** A sync is refused while it fails. */
  readonly required: boolean;
  /** Milliseconds. */
  readonly timeout: number;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** Teams whose members may lift a failure by their approval. */
  readonly overridableBy: readonly string[];
}

/** How a check of one application ended. What is not `passed` has failed. Texts are untrusted. */
export type CheckOutcome =
  | { readonly kind: "passed" }
  /** The program says so: it exited with another code than 0. */
  | { readonly kind: "failed"; readonly reason: string; readonly output: string }
  /** It could not be run to its end, so the outcome is not known. */
  | { readonly kind: "broken"; readonly reason: string; readonly output: string };

/** A check of one application in a plan. */
export interface CheckResult extends Pick<Check, "name" | "required" | "overridableBy"> {
  /** Digest of how it was run: a result counts only for the check as it is configured now. */
  readonly definition: string;
  readonly outcome: CheckOutcome;
  /**
   * When it had failed, in ISO 8601 and by the clock of the host that tells when somebody approved: only a later approval lifts
   * it. Undefined if nobody may lift it, or if that is not known.
   */
  readonly knownAt?: string | undefined;
}

export type FailedCheck = CheckResult & { readonly outcome: Exclude<CheckOutcome, { readonly kind: "passed" }> };

/** A failed required check of an application that was deployed nevertheless. */
export interface OverriddenCheck {
  readonly check: string;
  /** Logins of the members whose approval allowed it. */
  readonly by: readonly string[];
}

/** The same with its application. */
export interface OverriddenOf extends OverriddenCheck {
  readonly application: ApplicationName;
}

/** Values of variables are secrets, so only their names count. */
export function definitionOf({ name, command, timeout, env }: Check): string {
  const parts = [name, command, timeout, env.map((one) => one.name)];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

export function isFailed(result: CheckResult): result is FailedCheck {
  return result.outcome.kind !== "passed";
}
