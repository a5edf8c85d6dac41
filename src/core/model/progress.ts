import type { Pin, Destination } from "./application.js";
import type { ApplicationName, Revision } from "./brand.js";
import type { Lock } from "./lock.js";
import type { ApplicationSync, CommandResultOf, ResultKind } from "./result.js";

/** Progress of one sync operation. */
export interface SyncProgress {
  /** Resources applied or tried so far. */
  readonly done: number;
  /** Resources in the operation, as far as Argo CD reports them; never below `done`. */
  readonly total: number;
  /** Argo CD's own words; untrusted. */
  readonly message: string;
  /** Set once the operation succeeded and the application has to get healthy: its health now. Untrusted. */
  readonly health?: string | undefined;
}

/** Progress of one application in a command that deploys. */
export type Phase =
  | { readonly kind: "waiting" }
  | ({ readonly kind: "running" } & SyncProgress)
  | { readonly kind: "ended"; readonly outcome: "succeeded" | "failed" | "unknown" };

/** Called with each change; returns at once and never throws. */
export type ReportProgress = (application: ApplicationName, phase: Phase) => void;

/** How progress reports the end of an operation. */
export function endOf({ kind }: Pick<ApplicationSync, "kind">): Extract<Phase, { kind: "ended" }>["outcome"] {
  switch (kind) {
    case "succeeded":
      return "succeeded";
    case "failed":
    case "rejected":
      return "failed";
    case "running":
    case "unknown":
      return "unknown";
  }
}

/** What a run has done so far that cannot be seen from outside. */
export interface RunNotes {
  /** What a sync or rollback is about to deploy, written before the first call that deploys. */
  readonly started?: readonly StartedApplication[];
  /** What the sync skips: their locks are released once everything else is deployed. */
  readonly skipped?: readonly ApplicationName[];
  /** Locks of others that the rollback took over: their holders are told at its end. */
  readonly takenOver?: readonly Lock[];
  /** The command's result, written before its answer. */
  readonly result?: NotedResult;
}

/** Whether a result is noted for a later attempt. A plan is not: it is made again. */
const NOTED = {
  planned: false,
  synced: true,
  "rolled-back": true,
  unlocked: true,
  updated: true,
  reverted: true,
  held: true,
  released: true,
  closed: true,
  help: true,
  refused: true,
} as const satisfies Readonly<Record<ResultKind, boolean>>;

type Noted = typeof NOTED;
type NotedKind = { [K in keyof Noted]: Noted[K] extends true ? K : never }[keyof Noted];

type NotedResult = CommandResultOf<NotedKind>;

/** Whether what was read from the notes is a result that is noted. */
export function isNoted(result: { readonly kind?: unknown }): result is NotedResult {
  return Object.entries(NOTED).some(([kind, noted]) => noted && kind === result.kind);
}

/** Whether a run has done something of which people have to hear. */
export function hasDone({ started = [], result }: RunNotes): boolean {
  return started.length > 0 || (result !== undefined && result.kind !== "refused" && result.kind !== "help");
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
