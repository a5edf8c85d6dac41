import { markCommand } from "../comments/mark-command.js";
import { createProgressComment } from "../comments/progress-comment.js";
import { publish } from "../comments/publish.js";
import { renderResult } from "../comments/render.js";
import { matchesName } from "../config/pattern.js";
import type { ServerConfig } from "../config/server-config.js";
import { auditFactsOf, type AuditFacts } from "../core/commands/audit-facts.js";
import { close } from "../core/commands/close.js";
import { parseComment } from "../core/commands/parse-command.js";
import { changeRequestKey, type ChangeRequest } from "../core/model/change-request.js";
import { HeadMoved, StoreUnavailable } from "../core/model/errors.js";
import type { HostEvent } from "../core/model/event.js";
import type { TellProgress } from "../core/model/progress.js";
import type { CommandResult } from "../core/model/result.js";
import type { RunNotes } from "../core/model/run-notes.js";
import type { RunEnd, RunTicket } from "../core/ports/event-queue.js";
import { answer } from "./answer.js";
import { auditClose, auditRun } from "./audit-run.js";
import { refusalFor } from "./broken-run.js";
import { execute, type Executed, type Silence } from "./execute.js";
import { fenced } from "./fenced-ports.js";
import { plansByItself } from "./permitted.js";
import { NotResumed } from "./resume-run.js";
import type { Asked, Dependencies, Run } from "./run.js";
import { lookAgain } from "./settle-earlier.js";
import { showDetected } from "./show-detected.js";
import { showStatus } from "./show-status.js";
import { tellLive, type LiveTeller } from "./tell-live.js";

/** The only place that runs commands, comments and merges. Never throws: what went wrong is answered and logged. */
export async function handleEvent(event: HostEvent, deps: Dependencies, ticket: RunTicket): Promise<RunEnd> {
  const host = deps.hosts[event.change.host];
  if (host === undefined || !isAllowed(event, deps.config)) return "done";
  const started = deps.clock.now().getTime();
  const run = deps.newRun(event.delivery);
  const log = deps.log.child({ delivery: event.delivery, change: changeRequestKey(event.change), run });
  try {
    const given = { ...deps, host, ticket, signal: ticket.signal, run, log, delivery: event.delivery };
    const outcome = await handle(event, fenced(given));
    if (outcome !== undefined) {
      log.info({ event: event.kind, outcome, ms: deps.clock.now().getTime() - started }, "event handled");
    }
    return outcome === STOPPED ? "stopped" : "done";
  } catch (error) {
    log.error({ event: event.kind, err: error, ms: deps.clock.now().getTime() - started }, "event failed");
    return "failed";
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
      return lookAgain(event.change, run);
    case "updated":
      return obey(event, { command: { name: "plan", applications: [] }, by: undefined, commentId: undefined }, run);
    case "commented": {
      const asked = await askedBy(event, run);
      if (asked === undefined) return undefined;
      return asked.command === "not-a-command" ? obey(event, asked, run) : obeyMarked(event, asked, run);
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
  const command = parsed.kind === "command" ? parsed.command : "not-a-command";
  return { command, by: author, commentId: event.commentId };
}

/** The event is a trigger only: one that comes late, or is sent again by somebody, says nothing of what is open now. */
async function closeChangeRequest(event: Extract<HostEvent, { kind: "closed" }>, run: Run): Promise<string> {
  const change = await run.host.getChangeRequest(event.change);
  if (change.state === "open") return "still open";
  const merged = change.state === "merged";
  const result = await close(event.change, merged, run);
  await auditClose(result, { ...event.change, merged }, run);
  if (result.stillDeployed.length > 0) await publish(run.host, change, renderResult(result, change), run);
  return `released ${result.released.length}`;
}

/** The outcome of a run that was stopped and has nothing to say. */
const STOPPED = "stopped";
/** The outcome of a run whose earlier attempt has said all. */
const ANSWERED = "answered-before";

type Commented = Extract<HostEvent, { kind: "commented" }>;

/** The person who gave the command sees at once that it was read, and at its end whether it did what was asked. */
async function obeyMarked(event: Commented, asked: Asked, run: Run): Promise<string | undefined> {
  const marks = markCommand(run.host, event.change, event.commentId, run.log);
  const end: { mark: "done" | "failed" | undefined } = { mark: "failed" };
  try {
    const outcome = await obey(event, asked, run, (result) => {
      end.mark = didAsAsked(result) ? "done" : "failed";
    });
    // The plan that replaces this one is its answer, or what stands there.
    if (outcome === STOPPED || outcome === ANSWERED) end.mark = undefined;
    return outcome;
  } finally {
    await marks.end(end.mark);
  }
}

function didAsAsked(result: CommandResult): boolean {
  switch (result.kind) {
    case "refused":
      return false;
    case "synced":
    case "rolled-back":
      return result.applications.every(({ kind }) => kind === "succeeded");
    case "planned":
    case "unlocked":
    case "closed":
    case "help":
      return true;
  }
}

/** Runs what was asked for and answers. */
async function obey(
  event: HostEvent,
  asked: Asked,
  given: Run,
  onResult: (result: CommandResult) => void = () => undefined,
): Promise<string | undefined> {
  const run = stopsOnPush(asked, given.ticket) ? given : { ...given, signal: new AbortController().signal };
  const began = run.clock.now();
  let change: ChangeRequest | undefined;
  let progress: ReturnType<typeof progressOf>;
  let live: LiveTeller | undefined;
  let ended: CommandResult | undefined;
  // Beside the work; the status of its end comes behind it.
  let announced: Promise<void> | undefined;
  try {
    change = await run.host.getChangeRequest(event.change, run.signal);
    if (asked.by === undefined && plansByItself(change, run.config)) {
      announced = showStatus(change, { kind: "planning", host: change.host }, run);
    }
    progress = progressOf(asked, change, began, run);
    live = liveOf(asked, change, began, run);
    const tell: TellProgress = (application, phase) => {
      progress?.tell(application, phase);
      live?.tell(application, phase);
    };
    const executed = await execute(asked, change, run, tell).catch(
      async (error: unknown): Promise<Executed | Silence> => {
        if (!(error instanceof HeadMoved)) throw error;
        change = await run.host.getChangeRequest(event.change, run.signal);
        return execute(asked, change, run, tell);
      },
    );
    await announced;
    if (typeof executed === "string") {
      if (executed === "not-planned") await showDetected(change, run);
      if (executed === ANSWERED && asked.by === undefined) await showStatus(change, ANSWERED_BEFORE, run);
      if (executed === "told-before") await auditRun(TOLD_BEFORE, { change, asked }, run);
      return executed === ANSWERED ? ANSWERED : undefined;
    }
    const { result } = executed;
    if (result.kind === "planned") throwIfStopped(run.signal);
    onResult(result);
    ended = result;
    if (result.kind !== "planned" && executed.noted !== true) await note(result, run);
    if (executed.noted !== true) await auditRun(auditFactsOf(result), { change, asked }, run);
    await answer(asked, executed, change, run, await progress?.end());
    return outcomeOf(result);
  } catch (error) {
    await announced;
    const into = await progress?.end();
    // It was deployed: that the answer could not be posted is no failure of the command, and saying so would be wrong.
    if (ended?.kind === "synced" || ended?.kind === "rolled-back" || error instanceof NotResumed) throw error;
    const refusal = await refusalFor(error, asked, event.change, run);
    if (refusal === undefined) return STOPPED;
    const result = { kind: "refused", refusal } as const;
    onResult(result);
    await auditRun(auditFactsOf(result), { change: change ?? event.change, asked }, run);
    await answer(
      asked,
      { result, settings: undefined, settled: [] },
      change ?? (await run.host.getChangeRequest(event.change)),
      run,
      into,
    );
    return refusal.reason;
  } finally {
    live?.end();
  }
}

/** Only a refusal is told without a plan. */
const ANSWERED_BEFORE = { kind: "plan-failed", reason: "see the comment" } as const;

/** For the run that goes on if this one is cut off before it has answered. */
async function note(result: NonNullable<RunNotes["result"]>, { ticket, log }: Run): Promise<void> {
  try {
    await ticket.journal.write({ result });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    log.warn({ err: error }, "the result could not be written down before its answer");
  }
}

/** Nothing is answered to a person who was told before, and it is recorded all the same. */
const TOLD_BEFORE: AuditFacts = { action: "refused", applications: [], reason: "no-write-access" };

/** Only what deploys takes long enough for people to follow. */
function progressOf({ command, by }: Asked, change: ChangeRequest, began: Date, run: Run) {
  if (by === undefined || command === "not-a-command") return undefined;
  if (command.name !== "sync" && command.name !== "rollback") return undefined;
  return createProgressComment({ ...run, change, command: command.name, began });
}

/** For the change request's page: plans too, which tell it only that they run. */
function liveOf({ command }: Asked, change: ChangeRequest, began: Date, run: Run): LiveTeller | undefined {
  if (command === "not-a-command" || command.name === "help" || command.name === "unlock") return undefined;
  return tellLive({ change, run: run.run, command: command.name, began }, run.live);
}

/**
 * A push or a close stops a plan, and a sync that has not begun to deploy; everything else runs to its end. So does a sync
 * that goes on after it was cut off: what it began is followed, and the rest is checked anew.
 */
function stopsOnPush({ command }: Asked, { again }: RunTicket): boolean {
  return command !== "not-a-command" && (command.name === "plan" || (command.name === "sync" && !again));
}

function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw signal.reason;
}

function outcomeOf(result: CommandResult): string {
  return result.kind === "refused" ? result.refusal.reason : result.kind;
}
