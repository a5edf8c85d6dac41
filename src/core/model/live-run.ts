import type { ApplicationName } from "./brand.js";
import type { CommandName } from "./command.js";
import type { Phase } from "./progress.js";

/** The complete progress of one command, so that late subscribers miss nothing. */
export interface LiveRun {
  /** The run's id, as in the audit trail. */
  readonly runId: string;
  readonly command: CommandName;
  /** When it started. ISO 8601. */
  readonly startedAt: string;
  /** In the order of their first report; empty for a plan. */
  readonly applications: readonly LiveApplicationPhase[];
  /** The last report of a run: its result is stored. */
  readonly ended: boolean;
}

/** Progress of one application. */
export interface LiveApplicationPhase {
  readonly application: ApplicationName;
  readonly phase: Phase;
}
