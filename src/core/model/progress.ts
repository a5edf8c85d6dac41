import type { ApplicationName } from "./brand.js";
import type { ApplicationSync } from "./result.js";

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

/** The first report of a sync that starts. */
export const STARTED: Phase = { kind: "running", done: 0, total: 0, message: "" };

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
