import { refusalFor } from "./broken-run.js";
import { publish, publishPlan } from "./comments/publish.js";
import { renderMergeRefusal, renderResult } from "./comments/render.js";
import { matchesName } from "./config/pattern.js";
import type { ServerConfig } from "./config/server-config.js";
import { changeRequestKey, type ChangeRequest } from "./core/change-request.js";
import { close } from "./core/commands/close.js";
import type { CommandContext } from "./core/commands/context.js";
import { runCommand } from "./core/commands/index.js";
import { HeadMoved, safeMessage } from "./core/errors.js";
import type { HostEvent } from "./core/event.js";
import { parseComment } from "./core/parse-command.js";
import type { MergeOutcome } from "./core/ports.js";
import type { CommandResult } from "./core/result.js";
import { loadSettings } from "./load-settings.js";
import { mayNot, plansByItself } from "./permitted.js";
import type { Asked, Dependencies, Run } from "./run.js";

/** The only place that runs commands, comments and merges. Never throws: what went wrong is answered and logged. */
export async function handleEvent(event: HostEvent, deps: Dependencies, signal: AbortSignal): Promise<void> {
  const host = deps.hosts[event.change.host];
  if (host === undefined || !isAllowed(event, deps.config)) return;
  const started = deps.clock.now().getTime();
  const run = deps.newRun();
  const log = deps.log.child({ delivery: event.delivery, change: changeRequestKey(event.change), run });
  try {
    const outcome = await handle(event, { ...deps, host, signal, run, log });
    if (outcome !== undefined) {
      log.info({ event: event.kind, outcome, ms: deps.clock.now().getTime() - started }, "event handled");
    }
  } catch (error) {
    log.error({ event: event.kind, err: error, ms: deps.clock.now().getTime() - started }, "event failed");
  }
}

/** An empty list allows all repositories. */
function isAllowed({ change }: HostEvent, { defaults }: ServerConfig): boolean {
  const name = change.repository.toLowerCase();
  const allowed = defaults.allowedRepos;
  return allowed.length === 0 || allowed.some((pattern) => matchesName(pattern.toLowerCase(), name));
}

async function handle(event: HostEvent, run: Run): Promise<string | undefined> {
  switch (event.kind) {
    case "closed":
      return closeChangeRequest(event, run);
    case "reviewed":
      return undefined;
    case "updated":
      return obey(event, { command: { name: "plan", applications: [] }, by: undefined }, run);
    case "commented": {
      const asked = await askedBy(event, run);
      return asked === undefined ? undefined : obey(event, asked, run);
    }
  }
}

/** A comment that is no command costs no call; our own and other bots' are ignored. */
async function askedBy(event: Extract<HostEvent, { kind: "commented" }>, run: Run): Promise<Asked | undefined> {
  const parsed = parseComment(event.body);
  if (parsed === undefined) return undefined;
  const { author } = event;
  if (author.bot && !run.config.defaults.allowedBots.includes(author.login)) return undefined;
  if (author.id === (await run.host.self()).id) return undefined;
  return { command: parsed.kind === "command" ? parsed.command : "not-a-command", by: author };
}

async function closeChangeRequest(event: Extract<HostEvent, { kind: "closed" }>, run: Run): Promise<string> {
  const result = await close(event.change, event.merged, run);
  if (result.stillDeployed.length > 0) {
    const change = await run.host.getChangeRequest(event.change);
    await publish(run.host, change, renderResult(result, change));
  }
  return `released ${result.released.length}`;
}

/** Runs what was asked for and answers; a head that moves while it is read is read once more. */
async function obey(event: HostEvent, asked: Asked, given: Run): Promise<string | undefined> {
  const run = stopsOnPush(asked) ? given : { ...given, signal: new AbortController().signal };
  let change: ChangeRequest | undefined;
  try {
    change = await run.host.getChangeRequest(event.change, run.signal);
    const result = await resultOf(asked, change, run).catch(async (error: unknown) => {
      if (!(error instanceof HeadMoved)) throw error;
      change = await run.host.getChangeRequest(event.change, run.signal);
      return resultOf(asked, change, run);
    });
    if (result === undefined) return undefined;
    if (result.kind === "planned") throwIfStopped(run.signal);
    await answer(asked, result, change, run);
    return outcomeOf(result);
  } catch (error) {
    const refusal = await refusalFor(error, asked, change, run);
    if (refusal === undefined) return "stopped";
    await answer(asked, { kind: "refused", refusal }, change ?? (await run.host.getChangeRequest(event.change)), run);
    return refusal.reason;
  }
}

/** A push or a close stops a plan, and a sync that has not begun to deploy; everything else runs to its end. */
function stopsOnPush({ command }: Asked): boolean {
  return command !== "not-a-command" && (command.name === "plan" || command.name === "sync");
}

async function resultOf(asked: Asked, change: ChangeRequest, run: Run): Promise<CommandResult | undefined> {
  const { command, by } = asked;
  if (command === "not-a-command") return { kind: "refused", refusal: { reason: "not-a-command" } };
  if (by === undefined && !plansByItself(change, run.config)) return undefined;
  const refusal = by === undefined ? undefined : await mayNot(command, by, change, run);
  if (refusal === "told-before") return undefined;
  if (refusal !== undefined) return { kind: "refused", refusal };
  if (command.name === "help") return { kind: "help" };
  await run.locks.ping();
  const snapshot = await run.repositories.open(change, await run.host.cloneSource(change), run.signal);
  const { settings, problems } = await loadSettings(run.config, change, snapshot);
  if (by === undefined && !settings.autoplan) return undefined;
  if (problems.length > 0 && (command.name === "plan" || command.name === "sync")) {
    return { kind: "refused", refusal: { reason: "repository-file", problems } };
  }
  const user = by ?? change.author ?? { id: "", login: "ghost", bot: false };
  const context: CommandContext = { ...run, change, settings, snapshot, user };
  const result = await runCommand(command, context);
  const ended = await endIfClosed(change, run);
  if (ended === undefined || result.kind !== "planned") return result;
  return by === undefined ? undefined : { kind: "refused", refusal: { reason: "closed", state: ended } };
}

/**
 * A change request may be closed while a command takes locks, and its event may be handled elsewhere before the last of
 * them is taken: whoever took locks looks once more, and a closed one keeps none.
 */
async function endIfClosed(change: ChangeRequest, run: Run): Promise<"closed" | "merged" | undefined> {
  try {
    const { state } = await run.host.getChangeRequest(change);
    if (state === "open") return undefined;
    await close(change, state === "merged", run);
    return state;
  } catch (error) {
    run.log.warn({ err: error }, "could not look whether the change request was closed meanwhile");
    return undefined;
  }
}

async function answer(asked: Asked, result: CommandResult, change: ChangeRequest, run: Run): Promise<void> {
  const { host } = run;
  const parts = renderResult(result, change);
  if (result.kind === "planned") await publishPlan(host, change, parts, { automatic: asked.by === undefined });
  else await publish(host, change, parts);
  if (result.kind !== "synced" || result.merge === undefined) return;
  const merged = await host.merge(change, result.merge).catch((error: unknown): MergeOutcome => {
    run.log.error({ err: error }, "the merge broke");
    return { kind: "refused", reason: safeMessage(error) };
  });
  if (merged.kind === "refused") await publish(host, change, [renderMergeRefusal(merged.reason, change)]);
  else run.log.info({ note: merged.note }, "merged");
}

function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw signal.reason;
}

function outcomeOf(result: CommandResult): string {
  return result.kind === "refused" ? result.refusal.reason : result.kind;
}
