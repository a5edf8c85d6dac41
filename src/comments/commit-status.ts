import { shortRevision } from "../core/model/brand.js";
import { type ChangeRequestRef, sameChangeRequest } from "../core/model/change-request.js";
import type { Deployment } from "../core/model/deployment.js";
import { holdClause } from "../core/model/hold.js";
import { type HostWords, listed, referenceTo } from "../core/model/host-words.js";
import type { UnreadFile } from "../core/model/plan/plan.js";
import { awaitingIn, isAtHead } from "../core/policy/application-state.js";
import type { ApplicationFacts, Facts, FailedFor } from "../core/policy/facts.js";
import type { Bar, Gate } from "../core/policy/gates.js";
import { barsOf, judge } from "../core/policy/judge.js";
import { nextStep } from "../core/policy/next-step.js";
import type { CommitStatus } from "../core/ports/code-host.js";
import type { OwnStatus } from "../core/ports/stores.js";
import { REPOSITORY_FILE, STORE_TITLE } from "../names.js";
import { commandText, nextStepPieces, type Piece } from "./next-step-words.js";
import { joined } from "./parts.js";

export type StatusFacts =
  | { readonly kind: "planning" }
  /** The plan of the head failed; the reason is a text of ours. */
  | { readonly kind: "plan-failed"; readonly reason: string }
  /** Not planned automatically (a fork, a draft, autoplan off); nothing was rendered. */
  | { readonly kind: "detected"; readonly detected: Detected }
  | { readonly kind: "planned"; readonly facts: Facts };

type Detected =
  | { readonly kind: "nothing"; readonly atMerge: readonly string[] }
  /** Only the repository's rules change, and lack the approval that this needs. */
  | { readonly kind: "rules"; readonly missing: string }
  | { readonly kind: "affected"; readonly applications: readonly string[] }
  /** Changed files that may hide an application. */
  | { readonly kind: "unread"; readonly files: readonly UnreadFile[] }
  /** A fork, which the server does not allow to be planned. */
  | { readonly kind: "barred" }
  | { readonly kind: "unknown" };

export type StatusText = Pick<CommitStatus, "state" | "description">;

/** Green if and only if the conditions of auto-merge hold, whether or not it is on. @param words Those of the change request's host. */
export function commitStatusOf(facts: StatusFacts, words: HostWords): StatusText {
  switch (facts.kind) {
    case "planning":
      return { state: "pending", description: planningText(words) };
    case "plan-failed":
      return { state: "failure", description: `the plan failed: ${facts.reason}` };
    case "detected":
      return ofDetected(facts.detected, words);
    case "planned": {
      const { state, description } = ofPlan(facts.facts, words);
      return { state, description: joined([description, atMergeText(takingEffect(facts.facts))], "; ") };
    }
  }
}

/** The status of a commit: the worst of these open change requests', which is named if there are several; of equals that of the lowest number. */
export function worstOf([first, ...others]: readonly [OwnStatus, ...OwnStatus[]], words: HostWords): OwnStatus {
  if (others.length === 0) return first;
  const worst = others.reduce((worse, one) => (BADNESS[one.state] > BADNESS[worse.state] ? one : worse), first);
  const named = worst.state === "success" ? [first, ...others] : [worst];
  return { ...worst, description: named.map((one) => ofOne(one.change, one.description, words)).join("; ") };
}

const BADNESS = { success: 0, pending: 1, failure: 2 } as const;

function ofOne(change: ChangeRequestRef, description: string, words: HostWords): string {
  return `${referenceTo(change, change, words)}: ${description}`;
}

/** Why a commit's status is not green although each of its change requests that is known would be. */
type SharedDoubt =
  /** The first change request with this head that the host lists and svc has not planned. */
  | { readonly kind: "unplanned"; readonly change: ChangeRequestRef }
  | { readonly kind: "cut-off"; readonly why: string }
  /** The host might refuse the next one, and it would stay green. */
  | { readonly kind: "used-up" }
  /** Its host merges the whole stack into that branch. */
  | { readonly kind: "stacked"; readonly into: string }
  /** A merge queue made the commit, and would merge the group. */
  | { readonly kind: "of-queue" }
  | { readonly kind: "not-listed" }
  | { readonly kind: "store" };

export function sharedDoubt(doubt: SharedDoubt, words: HostWords): StatusText {
  const retry = `; comment ${words.command} plan to try again`;
  const which = `cannot tell which ${words.changeRequest}s have this commit as head`;
  switch (doubt.kind) {
    case "unplanned":
      return pending(ofOne(doubt.change, UNPLANNED, words));
    case "cut-off":
      return pending(`${which}: ${doubt.why}`);
    case "used-up":
      return pending("this commit has nearly as many statuses as it can have: push a new one");
    case "stacked":
      return pending(`not planned for ${doubt.into}, which its stack is merged into: merge what is below it first`);
    case "of-queue":
      return pending("a merge queue made this commit: push another one");
    case "not-listed":
      return pending(`${which}: ${words.title} did not list them${retry}`);
    case "store":
      return pending(
        `cannot tell how other ${words.changeRequest}s with this commit stand: ${STORE_TITLE} failed${retry}`,
      );
  }
}

/** What the status of a merge group's head says. */
export type GroupStanding =
  | { readonly kind: "ready"; readonly members: readonly ChangeRequestRef[] }
  | { readonly kind: "not-ready"; readonly change: ChangeRequestRef; readonly why: string }
  /** Both change the application, and each was planned without the other. */
  | { readonly kind: "clash"; readonly application: string; readonly changes: readonly ChangeRequestRef[] }
  /** An open change request has the group's commit as its head, and would get this status. */
  | { readonly kind: "shared"; readonly change: ChangeRequestRef }
  | Extract<SharedDoubt, { readonly kind: "cut-off" }>
  | { readonly kind: "unknown" | "forbidden" | "failed" };

/** The status of a merge group's head. A queue waits for it, so it is never pending. */
export function groupStatus(standing: GroupStanding, words: HostWords): StatusText {
  const state = standing.kind === "ready" ? "success" : "failure";
  return { state, description: groupText(standing, words) };
}

function groupText(standing: GroupStanding, words: HostWords): string {
  const { title, changeRequest } = words;
  const nameOf = (change: ChangeRequestRef) => referenceTo(change, change, words);
  switch (standing.kind) {
    case "ready":
      return `ready to merge: ${names(standing.members.map(nameOf))}`;
    case "not-ready":
      return ofOne(standing.change, standing.why, words);
    case "clash":
      return `${names(standing.changes.map(nameOf))} change ${standing.application}: queue them one after the other`;
    case "shared":
      return `${nameOf(standing.change)} has this commit as its head: close it, then queue again`;
    case "cut-off":
      return sharedDoubt(standing, words).description;
    case "unknown":
      return `${title} does not show which ${changeRequest}s are in this merge group: queue them again`;
    case "forbidden":
      return `cannot read the merge queue: give the App "Merge queues: read", then queue again`;
    case "failed":
      return `cannot tell whether this merge group is ready: ${title} or ${STORE_TITLE} failed; queue it again`;
  }
}

/** The description of the status until svc has looked at a change request. */
export const UNPLANNED = "not planned yet";

/** A host that keeps the first pending text needs one that stays true until the sync. */
function planningText({ keepsPendingText }: HostWords): string {
  return keepsPendingText ? "not deployed yet: the comments say how far it is" : "planning";
}

function ofDetected(detected: Detected, { command }: HostWords): StatusText {
  switch (detected.kind) {
    case "nothing":
      return { state: "success", description: joined(["nothing to deploy", atMergeText(detected.atMerge)], "; ") };
    case "rules":
      return rulesPending(detected.missing);
    case "affected":
      return { state: "pending", description: `comment ${command} plan: affects ${names(detected.applications)}` };
    case "unread":
      return { state: "failure", description: `could not be read: ${names(detected.files.map(({ file }) => file))}` };
    case "barred":
      return { state: "pending", description: "comes from a fork, whose content is not planned here" };
    case "unknown":
      return { state: "pending", description: `comment ${command} plan` };
  }
}

function ofPlan(facts: Facts, words: HostWords): StatusText {
  const { change, applications } = facts;
  const bars = barsOf(judge("merge", { ...facts, asker: undefined }));
  const doubt = bars.find(({ untold }) => untold);
  if (doubt !== undefined) return { state: "pending", description: `cannot tell ${doubt.why}` };
  if (facts.plan?.current !== true) return ofDetected({ kind: "unknown" }, words);
  const awaiting = awaitingIn(facts);
  const ended = (...outcomes: readonly Deployment["outcome"][]) =>
    awaiting.filter(({ record }) => record?.revision === change.headRevision && outcomes.includes(record.outcome));
  const refused = awaiting.filter(({ application }) => facts.justFailed.includes(application));
  const failed = new Set([...ended("failed"), ...refused]);
  if (failed.size > 0) return { state: "failure", description: `sync failed: ${names(namesOf([...failed]))}` };
  const found = bars.find(({ gate }) => STATUS[gate] !== undefined && (STATUS[gate].first || awaiting.length === 0));
  const headline = found && STATUS[found.gate]?.text(barsOfGate(found.gate, bars), facts, words);
  if (headline !== undefined) return headline;
  const unclear = namesOf(ended("started", "unknown"));
  if (unclear.length > 0) return pending(`the end of the sync is not known: look at ${names(unclear)} in Argo CD`);
  if (awaiting.length > 0) {
    const running = taken(namesOf(awaiting), facts, words);
    return pending(joined([awaits(awaiting, facts, words), approvalText(facts), running], "; "));
  }
  const [left] = bars;
  // No bar is green, whether or not it has words of its own.
  if (left !== undefined) {
    return pending(left.application === undefined ? left.why : `${left.application}: ${left.why}`);
  }
  const synced = namesOf(
    applications.filter(({ planned, record }) => planned !== undefined && record && isAtHead(record, change)),
  );
  return { state: "success", description: synced.length === 0 ? "nothing to deploy" : `synced: ${names(synced)}` };
}

interface GateStatus {
  /** Shown before what awaits a sync; the others are shown once everything is synced. */
  readonly first: boolean;
  readonly text: (names: readonly string[], facts: Facts, words: HostWords) => StatusText;
}

const pending = (description: string): StatusText => ({ state: "pending", description });
const failing = (description: string): StatusText => ({ state: "failure", description });

/** The status for each gate that bars the merge; undefined where the next step says it. */
const STATUS: Readonly<Record<Gate, GateStatus | undefined>> = {
  closed: undefined,
  fork: { first: true, text: () => pending("comes from a fork, whose content is not planned here") },
  "broken-rules": { first: true, text: () => failing("the plan failed: the repository's file cannot be used") },
  "updates-off": undefined,
  "shared-head": undefined,
  unmerged: undefined,
  "write-access": undefined,
  "head-moved": undefined,
  conflicts: { first: false, text: () => pending("resolve the merge conflicts and push") },
  "mergeability-unknown": undefined,
  "unread-files": { first: true, text: (all) => failing(`could not be read: ${names(all)}`) },
  unplanned: undefined,
  project: { first: true, text: (all) => failing(`this repository may not introduce ${names(all)} into its project`) },
  behind: {
    first: true,
    text: (all, { change }) =>
      pending(`update the branch: the sync of ${names(all)} reverted what ${change.baseBranch} got meanwhile`),
  },
  unevaluated: { first: true, text: (all) => failing(`could not be evaluated: ${names(all)}`) },
  unseen: undefined,
  checks: undefined,
  "merge-checks": { first: false, text: (_, { mergeChecks }) => failing(failedText(mergeChecks.failed)) },
  unchecked: {
    first: false,
    text: (all, _, { command }) =>
      pending(`the checks have changed since the plan of ${names(all)}: comment ${command} plan`),
  },
  missed: { first: false, text: missedText },
  withheld: { first: true, text: withheldText },
  "withheld-sets": { first: true, text: withheldText },
  uncovered: undefined,
  "nothing-locked": undefined,
  stale: undefined,
  "effect-differs": undefined,
  undeployable: undefined,
  access: undefined,
  approval: { first: false, text: () => pending("needs an approval before the merge") },
  "auto-sync": undefined,
  "locked-by-other": undefined,
  held: { first: true, text: heldText },
  stage: undefined,
  "not-synced": undefined,
  "rules-approval": { first: false, text: (_, { missingForRules }) => rulesPending(missingForRules ?? "") },
};

/** Applications and sets wait for the same approval. */
function withheldText(_: readonly string[], { applications, plan }: Facts): StatusText {
  const held = namesOf(applications.filter(({ planned }) => planned?.withheld === true));
  return pending(`needs an approval before it is rendered: ${names([...held, ...(plan?.withheldSets ?? [])])}`);
}

function heldText(_: readonly string[], { applications, others }: Facts): StatusText {
  const holds = [...applications, ...others].flatMap(({ requires }) => requires.holds ?? []);
  return pending(listed(holds.map(holdClause), 1));
}

function missedText(_: readonly string[], { missed = [] }: Facts): StatusText {
  const failed = missed.filter(({ withheld }) => !withheld).map(({ application }) => application);
  if (failed.length === 0) {
    return pending(`needs an approval before it is rendered: ${names(missed.map(({ application }) => application))}`);
  }
  return failing(
    `could not be evaluated: ${names(failed)}: fix and push, or have one who may deploy it approve after this plan`,
  );
}

function barsOfGate(gate: Gate, bars: readonly Bar[]): readonly string[] {
  return [...new Set(bars.flatMap((bar) => (bar.gate === gate ? (bar.application ?? []) : [])))];
}

function rulesPending(missing: string): StatusText {
  return { state: "pending", description: `${REPOSITORY_FILE}: ${missing}` };
}

function awaits(awaiting: readonly ApplicationFacts[], facts: Facts, words: HostWords): string {
  const { change } = facts;
  const held = awaiting.filter(({ lock }) => lock !== undefined && !sameChangeRequest(lock.holder, change));
  const holders = held.flatMap(({ application, lock }) =>
    lock === undefined ? [] : [`${application} is locked by ${referenceTo(lock.holder, change, words)}`],
  );
  const isHeld = new Set(held);
  const rest = awaiting.filter((one) => !isHeld.has(one));
  const locked = rest.filter(({ lock }) => lock !== undefined);
  const [now, later] = locked.length > 0 ? [locked, rest.filter(({ lock }) => lock === undefined)] : [rest, []];
  const unplanned = later.length === 0 ? [] : [`${subject(namesOf(later), "awaits", "await")} ${words.command} plan`];
  return joined([...(now.length === 0 ? [] : [stepText(namesOf(now), facts, words)]), ...unplanned, ...holders], "; ");
}

function stepText(applications: readonly string[], facts: Facts, words: HostWords): string {
  const step = nextStep(facts);
  switch (step.kind) {
    case "command": {
      const command =
        step.command === "plan" ? `${words.command} plan and ${words.command} sync` : commandText(step, words);
      const named = step.applications.length === 0 ? applications : step.applications;
      const rest = applications.filter((name) => !named.some((one) => one === name));
      const barred = rest.length === 0 ? "" : `${names(rest)} cannot be synced yet`;
      const either = step.onApproval === "awaited" ? "an approval or " : "";
      return joined([`${subject(named, "awaits", "await")} ${either}${command}`, barred], "; ");
    }
    case "approve": {
      const needs = `${subject(applications, "needs", "need")} an approval`;
      if (step.then.kind !== "command") return needs;
      return `${needs}, ${step.then.onApproval ? "which starts" : "then"} ${commandText(step.then, words)}`;
    }
    case "mend":
    case "later":
    case "undone":
    case "merge":
    case "merging":
    case "approve-rules":
    case "retry":
    case "push":
    case "checks":
    case "wait":
    case "held":
    case "stage":
    case "none":
      return `${names(applications)}: ${plainPieces(nextStepPieces(step, facts.change, words))}`;
  }
}

/** `web awaits`, `2 applications await`. */
function subject(applications: readonly string[], one: string, more: string): string {
  return applications.length === 1 ? `${names(applications)} ${one}` : `${applications.length} applications ${more}`;
}

function approvalText({ approval }: Facts): string {
  return approval?.approved === true ? `approved by ${names(approval.approvers)}` : "";
}

function failedText(all: readonly FailedFor[]): string {
  const checks = new Set(all.flatMap(({ failed }) => failed.map(({ name }) => name)));
  return `failed checks (${names([...checks])}): ${names(all.map(({ application }) => application))}`;
}

function taken(awaiting: readonly string[], { change, applications }: Facts, words: HostWords): string {
  const waiting = new Set(awaiting);
  const running = applications
    .filter(({ application }) => waiting.has(application))
    .flatMap(({ application, foreign }) =>
      foreign
        .filter(({ outcome }) => outcome === "succeeded")
        .map((one) => `${application} now runs ${referenceTo(one.change, change, words)}`),
    );
  return running.join("; ");
}

/** What is deployed by the merge, not by a sync. */
function takingEffect({ applications, plan }: Facts): readonly string[] {
  const byTheMerge = applications.filter(({ planned }) => {
    if (planned?.kind === "new" || planned?.kind === "deleted") return true;
    return planned?.atMerge !== undefined && !planned.unchanged;
  });
  return [...namesOf(byTheMerge), ...(plan?.notDeployed ?? []), ...(plan?.sets ?? [])];
}

function atMergeText(applications: readonly string[]): string {
  return applications.length === 0 ? "" : `takes effect at the merge: ${names(applications)}`;
}

function names(all: readonly string[]): string {
  return listed(all, 3);
}

function namesOf(all: readonly ApplicationFacts[]): readonly string[] {
  return all.map(({ application }) => application);
}

function plainPieces(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) => {
      if (typeof piece === "string") return piece;
      if ("commit" in piece) return shortRevision(piece.commit);
      return "text" in piece ? piece.text : piece.code;
    })
    .join("");
}
