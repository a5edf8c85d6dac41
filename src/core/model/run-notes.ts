import type { LiveApplication } from "./application.js";
import type { ApplicationName } from "./brand.js";
import type { CommandResult } from "./result.js";

/** What one run has done so far, as far as it cannot be seen in the outside world. */
export interface RunNotes {
  /** What a sync or a rollback is about to deploy, written before the first call that deploys. */
  readonly begun?: readonly BegunApplication[];
  /** What the command came to, written before its answer. Plans are made anew instead. */
  readonly result?: Exclude<CommandResult, { readonly kind: "planned" }>;
}

/** One application that a run was about to deploy. */
export interface BegunApplication {
  readonly application: ApplicationName;
  /** `LiveApplication.lastOperation` from right before: when it is unchanged, the run's own operation never came. */
  readonly lastOperation: string | undefined;
}

/** As it is right before the first call that deploys it. */
export function begunOf({ name, lastOperation }: LiveApplication): BegunApplication {
  return { application: name, lastOperation };
}
