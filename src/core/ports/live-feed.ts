import type { ChangeRequestRef } from "../model/change-request.js";
import type { LiveRun } from "../model/live-run.js";

/** Carries the progress of running commands to open pages. */
export interface LiveFeed {
  /** Returns at once and never throws. */
  publish(change: ChangeRequestRef, run: LiveRun): void;
  /** Reports the current run, if there is one, and every later update. The returned function unsubscribes. */
  subscribe(change: ChangeRequestRef, listener: (run: LiveRun) => void): () => void;
}
