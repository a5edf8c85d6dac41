import { publishReminder, type Around } from "../../comments/reminder.js";
import type { ChangeRequest, ChangeRequestRef } from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import { HeadMoved, HostFailure, RepositoryFailure } from "../../core/model/errors.js";
import { overdueChanges } from "../../core/model/overdue.js";
import { undoOf } from "../../core/policy/advice.js";
import { nextStep } from "../../core/policy/next-step.js";
import { linksOf } from "../answer/links.js";
import { readStanding } from "../answer/standing.js";
import { openChange } from "../line/context.js";
import { silent, type Silent } from "../line/outcome.js";
import type { Run } from "../line/run.js";

/** Tells an open change request what of it is deployed and not merged. */
export async function remind(ref: ChangeRequestRef, run: Run): Promise<Silent> {
  const records = [...(await run.deployments.ofChange(ref))].sort((a, b) => a.timestamp.localeCompare(b.timestamp));
  const [first] = records;
  const { remindAfter } = run.config.comments;
  const now = run.clock.now();
  if (first === undefined || remindAfter === "off") return silent("nothing-to-update");
  if (overdueChanges(records, now, remindAfter).length === 0) return silent("nothing-to-update");
  const change = await run.host.getChangeRequest(ref, run.signal);
  if (change.state !== "open") return silent("nothing-to-update");
  const facts = { records, around: await lookAround(first, records, change, run), now };
  const reader = { change, words: run.hostWords[change.host], links: linksOf(change, run) };
  const posting = { urgency: "help", signal: run.signal } as const;
  try {
    await publishReminder(run.host, facts, reader, { runId: run.runId, posting, log: run.log });
    return silent("reminded");
  } catch (error) {
    // There is another day.
    if (error instanceof HostFailure && error.reason === "rate-limited") return silent("left-out");
    throw error;
  }
}

/** What the target branch got since the first deployment, and what to do; undefined if the repository cannot be read. */
async function lookAround(
  { baseRevision }: Deployment,
  records: readonly Deployment[],
  change: ChangeRequest,
  run: Run,
): Promise<Around | undefined> {
  try {
    const { settings, problems, snapshot } = await openChange(change, run);
    const gained = await snapshot.commitsBetween(baseRevision ?? change.mergeBase, change.baseRevision);
    const { facts } = await readStanding(change, settings, run, { problems });
    const next = nextStep(facts);
    const deployed = records.map(({ application }) => application);
    // After a failure the next step names it already.
    return { gained, next, undo: next.kind === "retry" ? undefined : undoOf(deployed, facts) };
  } catch (error) {
    if (!(error instanceof RepositoryFailure || error instanceof HeadMoved)) throw error;
    run.log.warn({ err: error }, "could not read what the target branch got since a deployment");
    return undefined;
  }
}
