import { REPOSITORY_FILE } from "../../names.js";
import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest } from "../model/change-request.js";
import { isDeployedAt, type Deployment } from "../model/deployment.js";
import { referenceTo, type HostWords } from "../model/host-words.js";
import { isPlanOf, isWithheld, withholds, type Plan, type UnreadFile } from "../model/plan.js";
import type { CommitStatus } from "../ports/code-host.js";
import type { FailedFor } from "./merge-checks.js";
import { mergeDecision, requiringApproval } from "./merge-decision.js";
import { commandText, nextStepPieces, plainPieces } from "./next-step-words.js";
import { nextStep } from "./next-step.js";
import type { Standing } from "./standing.js";

/** What is known about the head when its status is set. */
export type StatusFacts =
  /** A plan of the head has started. */
  | { readonly kind: "planning" }
  /** The plan of the head failed; the reason is a text of ours. */
  | { readonly kind: "plan-failed"; readonly reason: string }
  /** Not planned automatically (a fork, a draft, autoplan off); nothing was rendered. */
  | { readonly kind: "detected"; readonly detected: Detected }
  | ({ readonly kind: "planned" } & PlannedFacts);

/** What is known about a head without a render. */
export type Detected =
  | { readonly kind: "nothing"; readonly atMerge: readonly string[] }
  /** Nothing but the repository's rules, without the approval that this needs. */
  | { readonly kind: "rules"; readonly missing: string }
  | { readonly kind: "affected"; readonly applications: readonly string[] }
  /** Changed files that may hide an application. */
  | { readonly kind: "unread"; readonly files: readonly UnreadFile[] }
  /** A fork, which the server does not allow to be planned. */
  | { readonly kind: "barred" }
  /** The detection failed. */
  | { readonly kind: "unknown" };

/** Facts for the status of a planned head, all read for this decision. */
export interface PlannedFacts extends Standing {
  readonly plan: Plan;
  /** Applications whose sync Argo CD just refused, which leaves no record. */
  readonly notStarted: readonly ApplicationName[];
}

export type StatusText = Pick<CommitStatus, "state" | "description">;

/**
 * The commit status `svc/sync`: green if and only if the conditions of auto-merge hold, whether or not it is on.
 * @param words Those of the change request's host.
 */
export function commitStatusOf(facts: StatusFacts, words: HostWords): StatusText {
  switch (facts.kind) {
    case "planning":
      return { state: "pending", description: planningText(words) };
    case "plan-failed":
      return { state: "failure", description: `the plan failed: ${facts.reason}` };
    case "detected":
      return ofDetected(facts.detected, words);
    case "planned": {
      const { state, description } = ofPlan(facts, words);
      return { state, description: joined([description, atMergeText(takingEffect(facts.plan))]) };
    }
  }
}

/** Where a pending text cannot be changed, it must hold until the sync. */
function planningText({ keepsPendingText }: HostWords): string {
  return keepsPendingText ? "not deployed yet: the comments say how far it is" : "planning";
}

function ofDetected(detected: Detected, { command }: HostWords): StatusText {
  switch (detected.kind) {
    case "nothing":
      return { state: "success", description: joined(["nothing to deploy", atMergeText(detected.atMerge)]) };
    case "rules":
      return rulesPending(detected.missing);
    case "affected":
      return { state: "pending", description: `comment ${command} plan: affects ${names(detected.applications)}` };
    case "unread":
      return unread(detected.files);
    case "barred":
      return { state: "pending", description: "comes from a fork, whose content is not planned here" };
    case "unknown":
      return { state: "pending", description: `comment ${command} plan` };
  }
}

function unread(files: readonly UnreadFile[]): StatusText {
  return { state: "failure", description: `could not be read: ${names(files.map(({ file }) => file))}` };
}

function ofPlan(facts: PlannedFacts, words: HostWords): StatusText {
  const { plan, records, change, settings, notStarted } = facts;
  if (!isPlanOf(plan, change)) return ofDetected({ kind: "unknown" }, words);
  if (plan.unread.length > 0) return unread(plan.unread);
  const awaiting = mergeDecision(plan, [], records, change, settings, words).map(({ application }) => application);
  const own = (outcome: Deployment["outcome"]) => {
    const ended = records.filter((one) => one.revision === change.headRevision && one.outcome === outcome);
    const names = new Set(ended.map(({ application }) => application));
    return awaiting.filter((name) => names.has(name));
  };
  const waiting = new Set(awaiting);
  const failed = [...new Set([...own("failed"), ...notStarted.filter((name) => waiting.has(name))])];
  if (failed.length > 0) return { state: "failure", description: `sync failed: ${names(failed)}` };
  if (withholds(plan)) {
    const held = plan.applications.filter(isWithheld).map(({ application }) => application);
    const sets = plan.applicationSets.filter(({ withheld }) => withheld === true).map(({ name }) => name);
    return { state: "pending", description: `needs an approval before it is rendered: ${names([...held, ...sets])}` };
  }
  const unevaluated = plan.applications
    .filter(({ kind, application }) => kind === "unevaluated" && waiting.has(application))
    .map(({ application }) => application);
  if (unevaluated.length > 0) return { state: "failure", description: `could not be evaluated: ${names(unevaluated)}` };
  const unclear = [...own("started"), ...own("unknown")];
  if (unclear.length > 0) {
    return { state: "pending", description: `the end of the sync is not known: look at ${names(unclear)} in Argo CD` };
  }
  const reverting = own("succeeded");
  if (reverting.length > 0) {
    const description = `update the branch: the sync of ${names(reverting)} reverted what ${change.baseBranch} got meanwhile`;
    return { state: "pending", description };
  }
  if (awaiting.length > 0) {
    return {
      state: "pending",
      description: joined([awaits(awaiting, facts, words), approvalText(facts), taken(awaiting, facts, words)]),
    };
  }
  const { missing, failed: failing } = facts.mergeChecks;
  if (missing.length > 0) {
    return { state: "pending", description: `${notChecked(missing)}: comment ${words.command} plan` };
  }
  if (failing.length > 0) return { state: "failure", description: failedText(failing) };
  if (isUnapproved(facts)) return { state: "pending", description: "needs an approval before the merge" };
  if (facts.missingForRules !== undefined) return rulesPending(facts.missingForRules);
  const deployed = records.filter((one) => isDeployedAt(one, change.headRevision));
  const running = new Set(deployed.map(({ application }) => application));
  const synced = plan.applications.map(({ application }) => application).filter((name) => running.has(name));
  return { state: "success", description: synced.length === 0 ? "nothing to deploy" : `synced: ${names(synced)}` };
}

function rulesPending(missing: string): StatusText {
  return { state: "pending", description: `${REPOSITORY_FILE}: ${missing}` };
}

/** What the applications wait for, beginning with the next step of the change request. */
function awaits(awaiting: readonly ApplicationName[], facts: PlannedFacts, words: HostWords): string {
  const locks = new Map(facts.locks.map((lock) => [lock.application, lock.holder]));
  const isHeld = (name: ApplicationName) => {
    const holder = locks.get(name);
    return holder !== undefined && !sameChangeRequest(holder, facts.change);
  };
  const held = facts.locks
    .filter(({ application }) => awaiting.includes(application) && isHeld(application))
    .map(({ application, holder }) => `${application} is locked by ${referenceTo(holder, facts.change, words)}`);
  const rest = awaiting.filter((name) => !isHeld(name));
  const locked = rest.filter((name) => locks.has(name));
  const [now, later] = locked.length > 0 ? [locked, rest.filter((name) => !locks.has(name))] : [rest, []];
  const unplanned = later.length === 0 ? [] : [`${subject(later, "awaits", "await")} ${words.command} plan`];
  return joined([...(now.length === 0 ? [] : [stepText(now, facts, words)]), ...unplanned, ...held]);
}

function stepText(applications: readonly ApplicationName[], facts: PlannedFacts, words: HostWords): string {
  const step = nextStep(facts);
  switch (step.kind) {
    case "command": {
      const command =
        step.command === "plan" ? `${words.command} plan and ${words.command} sync` : commandText(step, words);
      return `${subject(applications, "awaits", "await")} ${command}`;
    }
    case "approve": {
      const then = step.then.kind === "command" ? `, then ${commandText(step.then, words)}` : "";
      return `${subject(applications, "needs", "need")} an approval${then}`;
    }
    case "merge":
    case "merging":
    case "approve-rules":
    case "retry":
    case "push":
    case "checks":
    case "wait":
    case "none":
      return `${names(applications)}: ${plainPieces(nextStepPieces(step, facts.change, words))}`;
  }
}

/** `web awaits`, `2 applications await`. */
function subject(applications: readonly ApplicationName[], one: string, more: string): string {
  return applications.length === 1 ? `${names(applications)} ${one}` : `${applications.length} applications ${more}`;
}

function approvalText({ approval }: PlannedFacts): string {
  return approval?.approved === true ? `approved by ${names(approval.approvers)}` : "";
}

function isUnapproved({ plan, settings, approval }: PlannedFacts): boolean {
  return requiringApproval(plan, settings).length > 0 && approval?.approved !== true;
}

function notChecked(applications: readonly ApplicationName[]): string {
  return `the checks have changed since the plan of ${names(applications)}`;
}

function failedText(all: readonly FailedFor[]): string {
  const checks = new Set(all.flatMap(({ failed }) => failed.map(({ name }) => name)));
  return `failed checks (${names([...checks])}): ${names(all.map(({ application }) => application))}`;
}

/** Who deployed one of these applications from elsewhere. */
function taken(awaiting: readonly ApplicationName[], { change, foreign }: PlannedFacts, words: HostWords): string {
  const waiting = new Set(awaiting);
  const running = foreign
    .filter(({ application, outcome }) => outcome === "succeeded" && waiting.has(application))
    .map(({ application, change: holder }) => `${application} now runs ${referenceTo(holder, change, words)}`);
  return joined(running);
}

/** What the merge deploys, not svc. */
function takingEffect(plan: Plan): readonly string[] {
  const applications = plan.applications.filter((one) => {
    if (one.kind === "new" || one.kind === "deleted") return true;
    return one.atMerge !== undefined && !(one.kind === "evaluated" && one.verdict === "unchanged");
  });
  return [
    ...applications.map(({ application }) => application),
    ...plan.notDeployed.map(({ application }) => application),
    ...plan.applicationSets.map(({ name }) => name),
  ];
}

function atMergeText(applications: readonly string[]): string {
  return applications.length === 0 ? "" : `takes effect at the merge: ${names(applications)}`;
}

const MOST_NAMES = 3;

function names(all: readonly string[]): string {
  const more = all.length - MOST_NAMES;
  return more > 0 ? `${all.slice(0, MOST_NAMES).join(", ")} and ${more} more` : all.join(", ");
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("; ");
}
