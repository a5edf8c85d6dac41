import { createHash } from "node:crypto";
import {
  commitStatusOf,
  type Detected,
  sharedDoubt,
  type StatusFacts,
  type StatusText,
  UNPLANNED,
  worstOf,
} from "../../comments/commit-status.js";
import { findCurrentPlan } from "../../comments/publish.js";
import { createApprovals, missingForRules } from "../../core/facts/approval.js";
import type { Reviewed } from "../../core/facts/read-facts.js";
import type { ApplicationName, Revision } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  type ChangeRequestRef,
  type HeadRef,
  headRef,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import { HostFailure, StoredValueUnreadable, StoreUnavailable } from "../../core/model/errors.js";
import { foundHead } from "../../core/model/event.js";
import type { Settings } from "../../core/model/settings.js";
import { byNameAlone, needsApproval } from "../../core/policy/effect-rules.js";
import type { CommitStatus, OpenWithHead } from "../../core/ports/code-host.js";
import type { OwnStatus } from "../../core/ports/stores.js";
import { surveyAfresh } from "../../core/survey/survey.js";
import type { Answerable } from "../line/asked.js";
import { AUTOMATIC, commandContext, NOBODY, openChange, plansAutomatically, type Run } from "../line/run.js";
import { readChangeFacts } from "./change-facts.js";

const MAX_CORRECTIONS = 3;

/** Whether the commit status is switched on for the host of this run. */
export function hasCommitStatus({ host, config }: Run): boolean {
  return config[host.id]?.commitStatus === true;
}

/** Sets the commit status of the head. Logs failures and never throws, like everything here. */
export async function setCommitStatus(change: ChangeRequest, facts: StatusFacts, run: Run): Promise<void> {
  await logFailure(run, () => setText(change, commitStatusOf(facts, run.hostWords[change.host]), undefined, run));
}

/** Shows once that an automatic plan has started, or that a head waits to be looked at; the run does not wait for it. */
export function announcePlan(asked: Answerable, change: ChangeRequest, run: Run): void {
  if (asked.kind !== "autoplan" || run.attempt.change !== undefined) return;
  if (change.state !== "open" || !hasCommitStatus(run)) return;
  const own = { change: headRef(change), state: "pending", description: UNPLANNED, url: change.webUrl } as const;
  run.attempt.inBackground(
    plansAutomatically(change, run.config)
      ? setCommitStatus(change, { kind: "planning" }, run)
      : logFailure(run, async () => {
          await run.publisher.wrote(change, "status", undefined);
          await writeUnplanned(own, run);
        }),
  );
}

/** Forgets a closed change request, which may have held back the status of a commit that others have as head. */
export async function forgetStatus(ref: ChangeRequestRef, run: Run): Promise<void> {
  if (!hasCommitStatus(run)) return;
  await logFailure(run, async () => {
    const headRevision = await run.statuses.remove(ref);
    if (headRevision !== undefined) await writeWorst({ ...ref, headRevision }, run);
  });
}

interface PlanStatusOptions {
  readonly settings: Settings;
  /** The id of the plan's comment; found if absent, unless `withoutComment`. */
  readonly planComment?: string | undefined;
  /** Whether no comment shows the plan. */
  readonly withoutComment?: boolean;
  /** Applications whose sync has just failed or was refused, before their records say so. */
  readonly justFailed?: readonly ApplicationName[];
  /** Whether to leave alone what the host shows already. */
  readonly unlessShown?: boolean;
  /** The host's answers for the same command's comment. */
  readonly reviewed?: Reviewed | undefined;
}

interface PlanStatus {
  /** Whether this head has a plan. */
  readonly planned: boolean;
  /** Whether the host shows the status. */
  readonly written: boolean;
  /** When a hold ends that it names, so that it is no longer true then. */
  readonly trueUntil?: Date | undefined;
}

/** Sets the commit status of a planned head from what is stored now. */
export async function setPlanStatus(change: ChangeRequest, options: PlanStatusOptions, run: Run): Promise<PlanStatus> {
  if (!hasCommitStatus(run)) return { planned: false, written: false };
  let planned = false;
  let written = false;
  let trueUntil: Date | undefined;
  await logFailure(run, async () => {
    let shown: StatusText | undefined;
    let comment = options.planComment;
    let { reviewed } = options;
    for (let left = MAX_CORRECTIONS; left > 0; left -= 1) {
      const judged = await planText(change, options, reviewed, run);
      const text = judged?.text;
      trueUntil = judged?.trueUntil;
      reviewed = undefined;
      if (text === undefined || (text.state === shown?.state && text.description === shown.description)) return;
      planned = true;
      if (options.withoutComment !== true) comment ??= (await findCurrentPlan(run.host, change))?.id;
      written = false;
      written = await setText(change, text, comment, run, options.unlessShown);
      // A sync of another change request may have ended a record after the stores were read: a success is checked again.
      if (text.state !== "success") return;
      shown = text;
    }
  });
  // A mark that is worked off is removed afterwards, and may be set again then.
  if (trueUntil !== undefined && options.unlessShown !== true) await run.publisher.mark(change, trueUntil);
  return { planned, written, trueUntil };
}

/** Updates the commit status of an open, planned change request. */
export async function refreshPlanStatus(change: ChangeRequest, run: Run): Promise<PlanStatus> {
  if (!hasCommitStatus(run) || (await run.plans.find(change))?.head !== change.headRevision) {
    return { planned: false, written: false };
  }
  const { settings } = await openChange(change, run);
  return setPlanStatus(change, { settings, unlessShown: true }, run);
}

async function planText(
  change: ChangeRequest,
  { settings, justFailed = [] }: PlanStatusOptions,
  reviewed: Reviewed | undefined,
  run: Run,
): Promise<{ readonly text: StatusText; readonly trueUntil: Date | undefined } | undefined> {
  const plan = await run.plans.find(change);
  if (plan?.head !== change.headRevision) return undefined;
  const { facts } = await readChangeFacts(change, settings, run, { plan, reviewed });
  const holds = [...facts.applications, ...facts.others].flatMap(({ requires }) => requires.holds ?? []);
  const [end] = holds.map(({ until }) => until).sort();
  return {
    text: commitStatusOf({ kind: "planned", facts: { ...facts, justFailed } }, run.hostWords[change.host]),
    trueUntil: end === undefined ? undefined : new Date(end),
  };
}

async function setText(
  change: ChangeRequest,
  { state, description }: StatusText,
  planComment: string | undefined,
  run: Run,
  unlessShown = false,
): Promise<boolean> {
  if (!hasCommitStatus(run)) return false;
  const url = planComment === undefined ? change.webUrl : run.host.commentUrl(change, planComment);
  const own = { change: headRef(change), state, description, url };
  const digest = digestOf([change.headRevision, state, description, url]);
  // A success is written again: whether it may be green also depends on the other change requests of its commit.
  const known = unlessShown && state !== "success" ? await run.publisher.written(change, "status") : undefined;
  if (known === digest) return true;
  await run.publisher.wrote(change, "status", undefined);
  const shown = await writeStatus(own, run);
  if (shown) await run.publisher.wrote(change, "status", digest);
  return shown;
}

function digestOf(texts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("base64");
}

async function logFailure({ host: { id }, complaints, log }: Run, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const forbidden = error instanceof HostFailure && error.reason === "forbidden";
    if (forbidden && !complaints.isNew("commit-status", id, error)) return;
    log.warn({ err: error }, "could not set the commit status");
  }
}

/**
 * Sets the commit status of a head that is not planned automatically: from an earlier plan of it, or else from what is
 * known without a render, so that a required status turns green where there is nothing to deploy.
 */
export async function setDetectedStatus(change: ChangeRequest, run: Run): Promise<void> {
  if (!hasCommitStatus(run) || change.state !== "open") return;
  try {
    const { settings, problems, snapshot } = await openChange(change, run);
    if (problems.length > 0) {
      await setCommitStatus(change, { kind: "plan-failed", reason: "the repository's file cannot be used" }, run);
    } else if (!(await setPlanStatus(change, { settings }, run)).planned) {
      const context = { ...commandContext(AUTOMATIC, change, { settings, snapshot }, run), user: NOBODY };
      const { subjects, notDeployed, detection } = await surveyAfresh(
        context,
        { withLiveSets: true },
        (found) => found.subjects.length > 0,
      );
      const found = [...subjects.map(({ name }) => name), ...detection.applicationSets.map(({ name }) => name)];
      const atMerge = notDeployed.map(({ application }) => application);
      // A file that could not be read may hide an application, and only a plan asks for an approval.
      const certain = detection.notes.length === 0 && !needsApproval(byNameAlone(atMerge), settings);
      const nothing = found.length === 0 && certain;
      const { unread } = detection;
      const missing = nothing ? await missingForRules({ ...context, approvals: createApprovals(context) }) : undefined;
      const known: Detected =
        missing !== undefined
          ? { kind: "rules", missing }
          : nothing
            ? { kind: "nothing", atMerge }
            : awaiting(found, change, run);
      const detected: Detected = unread.length > 0 ? { kind: "unread", files: unread } : known;
      await setCommitStatus(change, { kind: "detected", detected }, run);
    }
  } catch (error) {
    run.signal.throwIfAborted();
    run.log.warn({ err: error }, "could not determine what a head affects for its commit status");
    await setCommitStatus(change, { kind: "detected", detected: { kind: "unknown" } }, run);
  }
}

function awaiting(applications: readonly string[], { fork }: ChangeRequest, { config }: Run): Detected {
  if (fork && !config.defaults.allowForks) return { kind: "barred" };
  return applications.length === 0 ? { kind: "unknown" } : { kind: "affected", applications };
}

type StatusWriter = Pick<Run, "host" | "hostWords" | "statuses" | "push" | "log">;

/** Statuses that a commit can still have when it gets no success any more: enough to take back what it has. */
const RESERVED = 100;
/** How often a success is written again because another replica may have written in the meantime. */
const MAX_TURNS = 3;
/** Change requests whose pipelines are told, on a host that keeps a status for each. */
const MAX_TOLD = 10;
/** Change requests without an own status that are planned because a success would need it. */
const MAX_FOUND = 20;

/**
 * Stores what a change request alone would show, and brings the status of its commit up to date. A status belongs to a
 * commit, which several change requests may have as head: it is the worst of theirs. This is the one place that sets it.
 * @returns Whether the host shows this change request's own text.
 */
export async function writeStatus(own: OwnStatus, writer: StatusWriter): Promise<boolean> {
  let before: Revision | undefined;
  try {
    before = await writer.statuses.save(own);
  } catch (error) {
    return setUntold(error, own.change, own, writer);
  }
  const shown = await writeWorst(own.change, writer, own);
  if (before !== undefined) await writeWorst({ ...own.change, headRevision: before }, writer);
  return shown;
}

/** Stores that a change request has not been looked at: the commit may be green because of another one. */
export async function writeUnplanned(own: OwnStatus, writer: StatusWriter): Promise<void> {
  await writer.statuses.save(own);
  if ((await writer.statuses.ofHead(own.change)).length > 1) await writeWorst(own.change, writer);
}

/**
 * Sets the worst of all own statuses with this head; nothing if there are none.
 * @returns Whether the host shows that of the change request itself.
 */
export async function writeWorst(head: HeadRef, writer: StatusWriter, own?: OwnStatus): Promise<boolean> {
  try {
    for (let left = MAX_TURNS; left > 0; left -= 1) {
      const { kept, shown } = await writer.statuses.exclusively(head, (isOurs) => inTurn(head, isOurs, writer));
      if (kept) return shown;
    }
    throw new StoreUnavailable("the turn to write a commit status was lost each time");
  } catch (error) {
    return setUntold(error, head, own, writer);
  }
}

/** Reads all statuses and sets the worst during a turn, so that no replica overwrites what another knew. */
async function inTurn(head: HeadRef, isOurs: () => Promise<boolean>, writer: StatusWriter) {
  const [first, ...others] = await writer.statuses.ofHead(head);
  if (first === undefined) return { kept: true, shown: false };
  const all = [first, ...others] as const;
  const worst = await withoutDoubt(all, writer);
  const set = await setFor(all, head, worst, writer);
  const own = all.find(({ change }) => sameChangeRequest(change, head));
  const named = worst.state === "success" || sameChangeRequest(worst.change, head);
  // If the turn ended before, another replica may have set something worse, which a success overwrote.
  const kept = worst.state !== "success" || (await isOurs());
  return { kept, shown: set && named && own?.state === worst.state };
}

/** Sets the status while the store is away. It is never green then: other change requests with this head may hold it back. */
async function setUntold(
  error: unknown,
  head: HeadRef,
  own: OwnStatus | undefined,
  writer: StatusWriter,
): Promise<boolean> {
  if (!(error instanceof StoreUnavailable || error instanceof StoredValueUnreadable)) throw error;
  writer.log.warn({ err: error }, "could not tell which other change requests share a commit status");
  if (own !== undefined && own.state !== "success") return writer.host.setStatus(head, own);
  await writer.host.setStatus(head, { ...sharedDoubt({ kind: "store" }, writer.hostWords[head.host]), url: own?.url });
  return false;
}

type All = readonly [OwnStatus, ...OwnStatus[]];

/** The worst of them; a success only if nobody else can have this head, and it could be taken back. */
async function withoutDoubt(all: All, writer: StatusWriter): Promise<OwnStatus> {
  const [{ change: head }] = all;
  const words = writer.hostWords[head.host];
  const worst = worstOf(all, words);
  const count = words.maxStatuses === undefined ? 0 : await writer.statuses.countWrite(head);
  if (worst.state !== "success") return worst;
  if (words.maxStatuses !== undefined && count > words.maxStatuses - RESERVED) {
    return { ...worst, ...sharedDoubt({ kind: "used-up" }, words) };
  }
  const open = await openWithHead(head, writer);
  if (open === undefined) return { ...worst, ...sharedDoubt({ kind: "not-listed" }, words) };
  const known = new Set(all.map(({ change }) => change.number));
  const unknown = open.numbers.filter((number) => !known.has(number)).sort((left, right) => left - right);
  await Promise.all(unknown.slice(0, MAX_FOUND).map((number) => writer.push(foundHead({ ...head, number }))));
  const [number] = unknown;
  if (number !== undefined) {
    const change = { ...head, number };
    return { change, url: undefined, ...sharedDoubt({ kind: "unplanned", change }, words) };
  }
  return open.cutOff === undefined ? worst : { ...worst, ...sharedDoubt({ kind: "cut-off", why: open.cutOff }, words) };
}

async function openWithHead(head: HeadRef, { host, log }: StatusWriter): Promise<OpenWithHead | undefined> {
  try {
    return await host.openWithHead(head);
  } catch (error) {
    if (!(error instanceof HostFailure)) throw error;
    log.warn({ err: error }, "could not list the change requests of a commit; its status stays pending");
    return undefined;
  }
}

/** @returns Whether the change request shows it. */
async function setFor(all: All, head: HeadRef, status: CommitStatus, { host, log }: StatusWriter): Promise<boolean> {
  const [{ change: first }] = all;
  const changes = all.map(({ change }) => change);
  const own = changes.find((change) => sameChangeRequest(change, head)) ?? first;
  const set = await host.setStatus(own, status);
  if (!host.statusPerChange) return set;
  for (const change of changes.filter((one) => one !== own).slice(0, MAX_TOLD)) {
    try {
      await host.setStatus(change, status);
    } catch (error) {
      log.warn({ err: error }, "could not set the commit status for another change request with the same head");
    }
  }
  return set;
}
