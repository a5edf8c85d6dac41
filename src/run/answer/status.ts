import {
  commitStatusOf,
  type Detected,
  type StatusFacts,
  type StatusText,
  UNPLANNED,
} from "../../comments/commit-status.js";
import { findCurrentPlan } from "../../comments/publish.js";
import { createApprovals, missingForRules } from "../../core/facts/approval.js";
import type { Reviewed } from "../../core/facts/read-facts.js";
import type { ApplicationName } from "../../core/model/brand.js";
import { type ChangeRequest, type ChangeRequestRef, headRef } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { Settings } from "../../core/model/settings.js";
import { byNameAlone, needsApproval } from "../../core/policy/effect-rules.js";
import { surveyAfresh } from "../../core/survey/survey.js";
import type { Answerable } from "../line/asked.js";
import { AUTOMATIC, commandContext, NOBODY, openChange, plansAutomatically, type Run } from "../line/run.js";
import { readChangeFacts } from "./change-facts.js";
import { writeStatus, writeUnplanned, writeWorst } from "./shared-status.js";

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
      : logFailure(run, () => writeUnplanned(own, run)),
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
  /** The host's answers for the same command's comment. */
  readonly reviewed?: Reviewed | undefined;
}

interface PlanStatus {
  /** Whether this head has a plan. */
  readonly planned: boolean;
  /** Whether the host shows the status. */
  readonly written: boolean;
}

/** Sets the commit status of a planned head from what is stored now. */
export async function setPlanStatus(change: ChangeRequest, options: PlanStatusOptions, run: Run): Promise<PlanStatus> {
  if (!hasCommitStatus(run)) return { planned: false, written: false };
  let planned = false;
  let written = false;
  await logFailure(run, async () => {
    let shown: StatusText | undefined;
    let comment = options.planComment;
    let { reviewed } = options;
    for (let left = MAX_CORRECTIONS; left > 0; left -= 1) {
      const text = await planText(change, options, reviewed, run);
      reviewed = undefined;
      if (text === undefined || (text.state === shown?.state && text.description === shown.description)) return;
      planned = true;
      if (options.withoutComment !== true) comment ??= (await findCurrentPlan(run.host, change))?.id;
      written = false;
      written = await setText(change, text, comment, run);
      // A sync of another change request may have ended a record after the stores were read: a success is checked again.
      if (text.state !== "success") return;
      shown = text;
    }
  });
  return { planned, written };
}

/** Updates the commit status of an open, planned change request; returns whether it was set. */
export async function refreshPlanStatus(ref: ChangeRequestRef, run: Run): Promise<boolean> {
  if (!hasCommitStatus(run)) return false;
  let updated = false;
  await logFailure(run, async () => {
    const change = await run.host.getChangeRequest(ref);
    if (change.state !== "open" || (await run.plans.find(change))?.head !== change.headRevision) return;
    const { settings } = await openChange(change, run);
    updated = (await setPlanStatus(change, { settings }, run)).planned;
  });
  return updated;
}

async function planText(
  change: ChangeRequest,
  { settings, justFailed = [] }: PlanStatusOptions,
  reviewed: Reviewed | undefined,
  run: Run,
): Promise<StatusText | undefined> {
  const plan = await run.plans.find(change);
  if (plan?.head !== change.headRevision) return undefined;
  const { facts } = await readChangeFacts(change, settings, run, { plan, reviewed });
  return commitStatusOf({ kind: "planned", facts: { ...facts, justFailed } }, run.hostWords[change.host]);
}

async function setText(
  change: ChangeRequest,
  { state, description }: StatusText,
  planComment: string | undefined,
  run: Run,
): Promise<boolean> {
  if (!hasCommitStatus(run)) return false;
  const url = planComment === undefined ? change.webUrl : run.host.commentUrl(change, planComment);
  return writeStatus({ change: headRef(change), state, description, url }, run);
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
