import { deployAll, deployOne, type DeployContext } from "../deploy/deploy.js";
import { settleRollback } from "../deploy/settle.js";
import { readFacts } from "../facts/read-facts.js";
import {
  lookAtTarget,
  readForRollback,
  restoredSpec,
  type RollbackReading,
  type RollbackTarget,
} from "../facts/read-rollback.js";
import { sameChangeRequest } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import { destinationOf } from "../model/destination.js";
import type { Lock } from "../model/lock.js";
import type { ApplicationSync, CommandResult, CommandResultOf } from "../model/result.js";
import { isAnnounced } from "../policy/application-state.js";
import type { ApplicationFacts, Facts } from "../policy/facts.js";
import { barsOf, judge } from "../policy/judge.js";
import { undoing } from "../policy/next-step.js";
import type { CommandContext } from "../ports/context.js";
import { labelsFor } from "./label-selector.js";
import { plannedIn, select } from "./selection.js";
import { attemptLocks, releaseFresh, takeOver, takenOverSentence, type TakeOver } from "./take-over.js";

/**
 * Syncs the applications that this change request has deployed to their configured target revision, after restoring the
 * definition from before its first sync. If it has deployed nothing, or an application is named, what it has locked.
 */
export async function rollback(command: Command<"rollback">, context: CommandContext): Promise<CommandResult> {
  const [read, labelsOf] = await Promise.all([readFacts(context, { review: "nothing" }), labelsFor(command, context)]);
  const held = read.facts.applications.filter((one) => isTarget(one, read.facts));
  const deployed = held.filter(({ record }) => record !== undefined);
  const isNarrowed = command.applications.length > 0;
  const candidates = isNarrowed || deployed.length === 0 ? held : deployed;
  const selection = select(candidates, command, plannedIn(read.plan), labelsOf);
  if (selection.kind === "refused") return selection;
  const names = selection.items.map(({ application }) => application);
  const attempts = command.dryRun ? [] : await attemptLocks(names, context);
  const reading = await readForRollback(command, names, attempts, read, context);
  const refused = refusedWith(reading.facts, isNarrowed);
  if (refused !== undefined) {
    await releaseFresh(attempts, context);
    return refused;
  }
  const taken = command.dryRun ? NONE_TAKEN : await takeOver(reading.takeable, context);
  if (taken.kind === "refused") {
    await releaseFresh(attempts, context);
    return heldByOthers(taken.locks, reading.facts, isNarrowed);
  }
  const kept = held.map(({ application }) => application).filter((name) => !names.includes(name));
  return { ...(await deployTargets(reading, taken, command, context)), kept: isNarrowed ? [] : kept };
}

const NONE_TAKEN: TakeOver = { kind: "taken", locks: [] };

/** New and deleted applications are never deployed. */
function isTarget(one: ApplicationFacts, { change }: Facts): boolean {
  if (one.record !== undefined) return true;
  return one.lock !== undefined && sameChangeRequest(one.lock.holder, change) && !isAnnounced(one);
}

function refusedWith(facts: Facts, isNarrowed: boolean): CommandResultOf<"refused"> | undefined {
  const judged = judge("rollback", facts);
  const { refusal } = judged;
  if (refusal === undefined) return undefined;
  const [gate, ...others] = new Set(barsOf(judged).map((bar) => bar.gate));
  // With any other bar, what the refusal itself says comes first.
  const step = others.length === 0 && (gate === "approval" || gate === "locked-by-other");
  const next = step ? undoing(facts.asker?.selected ?? [], facts, !isNarrowed) : undefined;
  return { kind: "refused", refusal, next: next?.kind === "command" ? undefined : next };
}

/** Others began to deploy what was to be taken over. */
function heldByOthers(locks: readonly Lock[], facts: Facts, isNarrowed: boolean): CommandResult {
  const found = new Map(locks.map((lock) => [lock.application, lock]));
  const applications = facts.applications.map((one): ApplicationFacts => {
    const lock = found.get(one.application);
    return lock === undefined ? one : { ...one, lock, now: one.now && { ...one.now, takeable: false } };
  });
  const refused = refusedWith({ ...facts, applications }, isNarrowed);
  if (refused === undefined) throw new Error("a lock that another change request holds must refuse a rollback");
  return refused;
}

async function deployTargets(
  { targets }: RollbackReading,
  taken: TakeOver,
  command: Command<"rollback">,
  context: CommandContext,
): Promise<CommandResultOf<"rolled-back">> {
  const applications = await deployAll(
    targets.map((target) => ({
      application: target.application,
      live: target.live,
      pins: [],
      revision: context.change.baseRevision,
      destination: destinationOf(target.live === undefined ? {} : restoredSpec(target.live, target.record).spec),
      after: targets
        .map(({ application }) => application)
        .filter((name) => name === target.live?.parent && name !== target.application),
      deploy: (parents) => rollbackOne(target, parents, command, context),
    })),
    context,
  );
  return {
    kind: "rolled-back",
    dryRun: command.dryRun,
    applications: applications.map((one) => withNote(one, takenOverSentence(one.application, taken.locks, context))),
    takenOver: taken.locks,
  };
}

function withNote(one: ApplicationSync, note: string | undefined): ApplicationSync {
  return note === undefined ? one : { ...one, warnings: [...one.warnings, note] };
}

async function rollbackOne(
  given: RollbackTarget,
  parents: readonly ApplicationSync[],
  command: Command<"rollback">,
  context: DeployContext,
): Promise<ApplicationSync> {
  const { application, record } = given;
  // Parents have been rolled back by now, and may have written its definition.
  const { live, problem } = parents.length === 0 ? given : await lookAtTarget(application, record, context);
  if (live === undefined) return { application, warnings: [], kind: "rejected", message: problem };
  const words = context.hostWords[context.change.host];
  const { restores, spec } = restoredSpec(live, record);
  const warnings =
    record?.specWritten === undefined || restores || parents.some(({ kind }) => kind === "succeeded")
      ? []
      : [`its definition is not the one that this ${words.short} wrote, and was left as it is`];
  const outcome = await deployOne({ live, spec, at: "target" }, command, context);
  const unsettled = command.dryRun ? undefined : await settleRollback(application, outcome.kind, record, context);
  return { application, ...outcome, warnings: unsettled === undefined ? warnings : [...warnings, unsettled] };
}
