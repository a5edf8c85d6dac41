import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequestRef } from "../model/change-request.js";
import type { CommandName } from "../model/command.js";
import type { Phase } from "../model/progress.js";

/** The complete progress of one command, so that late subscribers miss nothing. */
export interface LiveRun {
  /** The run's id, as in the audit trail. */
  readonly runId: string;
  readonly command: CommandName;
  readonly startedAt: string;
  /** In the order of their first report; empty for a plan. */
  readonly applications: readonly { readonly application: ApplicationName; readonly phase: Phase }[];
  /** The last report of a run: its result is stored. */
  readonly ended: boolean;
}

/** Carries the progress of running commands to open pages. */
export interface LiveFeed {
  /** Returns at once and never throws. */
  publish(change: ChangeRequestRef, run: LiveRun): void;
  /** Reports the current run, if there is one, and every later update. The returned function unsubscribes. */
  subscribe(change: ChangeRequestRef, listener: (run: LiveRun) => void): () => void;
}
