import { attemptLocks, releaseFresh } from "../../src/core/commands/rollback.js";
import { labelsFor, plannedIn, select } from "../../src/core/commands/selection.js";
import { isLifted, skippable } from "../../src/core/commands/sync.js";
import { barredFrom, needsWriteAccess } from "../../src/core/facts/access.js";
import { readFacts, readStores } from "../../src/core/facts/read-facts.js";
import { readForRollback } from "../../src/core/facts/read-rollback.js";
import { readAgain, readForSync } from "../../src/core/facts/read-sync.js";
import { readSyncChecks, withChecks } from "../../src/core/facts/sync-checks.js";
import type { ApplicationName } from "../../src/core/model/brand.js";
import { type ChangeRequest, sameChangeRequest, type User } from "../../src/core/model/change-request.js";
import type { Command } from "../../src/core/model/command.js";
import type { Refusal } from "../../src/core/model/result.js";
import { isAnnounced } from "../../src/core/policy/application-state.js";
import { takingEffect } from "../../src/core/policy/effect-rules.js";
import type { Facts } from "../../src/core/policy/facts.js";
import { judge } from "../../src/core/policy/judge.js";
import { inFirstStage } from "../../src/core/policy/stages.js";
import type { CodeHost } from "../../src/core/ports/code-host.js";
import type { CommandContext } from "../../src/core/ports/context.js";
import { type Dependencies, openChange, readChangeFacts } from "../../src/run/line/run.js";

/** Where facts are read. */
export interface World {
  readonly host: CodeHost;
  readonly dependencies: Dependencies;
}

/** Who gives a command, and on which change request as the host shows it now. */
export interface Given {
  readonly change: ChangeRequest;
  readonly user: User;
}

/** The facts that a command is judged by, or why it selects nothing that could be judged. */
export type FactsOfCommand =
  | { readonly kind: "facts"; readonly facts: Facts }
  | { readonly kind: "unselected"; readonly refusal: Refusal };

export const PLAN: Command<"plan"> = { name: "plan", applications: [] };
export const SYNC: Command<"sync"> = { name: "sync", applications: [], dryRun: false, prune: false };
export const ROLLBACK: Command<"rollback"> = { name: "rollback", applications: [], dryRun: false, prune: false };

/** Where a change request stands, as the pages and the commit status read it. */
export async function standingFacts(change: ChangeRequest, { host, dependencies }: World): Promise<Facts> {
  const source = { ...dependencies, host };
  const { settings, problems } = await openChange(change, source);
  return (await readChangeFacts(change, settings, source, { problems })).facts;
}

/** What a sync is judged by before anything is rendered and, if nothing bars it then, with its checks. */
export async function syncFacts(command: Command<"sync">, given: Given, world: World): Promise<FactsOfCommand> {
  const reading = await readSync(command, given, world);
  return reading.kind === "facts" ? { kind: "facts", facts: reading.facts } : reading;
}

/** What a sync is judged by right before its first call that deploys. @param meanwhile happens after it was judged. */
export async function confirmedSyncFacts(
  command: Command<"sync">,
  given: Given,
  world: World,
  meanwhile: () => void | Promise<void>,
): Promise<Facts> {
  const reading = await readSync(command, given, world);
  if (reading.kind === "unselected" || reading.checks === undefined) throw new Error("the sync was refused before");
  const { first, checks, plan, context } = reading;
  await meanwhile();
  const { facts } = await readAgain(first, { plan, command, lifted: isLifted(checks) }, context);
  return withChecks(facts, checks, facts);
}

async function readSync(command: Command<"sync">, given: Given, world: World) {
  const { context, problems } = await contextOf(given, world);
  const read = await readStores(context, { problems });
  const { plan, approvals } = read;
  const held = read.facts.applications
    .flatMap(({ lock }) => lock ?? [])
    .filter(({ holder }) => sameChangeRequest(holder, given.change));
  const selection = select(held, command, plannedIn(plan), await labelsFor(command, context));
  if (selection.kind === "refused") return { kind: "unselected", refusal: selection.refusal } as const;
  const wanted = selection.items.map(({ application }) => application);
  const names = command.dryRun ? wanted : inFirstStage(wanted, read.facts);
  const first = await readForSync(command, names, read, context);
  const common = { kind: "facts", first, plan, context } as const;
  const { refusal } = judge("sync", first.facts, (gate) => gate !== "checks");
  if (refusal !== undefined) return { ...common, facts: first.facts, checks: undefined };
  const chosen = first.subjects.map(({ name }) => name);
  const { skipNoChanges } = context.settings;
  const skipped = skipNoChanges ? skippable(chosen, first.subjects, { command, plan, context }) : [];
  const deployed = first.subjects.filter(({ name }) => !skipped.includes(name));
  const checks = await readSyncChecks(deployed, plan, approvals, context);
  return { ...common, first: { ...first, subjects: deployed }, facts: withChecks(first.facts, checks), checks };
}

/** What a rollback is judged by. Locks that it takes are released again. */
export async function rollbackFacts(command: Command<"rollback">, given: Given, world: World): Promise<FactsOfCommand> {
  const { context, problems } = await contextOf(given, world);
  const read = await readStores(context, { problems });
  const { change } = given;
  const held = read.facts.applications.filter((one) => {
    const ours = one.lock !== undefined && sameChangeRequest(one.lock.holder, change);
    return one.record !== undefined || (ours && !isAnnounced(one));
  });
  const deployed = held.filter(({ record }) => record !== undefined);
  const candidates = command.applications.length > 0 || deployed.length === 0 ? held : deployed;
  const selection = select(candidates, command, plannedIn(read.plan), await labelsFor(command, context));
  if (selection.kind === "refused") return { kind: "unselected", refusal: selection.refusal };
  const names = selection.items.map(({ application }) => application);
  const attempts = command.dryRun ? [] : await attemptLocks(selection.items, context);
  const { facts } = await readForRollback(command, names, attempts, read, context);
  await releaseFresh(attempts, context);
  return { kind: "facts", facts };
}

/** What a merge by svc is judged by after a sync of these applications. */
export async function mergeFacts(
  involved: readonly ApplicationName[],
  justFailed: readonly ApplicationName[],
  given: Given,
  world: World,
): Promise<Facts> {
  const { context, problems } = await contextOf(given, world);
  const { facts, plan, records } = await readFacts(context, { problems });
  const isDeployed = (name: ApplicationName) =>
    records.some(
      ({ application, revision, outcome }) =>
        application === name && revision === given.change.headRevision && outcome === "succeeded",
    );
  const byTheMerge = takingEffect(plan).filter(({ application }) => !isDeployed(application));
  const barred = await barredFrom("sync", byTheMerge, context);
  const { login } = given.user;
  const asker = { login, mayWrite: true, withoutApproval: false, barred, selected: involved };
  return { ...facts, asker, justFailed };
}

/** What a plan or an unlock is judged by: who gives it, for what this change request has planned or locked. */
export async function askerFacts(name: "plan" | "unlock", given: Given, world: World): Promise<Facts> {
  const { context, problems } = await contextOf(given, world);
  const { facts } = await readStores(context, { problems });
  const selected = facts.applications
    .filter(({ lock }) => name === "plan" || (lock !== undefined && sameChangeRequest(lock.holder, given.change)))
    .map(({ application }) => application);
  const named = selected.map((application) => ({ application, members: [] }));
  const barred = await barredFrom(name, named, context);
  const mayWrite =
    !needsWriteAccess(context.settings, given.change) || (await world.host.mayCommand(given.change, given.user));
  return { ...facts, asker: { login: given.user.login, mayWrite, withoutApproval: false, barred, selected } };
}

/** What the command would get, but for what it reports to. */
async function contextOf({ change, user }: Given, { host, dependencies }: World) {
  const { settings, problems, snapshot } = await openChange(change, { ...dependencies, host });
  const context: CommandContext = {
    ...dependencies,
    host,
    change,
    settings,
    snapshot,
    user,
    automatic: false,
    runId: "judged",
    signal: new AbortController().signal,
    reload: (fresh) => openChange(fresh, { ...dependencies, host }),
    noteStarted: () => Promise.resolve(),
    progress: () => undefined,
  };
  return { context, problems };
}
