import { createHash } from "node:crypto";
import { commitStatusOf, type Detected, type StatusText } from "../../comments/commit-status.js";
import { readMarker, remark } from "../../comments/marker.js";
import { packedPlan, renderPlan, renderPlanTask } from "../../comments/plan.js";
import type { Present } from "../../comments/present.js";
import { findCurrentPlan, withPresent } from "../../comments/publish.js";
import { withPresentLocks } from "../../core/commands/locks.js";
import { createApprovals, missingForRules } from "../../core/facts/approval.js";
import type { ReadFacts, Reviewed } from "../../core/facts/read-facts.js";
import type { ApplicationName } from "../../core/model/brand.js";
import {
  type ChangeRequest,
  changeRequestKey,
  identityKey,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import { LeaseLost } from "../../core/model/errors.js";
import type { NextStep } from "../../core/model/next-step.js";
import { isPlanOf, type Plan, sizeOfPlan } from "../../core/model/plan.js";
import type { Settings } from "../../core/model/settings.js";
import { byNameAlone, needsApproval } from "../../core/policy/effect-rules.js";
import type { Facts } from "../../core/policy/facts.js";
import { nextStep } from "../../core/policy/next-step.js";
import { tooMuch } from "../../core/ports/compute.js";
import { surveyAfresh } from "../../core/survey/survey.js";
import { AUTOMATIC, commandContext, NOBODY, openChange, type Run } from "../line/run.js";
import { readChangeFacts } from "./change-facts.js";
import { linksOf } from "./links.js";
import { hasCommitStatus, isFinal, setCommitStatus, setStatusText, whileLogging } from "./status.js";

const MAX_CORRECTIONS = 3;

interface ShowOptions {
  readonly settings: Settings;
  /** The id of the plan's comment, if it is known. */
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

interface Shown {
  /** Whether this head has a plan. */
  readonly planned: boolean;
  /** Whether the host shows the status. */
  readonly written: boolean;
  /** When a hold ends that it names, so that it is no longer true then. */
  readonly trueUntil?: Date | undefined;
  /** What it was read from last. */
  readonly read?: Planned;
}

const NOTHING: Shown = { planned: false, written: false };

/** Shows what is stored now of a planned head: in its commit status, and in the comment of its plan. */
export async function show(change: ChangeRequest, options: ShowOptions, run: Run): Promise<Shown> {
  let shown = NOTHING;
  await orLater(change, run, async () => {
    let text: StatusText | undefined;
    let { reviewed } = options;
    const comment = new PlanComment(change, options, run);
    for (let left = MAX_CORRECTIONS; left > 0; left -= 1) {
      const read = await readPlanned(change, options.settings, reviewed, run);
      if (read === undefined) return;
      const trueUntil = endOfHolds(read.facts);
      shown = { ...shown, planned: true, trueUntil, read };
      reviewed = undefined;
      const now = statusOf(read.facts, options, run);
      const isSame = now.state === text?.state && now.description === text.description;
      if (!isSame && hasCommitStatus(run)) {
        const url = await comment.url();
        const isDecided = await whileLogging(run, async () => {
          const written = await setStatusText(change, now, url, run, options.unlessShown);
          shown = { ...shown, written };
        });
        if (!isDecided) await run.publisher.retry(change);
      }
      // A sync of another change request may have ended a record after the stores were read: a success is checked again.
      const again = hasCommitStatus(run) && !isSame && now.state === "success";
      if (!again || left === 1) await comment.update(read);
      if (!again) return;
      text = now;
    }
  });
  // A mark that is worked off is removed afterwards, and may be set again then.
  if (shown.trueUntil !== undefined && options.unlessShown !== true) await run.publisher.mark(change, shown.trueUntil);
  return shown;
}

/** Brings what an open, planned change request shows up to date. */
export async function showAgain(change: ChangeRequest, run: Run): Promise<Shown> {
  if ((await run.plans.find(change))?.head !== change.headRevision) return NOTHING;
  const { settings } = await openChange(change, run);
  return show(change, { settings, unlessShown: true }, run);
}

/** Shows in the plan of a closed change request what became of it. @param records what it had deployed before it was closed. */
export async function showEnd(change: ChangeRequest, records: readonly Deployment[], run: Run): Promise<void> {
  await orLater(change, run, async () => {
    const plan = await run.plans.find(change);
    if (plan?.head !== change.headRevision) return;
    const left = change.state === "closed" && records.length > 0;
    const next: NextStep = left
      ? { kind: "command", command: "rollback", applications: [], by: [] }
      : { kind: "none", because: change.state === "merged" ? "merged" : "closed" };
    const now = { plan: await withPresentLocks(plan, run), next, present: presentOf(plan, change, undefined, records) };
    await new PlanComment(change, {}, run).write(now);
  });
}

/** Never throws: nobody waits for it. What fails is done again in a minute. */
async function orLater(
  change: ChangeRequest,
  { signal, publisher, log }: Run,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (signal.aborted || error instanceof LeaseLost) return;
    log.warn({ err: error }, "could not bring a change request up to date; it is tried again in a minute");
    await publisher.retry(change);
  }
}

interface Planned extends ReadFacts {
  readonly plan: Plan;
}

async function readPlanned(
  change: ChangeRequest,
  settings: Settings,
  reviewed: Reviewed | undefined,
  run: Run,
): Promise<Planned | undefined> {
  const plan = await run.plans.find(change);
  if (plan?.head !== change.headRevision) return undefined;
  return { ...(await readChangeFacts(change, settings, run, { plan, reviewed })), plan };
}

function endOfHolds({ applications, others }: Facts): Date | undefined {
  const holds = [...applications, ...others].flatMap(({ requires }) => requires.holds ?? []);
  const [end] = holds.map(({ until }) => until).sort();
  return end === undefined ? undefined : new Date(end);
}

function statusOf(facts: Facts, { justFailed = [] }: ShowOptions, run: Run): StatusText {
  return commitStatusOf({ kind: "planned", facts: { ...facts, justFailed } }, run.hostWords[facts.change.host]);
}

/** What the comment of a plan shows. */
interface Living {
  /** With its locks as they are now. */
  readonly plan: Plan;
  readonly next: NextStep | undefined;
  readonly present: Present | undefined;
}

/** What became of a plan. @param records of any change request. */
export function presentOf(
  plan: Pick<Plan, "head">,
  change: ChangeRequest,
  approval: Facts["approval"],
  records: readonly Deployment[],
): Present {
  const own = records.filter((one) => one.revision === plan.head && sameChangeRequest(one.change, change));
  return {
    state: change.state,
    approvers: approval?.approved === true ? approval.approvers : [],
    deployed: own
      .map(({ application, outcome, user, timestamp, seconds }) => ({ application, outcome, user, timestamp, seconds }))
      .sort((a, b) => (a.application < b.application ? -1 : 1)),
  };
}

/** Stands for the text of a plan's comment: what it is made from, but for what never changes in a stored plan. */
function digestOf({ plan, next, present }: Living): string {
  const locks = plan.applications.map(({ application, lock, gaps }) => {
    const held = lock.kind === "held" ? [identityKey(lock.by.holder), lock.by.user, lock.place] : [];
    return [application, lock.kind, ...held, gaps?.behind];
  });
  return hashOf([plan.head, plan.baseBranch, plan.plannedAt, plan.notes, locks, next, present]);
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64");
}

/** What is stored of the first comment of a plan. */
interface Written {
  /** As `digestOf`. */
  readonly digest: string;
  /** Empty if there is no comment. */
  readonly id: string;
  /** Only if it is the plan's only comment: then all of it is known. */
  readonly whole?: { readonly runId: string; readonly hash: string } | undefined;
}

/** The first comment of a change request's plan. */
class PlanComment {
  #known: Promise<Written | undefined> | undefined;

  constructor(
    private readonly change: ChangeRequest,
    private readonly options: Pick<ShowOptions, "planComment" | "withoutComment">,
    private readonly run: Run,
  ) {}

  /** Where people read it; the change request's own page if there is none. */
  async url(): Promise<string> {
    const { change, options, run } = this;
    if (options.withoutComment === true) return change.webUrl;
    const known = options.planComment ?? (await this.#written())?.id ?? (await findCurrentPlan(run.host, change))?.id;
    return known === undefined || known === "" ? change.webUrl : run.host.commentUrl(change, known);
  }

  /** Edits it if it does not say what was read. */
  async update({ plan, facts, records }: Planned): Promise<void> {
    if (this.options.withoutComment === true || !isPlanOf(plan, this.change)) return;
    const { locks, records: doubt } = facts.untold;
    if (locks !== undefined || doubt !== undefined) return;
    const lockOf = new Map(facts.applications.map(({ application, lock }) => [application, lock]));
    const find = (application: ApplicationName) => Promise.resolve(lockOf.get(application));
    const now = await withPresentLocks(plan, { locks: { find }, waiting: this.run.waiting });
    const present = presentOf(plan, this.change, facts.approval, records);
    await this.write({ plan: now, next: nextStep(facts), present });
  }

  /** Writes it unless it shows this. What the host refuses is left as it is until there is something else to show. */
  async write(now: Living): Promise<void> {
    const { change, run } = this;
    const digest = digestOf(now);
    const known = await this.#written();
    if (known?.digest === digest) return;
    const texts = await planTexts(now, change, run);
    const [text = ""] = texts;
    if (known?.whole !== undefined && texts.length === 1) {
      const { id, whole } = known;
      const hash = hashOf(text);
      if (hash !== whole.hash) await this.#edit(id, remark(text, { runId: whole.runId, part: 1 }));
      return wrotePlan(change, { digest, id, whole: { ...whole, hash } }, run);
    }
    const comment = await findCurrentPlan(run.host, change);
    if (comment !== undefined && readMarker(comment.body)?.head === now.plan.head) {
      const body = withPresent(comment.body, texts);
      if (body !== comment.body) await this.#edit(comment.id, body);
    }
    await wrotePlan(change, { digest, id: comment?.id ?? "" }, run);
  }

  /** What the host refuses for good is left as it is. */
  async #edit(id: string, text: string): Promise<void> {
    const { change, run } = this;
    await run.publisher.wrote(change, "plan", undefined);
    try {
      await run.host.editComment(change, id, text);
    } catch (error) {
      if (!isFinal(error)) throw error;
      run.log.warn({ err: error, comment: id }, "the comment of a plan cannot be edited");
    }
  }

  #written(): Promise<Written | undefined> {
    const read = async (): Promise<Written | undefined> => {
      const text = await this.run.publisher.written(this.change, "plan");
      const [digest, id = "", runId, hash] = text?.split(" ") ?? [];
      if (digest === undefined) return undefined;
      return { digest, id, whole: runId === undefined || hash === undefined ? undefined : { runId, hash } };
    };
    return (this.#known ??= read());
  }
}

/** Notes what the comment of a plan shows. */
async function wrotePlan(
  change: ChangeRequest,
  { digest, id, whole }: Written,
  { publisher }: Pick<Run, "publisher">,
): Promise<void> {
  const rest = whole === undefined ? [] : [whole.runId, whole.hash];
  await publisher.wrote(change, "plan", [digest, id, ...rest].join(" "));
}

/** The same for a plan that was just posted. @param id of its first comment. */
export async function postedPlan(
  change: ChangeRequest,
  { shown, texts, id }: { readonly shown: Living; readonly texts: readonly string[]; readonly id: string | undefined },
  run: Run,
): Promise<void> {
  const [only] = texts;
  const isWhole = id !== undefined && only !== undefined && texts.length === 1;
  const whole = isWhole ? { runId: run.runId, hash: hashOf(only) } : undefined;
  await wrotePlan(change, { digest: digestOf(shown), id: id ?? "", whole }, run);
}

/** Milliseconds. */
const RENDER_DEADLINE_MS = 60_000;
/** Characters. The comments of a smaller plan are written within some tens of milliseconds. */
const SMALL_PLAN = 512 * 1024;

/** The comments of a plan; those of a large one are written in a worker thread. */
export async function planTexts(
  { plan, next, present }: Living,
  change: ChangeRequest,
  run: Run,
): Promise<readonly string[]> {
  const [words, links] = [run.hostWords[change.host], linksOf(change, run)];
  const wanted = run.config.comments.plan;
  const comments = wanted === "auto" ? (links.page === undefined ? "all" : "one") : wanted;
  const options = { words, pruning: run.config.defaults.prune, links, comments, next, present };
  if (sizeOfPlan(plan) < SMALL_PLAN) return renderPlan(plan, options);
  const limits = { owner: changeRequestKey(change), deadlineMs: RENDER_DEADLINE_MS, signal: run.signal };
  const computed = await run.compute.run(renderPlanTask, await packedPlan(plan, options), limits);
  if (computed.kind === "exceeded") throw new Error(`writing the comments of a plan ${tooMuch(computed.limit)}`);
  return computed.output;
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
    } else if (!(await show(change, { settings }, run)).planned) {
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
