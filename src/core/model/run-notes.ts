import type { Pin } from "./application.js";
import type { ApplicationName, Revision } from "./brand.js";
import type { Destination } from "./destination.js";
import type { CommandResult } from "./result.js";

/** What a run has done so far that cannot be seen from outside. */
export interface RunNotes {
  /** What a sync or rollback is about to deploy, written before the first call that deploys. */
  readonly started?: readonly StartedApplication[];
  /** What the sync skips: their locks are released once everything else is deployed. */
  readonly skipped?: readonly ApplicationName[];
  /** The command's result, written before its answer. Plans are repeated instead. */
  readonly result?: Exclude<CommandResult, { readonly kind: "planned" }>;
}

/** One application that a run was about to deploy. */
export interface StartedApplication {
  readonly application: ApplicationName;
  /** `LiveApplication.lastOperation` right before: if it is unchanged, the run's own operation never started. */
  readonly lastOperation: string | undefined;
  /** The commits that its sync asks for; empty for the target revisions. */
  readonly pins: readonly Pin[];
  /** The commit of the change request's repository that is deployed: its head, or the tip of the base branch. */
  readonly revision: Revision;
  /** Where its objects go. */
  readonly destination: Destination;
  /** Those applications of the run that apply its definition: it starts only once they succeeded. */
  readonly after: readonly ApplicationName[];
}
