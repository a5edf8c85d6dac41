import type { ApplicationName } from "../model/brand.js";
import type { AfterApproval, Names, NextStep } from "../model/next-step.js";
import type { Refusal } from "../model/result.js";
import type { AccessCommand } from "../model/settings.js";
import type { ApplicationFacts, FactName, Facts } from "./facts.js";

/** What is judged. `merge` is a merge by svc, and whether the commit status is green. */
export type Judged = AccessCommand | "merge";

export type Gate =
  | "closed"
  | "fork"
  | "broken-rules"
  | "write-access"
  | "head-moved"
  | "conflicts"
  | "mergeability-unknown"
  | "unread-files"
  | "unplanned"
  | "behind"
  | "unevaluated"
  | "unseen"
  | "checks"
  | "merge-checks"
  | "unchecked"
  | "withheld"
  | "withheld-sets"
  | "uncovered"
  | "nothing-locked"
  | "stale"
  | "effect-differs"
  | "undeployable"
  | "access"
  | "approval"
  | "auto-sync"
  | "locked-by-other"
  | "not-synced"
  | "rules-approval";

/** Why something may not be done. */
export interface Bar {
  readonly gate: Gate;
  /** Undefined if it bars everything. */
  readonly application: ApplicationName | undefined;
  /** A clause about the application or the change request; untrusted. */
  readonly why: string;
  /** A fact could not be read, so nobody knows. */
  readonly untold: boolean;
}

/** What the refusal and the next step of a gate are made of. */
export interface Barred {
  readonly bars: readonly Bar[];
  readonly applications: readonly ApplicationFacts[];
  /** What the command may be given for instead. */
  readonly others: Names;
  /** What the next step is asked for; empty if that is the whole change request. */
  readonly only: Names;
}

interface RuleBase {
  readonly commands: readonly Judged[];
  /** If one of these could not be read, it bars. */
  readonly needs?: readonly FactName[];
  /** If it could not be read, that is why it bars: it bars without it anyway. */
  readonly asks?: FactName;
  /** Who can take the bar away. */
  readonly liftedBy: "push" | "plan" | "approval" | "sync" | "holder" | "operator" | "nobody" | "time";
  /** A sync answers the lowest number that bars. Gates with the same number are answered together. */
  readonly specificationOrder: number;
  /** If absent, the command's answer lists each application with its reason. */
  readonly refusal?: (barred: Barred, facts: Facts, command: Judged) => Refusal;
  /** Undefined if it does not keep the change request from getting ahead. */
  readonly step?: (barred: Barred, facts: Facts, then: AfterApproval) => NextStep;
}

/** Why a gate of the whole change request bars, and because of which application, set or file if there is one. */
export interface ChangeBar {
  readonly application: ApplicationName | undefined;
  readonly reason: string;
}

/** A gate of the whole change request. */
interface ChangeRule extends RuleBase {
  readonly of: "change";
  readonly bars: (facts: Facts, command: Judged) => readonly ChangeBar[];
}

/** A gate of each application. */
interface ApplicationRule extends RuleBase {
  readonly of: "application";
  readonly bars: (one: ApplicationFacts, facts: Facts, command: Judged) => string | undefined;
}

/** What bars nothing, and people have to know before they go on. */
export interface DangerRule {
  readonly of: "danger";
  readonly commands: readonly Judged[];
  /** In a few words each; untrusted. */
  readonly warns: (one: ApplicationFacts, facts: Facts) => readonly string[];
}

export type Rule = ChangeRule | ApplicationRule;

export type RuleOf<K extends Rule["of"]> = Extract<Rule, { readonly of: K }>;

/** Rows that only warn. */
export type DangerGate = "refused-by-cluster" | "destroys" | "replaces-other";
