import { retryWhileUnavailable } from "../deploy/settle.js";
import { factsOfAsker } from "../facts/read-facts.js";
import { type ApplicationName, applicationName } from "../model/brand.js";
import { changeRequestRef, type ChangeRequestRef, sameChangeRequest } from "../model/change-request.js";
import { allInTurns } from "../model/collections.js";
import type { Command } from "../model/command.js";
import { ifReadable } from "../model/errors.js";
import type { Lock, LockAttempt } from "../model/lock.js";
import type { ApplicationPlan, Plan, PlanLock } from "../model/plan/plan.js";
import type { CommandResult } from "../model/result.js";
import { byNameAlone } from "../policy/effect-rules.js";
import { judge } from "../policy/judge.js";
import type { CommandContext, CommandPorts } from "../ports/context.js";
import { leavesOut } from "../ports/log.js";
import type { LockStore, WaitStore } from "../ports/stores.js";
import { endStages } from "./next-stage.js";
import { correctedTo, labelsFor, namesOf, plannedIn } from "./selection.js";

export type Locking = Pick<CommandContext, "locks" | "change" | "user" | "clock">;

/** Locks, and the queues for those that others hold. */
type Queueing = Locking & Pick<CommandContext, "waiting">;

/** Writes the plan revision into locks, queues for those that others hold, and releases auto-synced ones that are proven unchanged. */
export async function settleLocks(
  applications: readonly ApplicationPlan[],
  taken: Map<ApplicationName, LockAttempt>,
  context: Queueing,
): Promise<readonly ApplicationPlan[]> {
  return allInTurns(applications, async (one): Promise<ApplicationPlan> => {
    if (one.kind === "unplanned" || one.lock.kind === "not-needed") return one;
    if (one.kind === "evaluated" && one.verdict === "unchanged" && one.atMerge !== undefined) {
      if (one.lock.kind === "ours") await context.locks.release(one.application, context.change);
      return { ...one, lock: { kind: "not-needed" } };
    }
    // Its lock keeps the plan revision of an earlier plan, if it has one.
    if (one.lock.kind === "ours" && one.kind === "unevaluated") return presentLock(one, context.change, context);
    if (one.lock.kind === "ours") {
      const attempt = await acquirePlanned(one, context);
      // The lock was released meanwhile, for example by a close on another replica, and this plan took it again.
      if (attempt.kind === "acquired" && attempt.fresh) taken.set(one.application, attempt);
      if (attempt.kind === "acquired") return one;
    }
    return awaitTurn(one, taken, context);
  });
}

/** Queues for a lock of another change request. The first tries once more: a lock released before it joined is offered to nobody else. */
async function awaitTurn(
  one: ApplicationPlan,
  taken: Map<ApplicationName, LockAttempt>,
  context: Queueing,
): Promise<ApplicationPlan> {
  const { waiting, change } = context;
  const place = await waiting.join(one.application, change);
  if (place !== 1) return presentLock(one, change, context);
  const attempt = await acquirePlanned(one, context);
  if (attempt.kind === "held") return { ...one, lock: { kind: "held", by: attempt.lock, place } };
  taken.set(one.application, attempt);
  await waiting.leave(one.application, change);
  return { ...one, lock: { kind: "ours" } };
}

function acquirePlanned(
  { kind, application, sourceFile }: ApplicationPlan,
  { locks, change, user, clock }: Locking,
): Promise<LockAttempt> {
  const request = {
    application,
    holder: changeRequestRef(change),
    user: user.login,
    planRevision: kind === "unevaluated" ? undefined : change.headRevision,
    sourceFile,
  };
  return locks.acquire(request, clock.now());
}

/** Where a lock and its queue are looked up. */
interface LockPorts {
  readonly locks: Pick<LockStore, "find">;
  readonly waiting: Pick<WaitStore, "of">;
}

/** A stored plan with the locks as they are now: they change without it. @throws {StoreUnavailable} */
export async function withPresentLocks(plan: Plan, ports: LockPorts): Promise<Plan> {
  return { ...plan, applications: await allInTurns(plan.applications, (one) => presentLock(one, plan.change, ports)) };
}

/** One application of a plan of `change` with its lock as it is now. @throws {StoreUnavailable} */
export async function presentLock(
  planned: ApplicationPlan,
  change: ChangeRequestRef,
  { locks, waiting }: LockPorts,
): Promise<ApplicationPlan> {
  if (planned.kind === "unplanned" || planned.lock.kind === "not-needed") return planned;
  const { application } = planned;
  const lock = await locks.find(application);
  const now = async (): Promise<PlanLock> => {
    if (lock === undefined) return { kind: "free" };
    if (sameChangeRequest(lock.holder, change)) return { kind: "ours" };
    const queue = await waiting.of(application);
    const index = queue.findIndex((one) => sameChangeRequest(one, change));
    return { kind: "held", by: lock, place: index === -1 ? undefined : index + 1 };
  };
  return { ...planned, lock: await now() };
}

/** The applications for which a change request waits; those whose queue cannot be read are left out. */
async function waitsFor(
  change: ChangeRequestRef,
  { waiting, log }: Pick<CommandPorts, "waiting" | "log">,
): Promise<readonly ApplicationName[]> {
  const queues = await waiting.list(leavesOut(log));
  const own = queues.filter(({ changes }) => changes.some((one) => sameChangeRequest(one, change)));
  return own.map(({ application }) => application);
}

/** Whether it locks, awaits or has deployed something, and so has to be closed although not served any more. @throws {StoreUnavailable} */
export async function isHolding(
  change: ChangeRequestRef,
  ports: Pick<CommandPorts, "locks" | "waiting" | "deployments" | "log">,
): Promise<boolean> {
  const found = await Promise.all(heldBy(change, ports));
  return found.flat().length > 0;
}

/** What a change request has locked, waits for and has deployed. What cannot be read keeps it from nothing else. */
function heldBy(change: ChangeRequestRef, ports: Pick<CommandPorts, "locks" | "waiting" | "deployments" | "log">) {
  const skip = leavesOut(ports.log);
  return [ports.locks.list(change, skip), waitsFor(change, ports), ports.deployments.ofChange(change, skip)] as const;
}

/**
 * Leaves the queues for locks that it does not wait for any more, or has by now: otherwise its own release would be its turn.
 * @param planned What this plan looked at; undefined if it looked at everything.
 */
export async function leaveQueues(
  applications: readonly ApplicationPlan[],
  planned: ReadonlySet<string> | undefined,
  { change, ...ports }: Pick<CommandContext, "waiting" | "change" | "log">,
): Promise<void> {
  const held = new Set(applications.filter(({ lock }) => lock.kind === "held").map(({ application }) => application));
  const waits = await waitsFor(change, ports);
  const over = waits.filter((name) => !held.has(name) && (planned === undefined || planned.has(name)));
  await allInTurns(over, (name) => ports.waiting.leave(name, change));
}

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
  | "log"
>;

/** Releases this change request's locks and leaves the queues for others, all or the named ones. */
export async function unlock(command: Command<"unlock">, context: UnlockContext): Promise<CommandResult> {
  const { locks, waiting, plans, change, clock } = context;
  const [held, waits, plan] = await Promise.all([
    locks.list(change),
    waitsFor(change, context),
    ifReadable(plans.find(change), undefined),
  ]);
  const candidates = [...held.map(({ application }) => application), ...waits];
  const named = namesOf(command, candidates, await labelsFor(command, context), plannedIn(plan));
  if (named.kind === "refused") return named;
  const wanted = named.items;
  const selected = held.filter(({ application }) => wanted.length === 0 || wanted.includes(application));
  const names = selected.map(({ application }) => application);
  const { refusal } = judge("unlock", await factsOfAsker("unlock", byNameAlone(names), context));
  if (refusal !== undefined) return { kind: "refused", refusal };
  const left = waits.filter((name) => wanted.length === 0 || wanted.includes(name));
  const missing = wanted.filter((name) => !held.some(({ application }) => application === name));
  const notHeld = await Promise.all(
    missing.map(async (application) => ({ application, lock: await locks.find(applicationName(application)) })),
  );
  if (held.length > 0 && selected.length + left.length === 0 && notHeld.every(({ lock }) => lock === undefined)) {
    const ours = held.map(({ application }) => application);
    const suggestion = correctedTo(candidates, command);
    return { kind: "refused", refusal: { reason: "not-locked", applications: missing, held: ours, suggestion } };
  }
  const next = await nextOf(names, waiting);
  if (selected.length > 0) await endStages(change, context);
  // Repeated as a whole: whatever fails may have been done.
  await retryWhileUnavailable(clock, async () => {
    await Promise.all(names.map((application) => locks.release(application, change)));
    await Promise.all(left.map((application) => waiting.leave(application, change)));
  });
  return { kind: "unlocked", released: names, notHeld, left, next };
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

/** Releases the locks of a closed change request and leaves all queues. Its records end after a merge alone: otherwise its commit still runs. */
export async function close(
  change: ChangeRequestRef,
  merged: boolean,
  ports: Pick<CommandPorts, "locks" | "waiting" | "deployments" | "plans" | "log">,
): Promise<Extract<CommandResult, { readonly kind: "closed" }>> {
  const { locks, waiting, deployments } = ports;
  await endStages(change, ports);
  const [held, waits, records] = await Promise.all(heldBy(change, ports));
  await Promise.all(waits.map((application) => waiting.leave(application, change)));
  await Promise.all(held.map(({ application }) => locks.release(application, change)));
  if (merged) await Promise.all(records.map(({ application }) => deployments.remove(application, change)));
  return {
    kind: "closed",
    released: held.map(({ application }) => application),
    stillDeployed: merged ? [] : records.map(({ application }) => application),
  };
}

/** Returns those whose locks were released. An unavailable store must not hide what was deployed. */
export async function releaseSkipped(
  skipped: readonly ApplicationName[],
  context: Pick<Locking, "locks" | "change" | "clock"> & Pick<CommandContext, "log">,
): Promise<readonly ApplicationName[]> {
  const released = await Promise.all(
    skipped.map(async (application) => {
      try {
        await retryWhileUnavailable(context.clock, () => context.locks.release(application, context.change));
        return [application];
      } catch (error) {
        context.log.error({ application, err: error }, "could not release the lock of an unchanged application");
        return [];
      }
    }),
  );
  return released.flat();
}

/** Returns locks to their former holders, as held since the same time. Leaves those alone that this change request does not hold. */
export async function giveBack(tried: readonly Lock[], { locks, change }: Locking): Promise<void> {
  await allInTurns(tried, async (lock) => {
    const now = await locks.find(lock.application);
    if (now === undefined || !sameChangeRequest(now.holder, change)) return;
    await locks.acquire(lock, new Date(lock.timestamp), changeRequestRef(change));
  });
}
