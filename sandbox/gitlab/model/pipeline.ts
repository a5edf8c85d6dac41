import type { Project } from "./project.js";

/** A CI run, which also holds the statuses of external programs. */
export interface Pipeline {
  readonly id: number;
  readonly iid: number;
  readonly project: Project;
  readonly sha: string;
  /** A branch, or `refs/merge-requests/<iid>/head`. */
  readonly ref: string;
  readonly createdAt: Date;
}

export interface CommitStatus {
  readonly id: number;
  readonly pipeline: Pipeline;
  readonly name: string;
  readonly state: StatusState;
  readonly description: string | null;
  readonly targetUrl: string | null;
  readonly createdAt: Date;
}

/** States that a program may set. */
export const statusStates = ["pending", "running", "success", "failed", "canceled", "skipped"] as const;
export type StatusState = (typeof statusStates)[number];
