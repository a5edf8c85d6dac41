import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest } from "../model/change-request.js";
import type { ApplicationSync, CommandResultOf, ResultKind } from "../model/result.js";
import { nextStep, nextStepFor, undoing } from "./next-step.js";
import type { AdvisedCommand, NextStep, Standing } from "./standing.js";

/** What an answer advises: a next step for the change request, and one for each application that the command left undone. */
export interface Advice {
  readonly next: NextStep;
  readonly each: ReadonlyMap<string, NextStep>;
  /** Whether a rollback has something to act on. */
  readonly undoable: boolean;
  /** The command that takes back what a sync deployed; undefined if there is none. */
  readonly undo?: AdvisedCommand | undefined;
}

/** What to advise after a command. `standing` is as the command left it. */
export function adviceAfter<K extends ResultKind>(result: CommandResultOf<K>, standing: Standing): Advice {
  const { records, locks, change } = standing;
  const undoable = records.length > 0 || locks.some(({ holder }) => sameChangeRequest(holder, change));
  return { ...ADVICE[result.kind](result, standing), undoable };
}

type AdviceAfter<K extends ResultKind> = (result: CommandResultOf<K>, standing: Standing) => Omit<Advice, "undoable">;

/** What each result leads to. */
const ADVICE: { readonly [K in ResultKind]: AdviceAfter<K> } = {
  planned: nextStepAlone,
  synced(result, standing) {
    const now = { ...standing, merging: result.merge !== undefined };
    const undo = undoOf(namesOf(result.applications.filter(({ kind }) => kind === "succeeded")), standing);
    return { next: nextStep(now), each: stepsFor(undone(result.applications), now), undo };
  },
  "rolled-back"(result, standing) {
    const names = result.dryRun ? namesOf(result.applications) : undone(result.applications);
    const again = (some: readonly ApplicationName[]): NextStep => {
      const then = undoing(some, standing);
      return result.dryRun || then.kind !== "command"
        ? then
        : { kind: "retry", after: "failed", applications: some, then };
    };
    const each = new Map(names.map((name) => [name, again([name])]));
    return { next: names.length === 0 ? nextStep(standing) : again(names), each };
  },
  unlocked: nextStepAlone,
  closed: nextStepAlone,
  help: nextStepAlone,
  refused({ refusal }, standing) {
    const named = new Set(refusal.reason === "not-locked" ? refusal.applications : []);
    const planned = standing.plan?.applications.map(({ application }) => application) ?? [];
    const names = planned.filter((name) => named.has(name));
    return { next: nextStep(standing), each: stepsFor(names, standing) };
  },
};

function nextStepAlone(_result: unknown, standing: Standing): Omit<Advice, "undoable"> {
  return { next: nextStep(standing), each: NO_STEPS };
}

const NO_STEPS: Advice["each"] = new Map();

function stepsFor(names: readonly ApplicationName[], standing: Standing): Advice["each"] {
  return new Map(
    names.flatMap((name) => {
      const step = nextStepFor(name, standing);
      return step === undefined ? [] : [[name, step] as const];
    }),
  );
}

/** The command that takes back what was deployed; undefined if it would be refused. */
export function undoOf(done: readonly ApplicationName[], standing: Standing): AdvisedCommand | undefined {
  const { records, locks, change } = standing;
  const step = done.length === 0 ? undefined : undoing(done, standing);
  if (step?.kind !== "command") return undefined;
  const held = locks.filter(({ holder }) => sameChangeRequest(holder, change));
  // Without `-a` a rollback takes every lock and every deployed application.
  const everything = [...records, ...held].every(({ application }) => step.applications.includes(application));
  return everything ? { ...step, applications: [] } : step;
}

function undone(all: readonly ApplicationSync[]): readonly ApplicationName[] {
  return namesOf(all.filter(({ kind }) => kind !== "succeeded"));
}

function namesOf(all: readonly ApplicationSync[]): readonly ApplicationName[] {
  return all.map(({ application }) => application);
}
