import { publishReminder } from "../comments/reminder.js";
import type { ChangeRequest, ChangeRequestRef } from "../core/model/change-request.js";
import type { Deployment } from "../core/model/deployment.js";
import { HostFailure, RepositoryFailure } from "../core/model/errors.js";
import type { CommitRange } from "../core/ports/repositories.js";
import { linksOf } from "./links.js";
import { silent, type Silent } from "./outcome.js";
import type { Run } from "./run.js";

/** Tells an open change request what of it is deployed and not merged. */
export async function remind(ref: ChangeRequestRef, run: Run): Promise<Silent> {
  const records = [...(await run.deployments.ofChange(ref))].sort((a, b) => a.timestamp.localeCompare(b.timestamp));
  const [first] = records;
  const { remindAfter } = run.config.comments;
  if (first === undefined || remindAfter === "off") return silent("nothing-to-update");
  const now = run.clock.now();
  if (now.getTime() - Date.parse(first.timestamp) < remindAfter) return silent("nothing-to-update");
  const change = await run.host.getChangeRequest(ref, run.signal);
  if (change.state !== "open") return silent("nothing-to-update");
  const facts = { records, gained: await gainedSince(first, change, run), now };
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

/** What the target branch got since the first deployment; undefined if that is not known. */
async function gainedSince(
  { baseRevision }: Deployment,
  change: ChangeRequest,
  { repositories, host, signal, log }: Run,
): Promise<CommitRange | undefined> {
  try {
    const repository = await repositories.open(change, await host.cloneSource(change), signal);
    return await repository.commitsBetween(baseRevision ?? change.mergeBase, change.baseRevision);
  } catch (error) {
    if (!(error instanceof RepositoryFailure)) throw error;
    log.warn({ err: error }, "could not read what the target branch got since a deployment");
    return undefined;
  }
}
