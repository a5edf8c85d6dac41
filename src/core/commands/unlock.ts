import { factsOfAsker } from "../facts/read-facts.js";
import { applicationName, type ApplicationName } from "../model/brand.js";
import type { ChangeRequestRef } from "../model/change-request.js";
import type { Command } from "../model/command.js";
import type { CommandResult } from "../model/result.js";
import { byNameAlone } from "../policy/effect-rules.js";
import { judge } from "../policy/judge.js";
import type { CommandContext, CommandPorts } from "../ports/context.js";
import type { WaitStore } from "../ports/stores.js";
import { waitsFor } from "./locks.js";
import { endStages } from "./next-stage.js";
import { correctedTo, labelsFor, namesOf, plannedIn } from "./selection.js";

type UnlockContext = Pick<
  CommandContext,
  | "locks"
  | "waiting"
  | "plans"
  | "change"
  | "settings"
  | "host"
  | "hostWords"
  | "user"
  | "deployer"
  | "clock"
  | "signal"
>;

/** Releases this change request's locks and leaves the queues for others, all or the named ones. */
export async function unlock(command: Command<"unlock">, context: UnlockContext): Promise<CommandResult> {
  const { locks, waiting, plans, change } = context;
  const [held, waits, plan] = await Promise.all([locks.list(change), waitsFor(change, waiting), plans.find(change)]);
  const candidates = [...held.map(({ application }) => application), ...waits];
  const named = namesOf(command, candidates, await labelsFor(command, context), plannedIn(plan));
  if (named.kind === "refused") return named;
  const wanted = named.items;
  const selected = held.filter(({ application }) => wanted.length === 0 || wanted.includes(application));
  const names = selected.map(({ application }) => application);
  const { refusal } = judge("unlock", await factsOfAsker("unlock", byNameAlone(names), context));
  if (refusal !== undefined) return { kind: "refused", refusal };
  await endStages(change, context);
  const outcomes = await Promise.all(
    selected.map(async ({ application }) => ((await locks.release(application, change)) ? [application] : [])),
  );
  const released = outcomes.flat();
  const left = waits.filter((name) => wanted.length === 0 || wanted.includes(name));
  await Promise.all(left.map((application) => waiting.leave(application, change)));
  const missing = wanted.filter((name) => !held.some(({ application }) => application === name));
  const notHeld = await Promise.all(
    missing.map(async (application) => ({ application, lock: await locks.find(applicationName(application)) })),
  );
  if (held.length > 0 && selected.length + left.length === 0 && notHeld.every(({ lock }) => lock === undefined)) {
    const names = held.map(({ application }) => application);
    const suggestion = correctedTo(candidates, command);
    return { kind: "refused", refusal: { reason: "not-locked", applications: missing, held: names, suggestion } };
  }
  return { kind: "unlocked", released, notHeld, left, next: await nextOf(released, waiting) };
}

async function nextOf(
  released: readonly ApplicationName[],
  waiting: WaitStore,
): Promise<readonly { readonly application: ApplicationName; readonly change: ChangeRequestRef }[]> {
  const found = await Promise.all(
    released.map(async (application) => {
      const [change] = await waiting.of(application);
      return change === undefined ? [] : [{ application, change }];
    }),
  );
  return found.flat();
}

/**
 * Releases the locks of a closed change request and takes it out of every queue. A merge also removes its records
 * "deployed, not merged"; a close without a merge keeps them, because the applications still run its commit.
 */
export async function close(
  change: ChangeRequestRef,
  merged: boolean,
  { locks, waiting, deployments, plans }: Pick<CommandPorts, "locks" | "waiting" | "deployments" | "plans">,
): Promise<Extract<CommandResult, { readonly kind: "closed" }>> {
  await endStages(change, { plans });
  const [held, waits, records] = await Promise.all([
    locks.list(change),
    waitsFor(change, waiting),
    deployments.ofChange(change),
  ]);
  await Promise.all(waits.map((application) => waiting.leave(application, change)));
  await Promise.all(held.map(({ application }) => locks.release(application, change)));
  if (merged) await Promise.all(records.map(({ application }) => deployments.remove(application, change)));
  return {
    kind: "closed",
    released: held.map(({ application }) => application),
    stillDeployed: merged ? [] : records.map(({ application }) => application),
  };
}
