import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest } from "../model/change-request.js";
import type { AdvisedCommand, NextStep } from "../model/next-step.js";
import type { ApplicationSync, CommandResultOf, ResultKind } from "../model/result.js";
import type { Facts } from "./facts.js";
import { nextStep, nextStepsFor, undoing } from "./next-step.js";
import { planning } from "./steps.js";

/** What an answer advises: a next step for the change request, and one for each application that the command left undone. */
export interface Advice {
  readonly next: NextStep;
  readonly each: ReadonlyMap<string, NextStep>;
  /** Whether a rollback has something to act on. */
  readonly undoable: boolean;
  /** The command that takes back what a sync deployed; undefined if there is none. */
  readonly undo?: AdvisedCommand | undefined;
}

/** What to advise after a command. `facts` are as the command left them. */
export function adviceAfter<K extends ResultKind>(result: CommandResultOf<K>, facts: Facts): Advice {
  const { change, applications } = facts;
  const undoable = applications.some(
    ({ record, lock }) => record !== undefined || (lock !== undefined && sameChangeRequest(lock.holder, change)),
  );
  return { ...ADVICE[result.kind](result, facts), undoable };
}

type AdviceAfter<K extends ResultKind> = (result: CommandResultOf<K>, facts: Facts) => Omit<Advice, "undoable">;

/** What each result leads to. */
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

/** Whoever has undone something is not told to do it again, unless something else is left to undo. */
function afterUndoing(by: "rollback" | "unlock", facts: Facts): NextStep {
  const next = nextStep(facts);
  return next.kind === "command" && next.command === "plan" ? { kind: "undone", by, again: planning(facts) } : next;
}

/** The command that takes back what was deployed; undefined if it would be refused. */
export function undoOf(done: readonly ApplicationName[], facts: Facts): AdvisedCommand | undefined {
  const step = done.length === 0 ? undefined : undoing(done, facts);
  if (step?.kind !== "command") return undefined;
  // Without `-a` a rollback takes back every deployed application.
  const deployed = facts.applications.filter(({ record }) => record !== undefined);
  const everything = deployed.every(({ application }) => step.applications.includes(application));
  return everything ? { ...step, applications: [] } : step;
}

function undone(all: readonly ApplicationSync[]): readonly ApplicationName[] {
  return namesOf(all.filter(({ kind }) => kind !== "succeeded"));
}

function namesOf(all: readonly { readonly application: ApplicationName }[]): readonly ApplicationName[] {
  return all.map(({ application }) => application);
}
