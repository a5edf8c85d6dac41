import { haveSameTarget, readMarker, targetOf } from "../../comments/marker.js";
import { COMMANDS, isGatedBy } from "../../core/commands/commands.js";
import { plannedIn, suggestionOf } from "../../core/commands/selection.js";
import { needsWriteAccess } from "../../core/facts/access.js";
import type { ChangeRequest, User } from "../../core/model/change-request.js";
import type { Command } from "../../core/model/command.js";
import { HostFailure, ifReadable, StoreUnavailable, only } from "../../core/model/errors.js";
import type { FoundComment } from "../../core/model/event.js";
import { isPlanOf } from "../../core/model/plan/plan.js";
import { blankFacts, type Facts } from "../../core/policy/facts.js";
import type { Gate } from "../../core/policy/gates.js";
import { judge } from "../../core/policy/judge.js";
import { RULES } from "../../core/policy/rules.js";
import type { Clock } from "../../core/ports/clock.js";
import { leavesOut } from "../../core/ports/log.js";
import { isRecent, settleEarlier, startersIn } from "../around/revisit.js";
import {
  type Answerable,
  type Autoplan,
  type Finished,
  type GivenCommand,
  type InvalidComment,
  type Permitted,
  refused,
  silent,
  type Silent,
} from "./outcome.js";
import { openChange, plansAutomatically, readChangeFacts, type Run } from "./run.js";

/** A command that deploys is run if its lost comment is younger than this. */
const FOUND_IN_TIME_MS = 10 * 60_000;

/** Decides whether a command may run now. Cheap questions come first; without the lock store nothing is read or run. */
export async function permit(
  asked: Answerable,
  change: ChangeRequest,
  run: Run,
): Promise<Permitted | Finished | Silent> {
  if (asked.kind === "autoplan") {
    return isWanted(asked) || plansAutomatically(change, run.config)
      ? permitBySettings(asked, change, run)
      : silent("not-planned");
  }
  if (asked.kind === "command" && isInVain(asked, change)) return silent("approved-in-vain");
  if (await isByOutsider(asked, change, run)) return answerOutsider(asked, change, run);
  if (asked.kind === "invalid") return answerInvalid(asked, change, run);
  const { fixedResult } = COMMANDS[asked.command.name];
  if (asked.unclear === true && fixedResult === undefined && !needsToWrite(asked, change, run)) {
    const { title } = run.hostWords[change.host];
    const doubt = `whether ${asked.by.login} is a person or a program: ${title} did not answer`;
    return refused({ reason: "cannot-tell", doubts: [doubt] });
  }
  const barred = barredAtOnce(asked.command, blankFacts(change, run.hostWords[change.host], run.config.defaults));
  if (barred !== undefined) return barred;
  if (asked.found !== undefined && (await isFoundLate(asked.command, asked.found, change, run))) {
    return refused({ reason: "found-late", command: asked.command.name });
  }
  if (fixedResult !== undefined) return { kind: "finished", result: fixedResult, settled: [] };
  return permitBySettings(asked, change, run);
}

/** Judges by the gates that need no further reading. */
function barredAtOnce({ name }: Command, facts: Facts): Finished | undefined {
  const judged = RULES["write-access"].commands.find((one) => one === name);
  const { refusal } = judged === undefined ? { refusal: undefined } : judge(judged, facts, isKnownAtOnce);
  return refusal && refused(refusal);
}

function isKnownAtOnce(gate: Gate): boolean {
  return gate === "closed" || gate === "fork" || gate === "broken-rules" || gate === "write-access";
}

/** Names the nearest command, unless it does not work here; applications are told apart from other words by the store. */
async function answerInvalid(
  { guess, unknownOption, sign }: InvalidComment,
  change: ChangeRequest,
  run: Run,
): Promise<Finished> {
  if (guess === undefined) return refused({ reason: "not-a-command", unknownOption });
  if (change.state !== "open" && isGatedBy(guess.command.name, "closed")) {
    return refused({ reason: "not-a-command", sign });
  }
  const reading = [run.locks.list(change, leavesOut(run.log)), ifReadable(run.plans.find(change), undefined)] as const;
  const known = await Promise.all(reading).then(
    ([held, plan]) => [...held.map(({ application }) => application), ...plannedIn(plan)],
    only(StoreUnavailable, () => []),
  );
  return refused({ reason: "not-a-command", suggestion: suggestionOf(guess, known), sign });
}

/**
 * Whether a found command is asked for again instead of being run. Of those that could do harm late, only
 * one that is young, is the last on its change request and left no trace of an earlier attempt is run.
 */
async function isFoundLate(
  command: Command,
  found: FoundComment,
  change: ChangeRequest,
  { host, clock, runId }: Run,
): Promise<boolean> {
  if (COMMANDS[command.name].runsLate) return false;
  if (found.overtaken || isOld(found, clock)) return true;
  return (await host.listOwnComments(change)).some(({ body }) => readMarker(body)?.runId === runId);
}

/** Whether a command that deploys is too old to be begun. */
export function isOld({ writtenAt }: FoundComment, clock: Clock): boolean {
  return !(clock.now().getTime() - Date.parse(writtenAt) < FOUND_IN_TIME_MS);
}

/** The longest wait for a stage that is due by another replica's clock. Synchronised clocks differ by less. */
const MOST_EARLY_MS = 60_000;

/** Whether nothing has ended the sync since it noted its next stage. Waits until that is due by this replica's clock too. */
async function goesOn(stage: string, change: ChangeRequest, { plans, clock, signal }: Run): Promise<boolean> {
  const find = async () => {
    const plan = await plans.find(change);
    return isPlanOf(plan, change) && plan.next?.id === stage ? plan.next : undefined;
  };
  const early = Date.parse((await find())?.due ?? "") - clock.now().getTime();
  if (early > 0) await clock.sleep(Math.min(early, MOST_EARLY_MS), signal);
  return (await find()) !== undefined;
}

/** Somebody asked for the plan, or for what it follows from. */
function isWanted({ turn, wanted }: Autoplan): boolean {
  return turn !== undefined || wanted === true;
}

/** Whether an approval gave the command for a head that was replaced, or a change request that was closed. */
function isInVain({ approved }: GivenCommand, { headRevision, state }: ChangeRequest): boolean {
  return approved !== undefined && (approved.headRevision !== headRevision || state !== "open");
}

function needsToWrite({ command }: GivenCommand | InvalidComment, change: ChangeRequest, { config }: Run): boolean {
  return needsWriteAccess(config.defaults, change) || (command && COMMANDS[command.name].access) === "writers";
}

async function isByOutsider(asked: GivenCommand | InvalidComment, change: ChangeRequest, run: Run): Promise<boolean> {
  if (!needsToWrite(asked, change, run)) return false;
  const { access, by } = asked;
  return access === "unknown" ? !(await run.host.mayCommand(change, by)) : access === "none";
}

/** The author of a command without write access, for an answer that may not rest on that question; undefined if it fails. */
export async function outsiderIn(asked: Answerable, change: ChangeRequest, run: Run): Promise<User | undefined> {
  if (asked.kind === "autoplan") return undefined;
  const isOutsider = await isByOutsider(asked, change, run).catch(only(HostFailure, () => false));
  return isOutsider ? asked.by : undefined;
}

/** Answers an outsider once per change request: anybody can write comments. */
async function answerOutsider(
  asked: GivenCommand | InvalidComment,
  change: ChangeRequest,
  { host, outsiders }: Run,
): Promise<Finished | Silent> {
  const { by } = asked;
  if (asked.access === "unknown" && (await outsiders.wereAnswered(host, change))) return silent("refused-before");
  if (asked.kind === "invalid") return { ...refused({ reason: "not-a-command" }), outsider: by };
  const { access, fixedResult } = COMMANDS[asked.command.name];
  if (access === "anyone" && fixedResult !== undefined) {
    return { kind: "finished", result: fixedResult, settled: [], outsider: by };
  }
  return { ...refused({ reason: "no-write-access", login: by.login }), outsider: by };
}

async function permitBySettings(
  asked: GivenCommand | Autoplan,
  change: ChangeRequest,
  run: Run,
): Promise<Permitted | Finished | Silent> {
  const { name } = asked.command;
  await run.locks.ping();
  if (asked.kind === "command" && asked.stage !== undefined && !(await goesOn(asked.stage, change, run))) {
    return silent("stage-over");
  }
  if (asked.kind === "autoplan") {
    // While git fetches. The plan asks for them again, gets what is cached, and reports failures.
    void Promise.allSettled([run.deployer.listApplications(run.signal), run.deployer.listApplicationSets(run.signal)]);
    run.rendersAhead.ask(change, run);
  }
  const settled = await settleEarlier(change, run);
  const { settings, problems, snapshot } = await openChange(change, run);
  if (asked.kind === "autoplan" && !isWanted(asked) && !asked.lifted && !settings.autoplan) {
    return silent("not-planned");
  }
  const facts = { ...blankFacts(change, run.hostWords[change.host], settings), problems };
  const broken = barredAtOnce(asked.command, facts);
  if (broken !== undefined) return { ...broken, settings, problems, settled };
  if (asked.kind === "command" && name === "sync") {
    const { commentId, by } = asked;
    if (asked.approved !== undefined) {
      const { facts, plan } = await readChangeFacts(change, settings, run, { problems });
      const isSame = plan?.plannedAt === asked.approved.plannedAt;
      const given = startersIn(facts).find(({ id }) => id === by.id);
      if (!isSame || given === undefined || !(await isRecent(given, run))) return silent("approved-in-vain");
    } else if (commentId !== undefined && (await isOlderThanPlan(commentId, change, run))) {
      return { ...refused({ reason: "plan-unseen" }), settings, settled };
    }
  }
  return { kind: "permitted", asked, settings, problems, snapshot, settled };
}

/**
 * Whether a command was written under a plan of another head or base branch, or before any plan, although one of these was posted:
 * its author has not seen what it would deploy. Webhooks arrive out of order: a command can arrive after a push that it precedes.
 * The ids of comments only grow, on every host.
 */
async function isOlderThanPlan(commentId: string, change: ChangeRequest, { host }: Run): Promise<boolean> {
  const target = targetOf(change.headRevision, change.baseBranch);
  const plans = (await host.listOwnComments(change)).flatMap(({ id, body }) => {
    const marker = readMarker(body);
    return marker?.kind === "plan" ? [{ id, isPresent: haveSameTarget(marker, target) }] : [];
  });
  const seen = plans.findLast(({ id }) => !isLater(id, commentId));
  return seen?.isPresent !== true && plans.some(({ isPresent }) => isPresent);
}

function isLater(id: string, other: string): boolean {
  return [id, other].every((one) => /^\d{1,30}$/.test(one)) && BigInt(id) > BigInt(other);
}
