import type { ApplicationName } from "./brand.js";
import type { CommandName } from "./command.js";
import type { Phase } from "./progress.js";

/** How far one command of a change request is, the whole of it each time: who comes late has missed nothing. */
export interface LiveRun {
  /** The id of the run, the same as in the audit trail. */
  readonly run: string;
  readonly command: CommandName;
  /** When it began. ISO 8601. */
  readonly began: string;
  /** In the order in which they were told of; empty while a plan runs. */
  readonly applications: readonly LiveApplicationPhase[];
  /** The last that is told of a run: its answer stands in the stores. */
  readonly ended: boolean;
}

/** Where one application of a run is. */
export interface LiveApplicationPhase {
  readonly application: ApplicationName;
  readonly phase: Phase;
}
