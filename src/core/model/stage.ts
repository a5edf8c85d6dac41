import type { ApplicationName } from "./brand.js";
import type { User } from "./change-request.js";

/** A stage as a repository's file names it. All its applications are deployed before those of the next one. */
export interface Stage {
  readonly name: string;
  /** The pattern that the names of its applications match. */
  readonly applications: string;
  /** Who begins it once the stage before is deployed and healthy: svc, or a person with the next sync command. */
  readonly wait: "healthy" | "manual";
  /** How long the stage before must have been deployed when this one begins, in milliseconds. */
  readonly soak: number;
}

/** A stage, with the applications that a change request deploys in it. */
export interface PlannedStage extends Pick<Stage, "name" | "wait" | "soak"> {
  readonly applications: readonly ApplicationName[];
}

/** The stage that one repository file puts an application into, and what has to be deployed before. */
export interface StageOf extends Pick<Stage, "wait" | "soak"> {
  readonly stage: string;
  /** Its position in the file; the first stage has 0. */
  readonly place: number;
  /** What the change request deploys in all stages before this one. */
  readonly earlier: readonly ApplicationName[];
  /** The nearest stage before this one in which the change request deploys something; the first such stage has none. */
  readonly before: { readonly stage: string; readonly applications: readonly ApplicationName[] } | undefined;
  /** The parent that a later stage has, although it has to be deployed before this application. */
  readonly circle?: { readonly parent: ApplicationName; readonly stage: string } | undefined;
}

/** The stage that svc deploys next without another command. */
export interface NextStage {
  /** The id of the run that deployed the stage before. */
  readonly id: string;
  /** Who gave the command. svc deploys the stage in this person's name. */
  readonly by: User;
  /** The applications of later stages that the command's `-a` selected; empty for a command without `-a`. */
  readonly applications: readonly ApplicationName[];
  readonly prune: boolean;
  readonly stage: string;
  /** When svc begins it. ISO 8601. */
  readonly due: string;
}
