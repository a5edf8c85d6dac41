import { findCurrentPlan } from "../comments/publish.js";
import type { Settings } from "../config/settings.js";
import type { ApplicationName } from "../core/model/brand.js";
import { sameChangeRequest, type ChangeRequest, type ChangeRequestRef } from "../core/model/change-request.js";
import { HostFailure } from "../core/model/errors.js";
import { commitStatusOf, type StatusFacts, type StatusText } from "../core/policy/commit-status.js";
import { requiringApproval } from "../core/policy/merge-decision.js";
import type { CodeHost } from "../core/ports/code-host.js";
import { openChange } from "./open-change.js";
import type { Run } from "./run.js";

/** A status that became wrong while it was set is set again, this often at most. */
const MOST_CORRECTIONS = 3;

/** Hosts of which a missing permission was told: once is enough. */
const forbiddenOn = new WeakSet<CodeHost>();

/** Whether the commit status is switched on for the host of this run. */
export function showsStatus({ host, config }: Run): boolean {
  return config[host.id]?.commitStatus === true;
}

/** Sets the status of the head; a status that cannot be set hinders nothing. */
export async function showStatus(change: ChangeRequest, facts: StatusFacts, run: Run): Promise<void> {
  await quietly(run, () => setText(change, commitStatusOf(facts), undefined, run));
}

export interface PlannedStatusOptions {
  readonly settings: Settings;
  /** The comment of the plan, when it is known; else it is looked for. */
  readonly planComment?: string | undefined;
  /** Applications whose sync Argo CD has just refused to start. */
  readonly notStarted?: readonly ApplicationName[];
}

/** Sets the status of a planned head by what the stores say now; false when there is no plan of this head. */
export async function showPlannedStatus(
  change: ChangeRequest,
  { settings, planComment, notStarted = [] }: PlannedStatusOptions,
  run: Run,
): Promise<boolean> {
  if (!showsStatus(run)) return false;
  let planned = false;
  await quietly(run, async () => {
    let shown: StatusText | undefined;
    let comment = planComment;
    for (let left = MOST_CORRECTIONS; left > 0; left -= 1) {
      const text = await plannedText(change, settings, notStarted, run);
      if (text === undefined || (text.state === shown?.state && text.description === shown.description)) return;
      planned = true;
      comment ??= await findCurrentPlan(run.host, change);
      await setText(change, text, comment, run);
      // Another change request's sync may have ended a record between the reading and the setting.
      if (text.state !== "success") return;
      shown = text;
    }
  });
  return planned;
}

/** Brings the status of a change request up to date that another event than a command of its own may have changed. */
export async function refreshStatus(ref: ChangeRequestRef, run: Run): Promise<boolean> {
  if (!showsStatus(run)) return false;
  let shown = false;
  await quietly(run, async () => {
    const change = await run.host.getChangeRequest(ref);
    if (change.state !== "open" || (await run.plans.find(change))?.head !== change.headRevision) return;
    const { settings } = await openChange(change, run);
    shown = await showPlannedStatus(change, { settings }, run);
  });
  return shown;
}

async function plannedText(
  change: ChangeRequest,
  settings: Settings,
  notStarted: readonly ApplicationName[],
  { plans, deployments, locks, host }: Run,
): Promise<StatusText | undefined> {
  const plan = await plans.find(change);
  if (plan?.head !== change.headRevision) return undefined;
  const asksApproval = requiringApproval(plan, settings).length > 0;
  const approval = asksApproval ? await host.approval(change) : undefined;
  const [everyRecord, held] = await Promise.all([deployments.list(), locks.list(change)]);
  return commitStatusOf({
    kind: "planned",
    change,
    settings,
    plan,
    records: everyRecord.filter((record) => sameChangeRequest(record.change, change)),
    foreign: everyRecord.filter((record) => !sameChangeRequest(record.change, change)),
    locked: new Set(held.map(({ application }) => application)),
    approval,
    notStarted,
  });
}

async function setText(
  change: ChangeRequest,
  { state, description }: StatusText,
  planComment: string | undefined,
  run: Run,
): Promise<void> {
  if (!showsStatus(run)) return;
  const url = planComment === undefined ? change.webUrl : run.host.commentUrl(change, planComment);
  await run.host.setStatus(change, { state, description, url });
}

async function quietly({ host: { id }, hosts, log }: Run, work: () => Promise<void>): Promise<void> {
  const host = hosts[id];
  try {
    await work();
  } catch (error) {
    const forbidden = error instanceof HostFailure && error.reason === "forbidden";
    if (forbidden && host !== undefined && forbiddenOn.has(host)) return;
    if (forbidden && host !== undefined) forbiddenOn.add(host);
    log.warn({ err: error }, "the commit status could not be set");
  }
}
