import type { ApplicationName } from "./brand.js";
import type { User } from "./change-request.js";

/** What begins a stage, once the one before it is deployed and healthy: svc itself, or the next sync command. */
export const STAGE_WAITS = ["healthy", "manual"] as const;

/** Applications that are deployed together, before those of the next stage. */
export interface Stage {
  readonly name: string;
  /** A pattern for names. */
  readonly applications: string;
  readonly wait: (typeof STAGE_WAITS)[number];
  /** For how long the stage before must have been deployed, in milliseconds. */
  readonly soak: number;
}

/** A stage with those of its applications that a change request deploys. */
export interface PlannedStage extends Pick<Stage, "name" | "wait" | "soak"> {
  readonly applications: readonly ApplicationName[];
}

/** What an application waits for, by the stages of one repository file. */
export interface StageOf extends Pick<Stage, "wait" | "soak"> {
  readonly stage: string;
  /** Counted from 0. */
  readonly place: number;
  /** All applications of earlier stages. */
  readonly earlier: readonly ApplicationName[];
  /** Those of the last stage before it that has some. */
  readonly before: { readonly stage: string; readonly applications: readonly ApplicationName[] } | undefined;
  /** A parent in a later stage, which a sync deploys first all the same. */
  readonly circle?: { readonly parent: ApplicationName; readonly stage: string } | undefined;
}

/** The stage with which a sync goes on by itself. */
export interface NextStage {
  /** The run that deployed the stage before. */
  readonly id: string;
  /** Who gave the command, and answers for what follows. */
  readonly by: User;
  /** What the command names of the later stages; empty if it was given without `-a`. */
  readonly applications: readonly ApplicationName[];
  readonly prune: boolean;
  readonly stage: string;
  /** ISO 8601. */
  readonly due: string;
}
