import type { ApplicationName } from "../model/brand.js";
import { sameChangeRequest } from "../model/change-request.js";
import type { ApplicationSync, CommandResult } from "../model/result.js";
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
export function adviceAfter(result: CommandResult, standing: Standing): Advice {
  const { records, locks, change } = standing;
  const undoable = records.length > 0 || locks.some(({ holder }) => sameChangeRequest(holder, change));
  switch (result.kind) {
    case "synced": {
      const now = { ...standing, merging: result.merge !== undefined };
      const undo = undoOf(namesOf(result.applications.filter(({ kind }) => kind === "succeeded")), standing);
      return { next: nextStep(now), each: stepsFor(undone(result.applications), now), undoable, undo };
    }
    case "rolled-back": {
      const names = result.dryRun ? namesOf(result.applications) : undone(result.applications);
      const again = (some: readonly ApplicationName[]): NextStep => {
        const then = undoing(some, standing);
        return result.dryRun || then.kind !== "command"
          ? then
          : { kind: "retry", after: "failed", applications: some, then };
      };
      const each = new Map(names.map((name) => [name, again([name])]));
      return { next: names.length === 0 ? nextStep(standing) : again(names), each, undoable };
    }
    case "refused": {
      const { refusal } = result;
      const named = new Set(refusal.reason === "not-locked" ? refusal.applications : []);
      const planned = standing.plan?.applications.map(({ application }) => application) ?? [];
      const names = planned.filter((name) => named.has(name));
      return { next: nextStep(standing), each: stepsFor(names, standing), undoable };
    }
    case "planned":
    case "unlocked":
    case "closed":
    case "help":
      return { next: nextStep(standing), each: NO_STEPS, undoable };
  }
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
