import type { Reviewed } from "../../core/facts/read-facts.js";
import type { ChangeRequest } from "../../core/model/change-request.js";
import { HostFailure } from "../../core/model/errors.js";
import type { Posting, Urgency } from "../../core/ports/code-host.js";
import type { Answerable } from "../line/asked.js";
import type { Finished } from "../line/outcome.js";
import type { Run } from "../line/run.js";
import { setPlanStatus } from "./status.js";

/** An answer that is ready to be posted. */
export interface Answer {
  readonly asked: Answerable;
  readonly finished: Pick<Finished, "settings" | "settled" | "earlier">;
  readonly change: ChangeRequest;
  readonly run: Run;
  /** The comments. */
  readonly parts: readonly string[];
  readonly posting: Posting;
  /** What its next step needed to know from the host. */
  readonly reviewed: Reviewed | undefined;
  readonly post: () => Promise<unknown>;
}

/** How an answer is posted: by its urgency, and without holding up other change requests while it waits. */
export function postingOf(urgency: Urgency, { ticket, signal }: Pick<Run, "ticket" | "signal">): Posting {
  return { urgency, signal: urgency === "plan" ? signal : undefined, onWait: () => ticket.stepAside() };
}

/**
 * Posts an answer. One that nobody waits for long for is left out rather than posted late: whoever asked sees the reaction.
 * @returns Whether it was posted.
 */
export async function postIfInTime({ post, posting: { urgency }, run }: Answer): Promise<boolean> {
  try {
    await post();
    return true;
  } catch (error) {
    const isLimit = error instanceof HostFailure && error.reason === "rate-limited";
    if (!isLimit || urgency === "result" || urgency === "plan") throw error;
    run.log.warn({ urgency, err: error }, "an answer was left out: the code host's limit is used up");
    return false;
  }
}

/** Posts an answer, then updates the commit status of a change request that is still open. */
export async function postWithStatus({ post, finished, change, run, reviewed }: Answer): Promise<true> {
  const { settings } = finished;
  await post();
  if (settings !== undefined && change.state === "open") await setPlanStatus(change, { settings, reviewed }, run);
  return true;
}
