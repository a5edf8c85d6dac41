import type { ApplicationName } from "../model/brand.js";
import type { AfterApproval, Names, NextStep } from "../model/next-step.js";
import type { Refusal } from "../model/result.js";
import type { AccessCommand } from "../model/settings.js";
import type { ApplicationFacts, FactName, Facts, StoredFact } from "./facts.js";

/** The action that is judged. `merge` decides about a merge by svc and about a green commit status. */
export type Judged = AccessCommand | "update" | "revert" | "hold" | "release" | "merge";

/** In the order in which people should clear them: first what makes other work worthless, such as a push. */
export const GATES = [
  "closed",
  "fork",
  "updates-off",
  "shared-head",
  "unmerged",
  "broken-rules",
  "write-access",
  "head-moved",
  "conflicts",
  "mergeability-unknown",
  "unread-files",
  "unplanned",
  "project",
  "behind",
  "unevaluated",
  "unseen",
  "checks",
  "merge-checks",
  "unchecked",
  "missed",
  "withheld",
  "withheld-sets",
  "uncovered",
  "nothing-locked",
  "stale",
  "effect-differs",
  "undeployable",
  "access",
  "approval",
  "auto-sync",
  "locked-by-other",
  "held",
  "stage",
  "not-synced",
  "rules-approval",
] as const;
export type Gate = (typeof GATES)[number];

/** One reason against a command or a merge. */
export interface Bar {
  readonly gate: Gate;
  /** Undefined if it bars everything. */
  readonly application: ApplicationName | undefined;
  /** A clause about the application or the change request; untrusted. */
  readonly why: string;
  /** Whether it bars because a fact could not be read. */
  readonly untold: boolean;
}

/** The bars of gates that are answered together, for their refusal and their next step. */
export interface Barred {
  readonly bars: readonly Bar[];
  readonly applications: readonly ApplicationFacts[];
  /** The applications that the command may still be given for. */
  readonly others: Names;
  /** The applications that the next step is for; empty for all. */
  readonly only: Names;
}

/** What makes a stored fact worthless: another head, base or rules, a newer result, or time in which somebody else acted. */
export type Stale = "head" | "base" | "policy" | "result" | "time";

interface RuleBase {
  readonly commands: readonly Judged[];
  /** Facts read from outside that it needs: it bars if one of them could not be read. */
  readonly needs?: readonly Exclude<FactName, StoredFact>[];
  /**
   * Stored facts that it trusts, each with what makes it stale: all of that is read again right before an act. It bars if
   * one of them could not be read.
   */
  readonly trusts?: Readonly<Partial<Record<StoredFact, readonly [Stale, ...Stale[]]>>>;
  /** A fact that is read only where the gate bars without it: if it could not be read, that is the reason given. */
  readonly asks?: FactName;
  /** Who or what can clear it. */
  readonly liftedBy: "push" | "plan" | "approval" | "sync" | "holder" | "operator" | "nobody" | "time";
  /** A sync answers the lowest number that bars. Gates with the same number are answered together. */
  readonly specificationOrder: number;
  /** If absent, the command's answer lists each application with its reason. */
  readonly refusal?: (barred: Barred, facts: Facts, command: Judged) => Refusal;
  /** The next step that clears it; absent if it has none. */
  readonly step?: (barred: Barred, facts: Facts, then: AfterApproval) => NextStep;
}

/** Why a gate of the whole change request bars, with the application, set or file that caused it. */
export interface ChangeBar {
  readonly application: ApplicationName | undefined;
  readonly reason: string;
}

/** A gate of the whole change request. */
interface ChangeRule extends RuleBase {
  readonly of: "change";
  readonly bars: (facts: Facts, command: Judged) => readonly ChangeBar[];
}

interface ApplicationRule extends RuleBase {
  readonly of: "application";
  readonly bars: (one: ApplicationFacts, facts: Facts, command: Judged) => string | undefined;
}

export type Rule = ChangeRule | ApplicationRule;

type RuleOf<K extends Rule["of"]> = Extract<Rule, { readonly of: K }>;

type Row<K extends Rule["of"]> = Omit<RuleOf<K>, "of" | "commands" | "liftedBy" | "specificationOrder">;

/** Makes rows for gates of the whole change request, or of each application. */
export function rowsOf<K extends Rule["of"]>(of: K) {
  return (
    commands: Rule["commands"],
    liftedBy: Rule["liftedBy"],
    specificationOrder: Rule["specificationOrder"],
    row: Row<K>,
  ) => ({ of, commands, liftedBy, specificationOrder, ...row }) as const;
}

/** A danger: it bars nothing, but people have to know it before they go on. */
interface DangerRule {
  readonly of: "danger";
  readonly commands: readonly Judged[];
  /** What people have to know about an application, in a few words each. Untrusted text. */
  readonly warns: (one: ApplicationFacts, facts: Facts) => readonly string[];
}

/** A row for each gate, and for each danger. */
export type Rules = Readonly<
  Record<Gate, Rule> & Record<"refused-by-cluster" | "destroys" | "replaces-other", DangerRule>
>;
