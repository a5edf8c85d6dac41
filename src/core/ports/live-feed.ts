import type { ChangeRequestRef } from "../model/change-request.js";
import type { LiveRun } from "../model/live-run.js";

/** Carries the progress of running commands to the pages that show it. */
export interface LiveFeed {
  /** Returns at once and never throws; a run that nobody looks at is told to nobody. */
  publish(change: ChangeRequestRef, run: LiveRun): void;
  /** Tells of the run that is under way, if there is one, and of everything after; the answer ends it. */
  subscribe(change: ChangeRequestRef, listener: (run: LiveRun) => void): () => void;
}
