import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";
import type { AdvisedCommand, AdvisedMerge, AfterApproval, Names, NextStep } from "../model/next-step.js";
import type { ApplicationSync, CommandResultOf, ResultKind } from "../model/result.js";
import {
  approvalNeedsOf,
  approving,
  awaitingIn,
  awaits,
  isAnnounced,
  isAtHead,
  planning,
  replanning,
} from "./application-state.js";
import { allowedFor, type ApplicationFacts, DOUBTS, type Facts } from "./facts.js";
import type { Bar, Judged } from "./gates.js";
import { barredBy, barsOf, inOrder, judge } from "./judge.js";
import { RULES } from "./rules.js";
import { comesAfterDeployed, follows, stepOfStage } from "./stages.js";

/** The next step of a change request. Every answer, the commit status and the pages take it from here. */
export function nextStep(given: Facts): NextStep {
  const { change, merging } = given;
  if (merging) return { kind: "merging", into: change.baseBranch };
  if (change.state === "merged") return { kind: "none", because: "merged" };
  if (change.state === "closed") {
    if (given.untold.records !== undefined) {
      return { kind: "later", because: `${DOUBTS.records}: ${given.untold.records}` };
    }
    const deployed = given.applications.filter(({ record }) => record !== undefined);
    return deployed.length === 0 ? { kind: "none", because: "closed" } : undoing(namesOf(deployed), given);
  }
  // Whoever gave a command is not the only one who can go on.
  const facts: Facts = { ...given, asker: undefined };
  const barred = firstStep(barsOfWhole("plan", facts), facts);
  if (barred !== undefined) return barred;
  if (facts.plan?.current !== true && facts.untold.plan === undefined) return planning(facts);
  const awaiting = awaitingIn(facts);
  return awaiting.length === 0 ? finishing(facts) : deploying(awaiting, facts, judgedSync(facts));
}

/** The answer to a command if a fact that it needs could not be read; asked before anything is selected by what the stores hold. */
export function refusedInDoubt(command: Judged, facts: Facts): CommandResultOf<"refused"> | undefined {
  if (Object.keys(facts.untold).length === 0) return undefined;
  const doubts = barsOf(judge(command, facts)).filter(({ untold }) => untold);
  if (doubts.length === 0) return undefined;
  const refusal = { reason: "cannot-tell", doubts: [...new Set(doubts.map(({ why }) => why))] } as const;
  return { kind: "refused", refusal, next: nextStep(facts) };
}

/** The next step for each of these applications that a command left undone, without those that have none of their own. */
function nextStepsFor(names: Names, given: Facts): ReadonlyMap<ApplicationName, NextStep> {
  const facts: Facts = { ...given, asker: undefined };
  const { change, merging, plan } = facts;
  if (names.length === 0 || merging || change.state !== "open") return new Map();
  if (barsOfWhole("plan", facts).length > 0) return new Map();
  if (plan?.current !== true) return new Map(names.map((name) => [name, planning(facts)]));
  const awaiting = new Map(awaitingIn(facts).map((one) => [one.application, one]));
  const judged = judgedSync(facts);
  return new Map(
    names.flatMap((name) => {
      const one = awaiting.get(name);
      return one === undefined ? [] : [[name, deploying([one], facts, judged, [name])] as const];
    }),
  );
}

/** Deploying the target branch again, unless others hold these applications. @param unnamed the command means just these without naming them. */
export function undoing(names: Names, facts: Facts, unnamed = false): NextStep {
  const named = new Set(names);
  const all = facts.applications.filter(({ application }) => named.has(application));
  const theirs = all.filter(({ lock, foreign }) => {
    const isForeign = lock !== undefined && !sameChangeRequest(lock.holder, facts.change);
    return isForeign && foreign.some((one) => sameChangeRequest(one.change, lock.holder));
  });
  const free = all.filter((one) => !theirs.includes(one));
  if (free.length === 0) return { kind: "wait", locks: theirs.flatMap(({ lock }) => lock ?? []) };
  const by = allowedFor("rollback", free);
  const applications = unnamed && free.length === all.length ? [] : namesOf(free);
  const advised: AdvisedCommand = { kind: "command", command: "rollback", applications, by };
  const needs = free.flatMap((one) => approvalNeedsOf(one, "rollback"));
  return needs.length > 0 && facts.approval?.approved !== true ? approving(facts, advised) : advised;
}

/** The next step once everything that svc deploys is deployed. */
function finishing(facts: Facts): NextStep {
  const { applications, others, approval, change, plan } = facts;
  const byTheMerge = [...applications.filter(({ planned }) => planned !== undefined), ...others].filter(
    ({ record }) => record === undefined || !isAtHead(record, change),
  );
  const merge: AdvisedMerge = { kind: "merge", draft: change.draft, by: allowedFor("sync", byTheMerge) };
  const barred = firstStep(barsOf(judge("merge", facts)), facts, merge);
  if (barred !== undefined) return barred;
  const unseen = plan?.waitsForApproval === true && approval?.approved !== true;
  if (unseen) return approving(facts, replanning(facts));
  return approval?.queued ? { kind: "none", because: "queued" } : merge;
}

interface JudgedSync {
  readonly whole: readonly Bar[];
  readonly barsOf: (one: ApplicationFacts) => readonly Bar[];
}

function judgedSync(facts: Facts): JudgedSync {
  const { whole, applications } = judge("sync", facts);
  const found = new Map(applications.map(({ application, bars }) => [application, bars]));
  return { whole, barsOf: ({ application }) => found.get(application) ?? [] };
}

/** @param only what the command names; empty if it may be given for everything. */
function deploying(named: readonly ApplicationFacts[], facts: Facts, judged: JudgedSync, only: Names = []): NextStep {
  const awaiting = withParents(named, facts);
  const bars = inOrder([...judged.whole, ...awaiting.flatMap(judged.barsOf)]);
  const sets = facts.plan?.withheldSets ?? [];
  const isClear = judged.whole.length === 0 && sets.length === 0;
  if (isClear && !bars.some(({ gate, untold }) => untold || gate === "withheld")) {
    const passing = awaiting.filter((one) => judged.barsOf(one).every(({ gate }) => gate === "approval"));
    const ready = belowDeployed(passing, facts);
    const free = belowDeployed(
      ready.filter((one) => judged.barsOf(one).length === 0),
      facts,
    );
    // What comes before an approval makes it worthless, such as a push.
    const isFirst = bars.findIndex(({ gate }) => gate === "approval") <= 0;
    const now = isFirst ? ready : free;
    if (now.length > 0) return facts.plan?.next ? stepOfStage(now, facts) : syncing(now, judged, facts, only);
  }
  const withheld = sets.length > 0 ? barsOfWhole("merge", facts) : [];
  // If something else bars an application as well, an approval alone does not help it.
  const others = bars.filter(({ gate, untold }) => untold || gate !== "approval");
  return firstStep(inOrder([...others, ...withheld]), facts, planning(facts, only), only) ?? planning(facts, only);
}

/** The parent that has to be deployed before an application, since it writes the planned definition; undefined if none has. */
function parentBefore({ planned }: ApplicationFacts, facts: Facts): ApplicationFacts | undefined {
  if (planned?.definedBy === undefined) return undefined;
  const parent = facts.applications.find(({ application }) => application === planned.definedBy);
  return parent !== undefined && awaits(parent, facts) ? parent : undefined;
}

function withParents(some: readonly ApplicationFacts[], facts: Facts): readonly ApplicationFacts[] {
  const all = new Set(some);
  for (const one of all) all.add(parentBefore(one, facts) ?? one);
  return [...all];
}

/** Leaves out applications whose parent has to be deployed first and is not among them. */
function belowDeployed(some: readonly ApplicationFacts[], facts: Facts): readonly ApplicationFacts[] {
  const left = some.filter((one) => {
    const parent = parentBefore(one, facts);
    return parent === undefined || some.includes(parent);
  });
  return left.length === some.length ? left : belowDeployed(left, facts);
}

function firstStep(bars: readonly Bar[], facts: Facts, then?: AfterApproval, only: Names = []): NextStep | undefined {
  const doubt = bars.find(({ untold }) => untold);
  if (doubt !== undefined) return { kind: "later", because: doubt.why };
  const gate = bars.map((bar) => bar.gate).find((one) => RULES[one].step !== undefined);
  if (gate === undefined) return undefined;
  const all = [...facts.applications, ...facts.others];
  const same = bars.filter((bar) => bar.gate === gate);
  return RULES[gate].step?.(barredBy(same, all, { only }), facts, then ?? planning(facts));
}

/** Advises a sync of what is ready, without `-a` if nothing else would be deployed: a sync is refused if one application is barred. */
function syncing(ready: readonly ApplicationFacts[], judged: JudgedSync, facts: Facts, only: Names): NextStep {
  const { change, approval } = facts;
  const ours = facts.applications.filter(({ lock }) => lock !== undefined && sameChangeRequest(lock.holder, change));
  // A sync without -a leaves later stages for later.
  const isLater = (one: ApplicationFacts) => judged.barsOf(one).some(({ gate }) => gate === "stage");
  const deployable = ours.filter((one) => !isAnnounced(one) && !isLater(one));
  const passes = (one: ApplicationFacts) =>
    one.planned?.atMerge === undefined && judged.barsOf(one).every(({ gate }) => gate === "approval");
  const isReady = new Set(ready);
  const everything =
    only.length === 0 &&
    deployable.every((one) => passes(one) && (isReady.has(one) || !awaits(one, facts))) &&
    !ready.slice(0, 1).some((one) => comesAfterDeployed(one, facts));
  const deployed = everything ? deployable : ready;
  const by = allowedFor("sync", deployed);
  const approved = approval?.approved === true;
  const starts = everything && startsOnApproval(deployed, facts) && (approved || !facts.plan?.approvalUsed);
  const rest = only.length > 0 || everything ? [] : awaitingIn(facts).filter((one) => !isReady.has(one));
  const held = rest.flatMap(({ requires }) => requires.holds ?? []);
  const advised: AdvisedCommand = {
    kind: "command",
    command: "sync",
    applications: everything ? [] : namesOf(ready),
    by,
    ...lossesOf(deployed, facts),
    ...(starts ? { onApproval: approved ? "given" : "awaited" } : {}),
    ...(held.length === 0 ? {} : { held }),
  };
  const needs = deployed.flatMap((one) => approvalNeedsOf(one, "sync"));
  const unapproved = needs.length > 0 && !approved;
  const then = unapproved ? approving(facts, advised) : afterAttempts(ready, advised, facts);
  // Whose sync has failed is told to fix the cause.
  const tried = then.kind === "retry" ? then.applications : [];
  const refused = deployed.filter(
    (one) => !tried.includes(one.application) && RULES["refused-by-cluster"].warns(one, facts).length > 0,
  );
  return refused.length === 0 ? then : { kind: "mend", applications: namesOf(refused), then };
}

/**
 * Whether an approval starts a sync of these applications, where nothing else bars it: if the rules of each say so, if it deploys
 * everything that waits, and if no person has to choose, to be warned or to begin a stage first.
 */
function startsOnApproval(deployed: readonly ApplicationFacts[], facts: Facts): boolean {
  const { change, plan } = facts;
  if (change.draft || change.fork || plan?.danger !== undefined) return false;
  const { knowing, removes } = lossesOf(deployed, facts);
  if (knowing !== undefined || removes !== undefined) return false;
  if (deployed.some((one) => follows(one, "manual"))) return false;
  return (
    deployed.every(({ requires }) => requires.onApproval) && awaitingIn(facts).every((one) => deployed.includes(one))
  );
}

/** What a sync deletes, and what it does that cannot be taken back. */
function lossesOf(all: readonly ApplicationFacts[], facts: Facts): Pick<AdvisedCommand, "knowing" | "removes"> {
  const count = all.reduce((sum, { planned }) => sum + (planned?.deleted ?? 0), 0);
  const knowing = all.flatMap((one) => [
    ...RULES["replaces-other"].warns(one, facts),
    ...RULES.destroys.warns(one, facts),
  ]);
  return {
    ...(knowing.length === 0 ? {} : { knowing }),
    ...(count === 0 ? {} : { removes: { count, pruning: facts.settings.prune } }),
  };
}

/** The sync, as a retry if earlier syncs of the head failed or have an unknown outcome. */
function afterAttempts(
  ready: readonly ApplicationFacts[],
  advised: AdvisedCommand,
  { change }: Facts,
): Extract<NextStep, { readonly kind: "command" | "retry" }> {
  const ended = (...outcomes: readonly Deployment["outcome"][]) =>
    namesOf(
      ready.filter(({ record }) => record?.revision === change.headRevision && outcomes.includes(record.outcome)),
    );
  const unclear = ended("started", "unknown");
  if (unclear.length > 0) return { kind: "retry", after: "unclear", applications: unclear, then: advised };
  const failed = ended("failed");
  return failed.length > 0 ? { kind: "retry", after: "failed", applications: failed, then: advised } : advised;
}

function namesOf(all: readonly { readonly application: ApplicationName }[]): Names {
  return all.map(({ application }) => application);
}

/** The advice in an answer: a next step for the change request, and one for each application that the command left undone. */
export interface Advice {
  readonly next: NextStep;
  readonly each: ReadonlyMap<string, NextStep>;
  /** Whether a rollback has something to act on. */
  readonly undoable: boolean;
  readonly undo?: AdvisedCommand | undefined;
}

/** The advice after a command. `facts` were read after it. */
export function adviceAfter<K extends ResultKind>(result: CommandResultOf<K>, facts: Facts): Advice {
  const { change, applications } = facts;
  const undoable = applications.some(
    ({ record, lock }) => record !== undefined || (lock !== undefined && sameChangeRequest(lock.holder, change)),
  );
  return { ...ADVICE[result.kind](result, facts), undoable };
}

type AdviceAfter<K extends ResultKind> = (result: CommandResultOf<K>, facts: Facts) => Omit<Advice, "undoable">;

const ADVICE: { readonly [K in ResultKind]: AdviceAfter<K> } = {
  planned: nextStepAlone,
  synced(result, facts) {
    const now = { ...facts, merging: result.merge !== undefined };
    const undo = undoOf(namesOf(result.applications.filter(({ kind }) => kind === "succeeded")), facts);
    return { next: nextStep(now), each: nextStepsFor(undone(result.applications), now), undo };
  },
  "rolled-back"(result, facts) {
    const names = result.dryRun ? namesOf(result.applications) : undone(result.applications);
    const again = (some: readonly ApplicationName[]): NextStep => {
      const then = undoing(some, facts);
      return result.dryRun || then.kind !== "command"
        ? then
        : { kind: "retry", after: "failed", applications: some, then };
    };
    const each = new Map(names.map((name) => [name, again([name])]));
    return { next: names.length === 0 ? afterUndoing("rollback", facts) : again(names), each };
  },
  unlocked: ({ released }, facts) => ({
    next: released.length === 0 ? nextStep(facts) : afterUndoing("unlock", facts),
    each: NO_STEPS,
  }),
  updated: nextStepAlone,
  reverted: nextStepAlone,
  held: nextStepAlone,
  released: nextStepAlone,
  closed: nextStepAlone,
  help: nextStepAlone,
  refused({ refusal, next }, facts) {
    const named = refusal.reason === "not-locked" ? refusal.applications : [];
    const names = namesOf(facts.applications.filter(({ planned }) => planned !== undefined));
    const concerned = names.filter((name) => named.includes(name));
    return { next: next ?? nextStep(facts), each: nextStepsFor(concerned, facts) };
  },
};

function nextStepAlone(_result: unknown, facts: Facts): Omit<Advice, "undoable"> {
  return { next: nextStep(facts), each: NO_STEPS };
}

const NO_STEPS: Advice["each"] = new Map();

/** After something was undone, a new plan is only mentioned: nobody is told to start over. */
function afterUndoing(by: "rollback" | "unlock", facts: Facts): NextStep {
  const next = nextStep(facts);
  return next.kind === "command" && next.command === "plan" ? { kind: "undone", by, again: planning(facts) } : next;
}

/** The command that takes back what was deployed; undefined if it would be refused, or is the next step in any case. */
export function undoOf(done: readonly ApplicationName[], facts: Facts): AdvisedCommand | undefined {
  const step = done.length === 0 || facts.change.state !== "open" ? undefined : undoing(done, facts);
  if (step?.kind !== "command") return undefined;
  // Without `-a` a rollback takes back every deployed application.
  const deployed = facts.applications.filter(({ record }) => record !== undefined);
  const everything = deployed.every(({ application }) => step.applications.includes(application));
  return everything ? { ...step, applications: [] } : step;
}

function undone(all: readonly ApplicationSync[]): readonly ApplicationName[] {
  return namesOf(all.filter(({ kind }) => kind !== "succeeded"));
}

function barsOfWhole(command: Judged, facts: Facts): readonly Bar[] {
  return judge(command, facts, (gate) => RULES[gate].of === "change").whole;
}
