import type { ApplicationName } from "./brand.js";
import type { ApplicationSync } from "./result.js";

/** How far Argo CD is with one sync operation. */
export interface SyncProgress {
  /** Resources that were applied, or tried, so far. */
  readonly done: number;
  /** Resources that the operation is about, as far as Argo CD tells; never below `done`. */
  readonly total: number;
  /** Argo CD's own words; untrusted. */
  readonly message: string;
}

/** Where an application is in a command that deploys. */
export type Phase =
  | { readonly kind: "waiting" }
  | ({ readonly kind: "running" } & SyncProgress)
  | { readonly kind: "ended"; readonly outcome: "succeeded" | "failed" | "unknown" };

/** Called whenever something is known anew; returns at once and never throws. */
export type TellProgress = (application: ApplicationName, phase: Phase) => void;

/** The first thing that is told of an application whose sync begins. */
export const BEGUN: Phase = { kind: "running", done: 0, total: 0, message: "" };

/** How an operation ended, as progress tells it. */
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
