export interface Person {
  readonly id: number;
  readonly login: string;
  readonly type: "User" | "Bot" | "Organization";
}

export interface Comment {
  readonly id: number;
  readonly author: Person;
  /** Written by the App with an installation token. */
  readonly viaApp: boolean;
  readonly createdAt: string;
  body: string;
  updatedAt: string;
  edited: boolean;
  minimizedReason: string | undefined;
  readonly reactions: Reaction[];
}

export interface Reaction {
  readonly id: number;
  readonly by: Person;
  /** https://docs.github.com/rest/reactions/reactions#about-reactions */
  readonly content: string;
  readonly createdAt: string;
}

export interface Status {
  readonly id: number;
  readonly sha: string;
  readonly context: string;
  readonly state: "error" | "failure" | "pending" | "success";
  readonly description: string | null;
  readonly targetUrl: string | null;
  readonly createdAt: string;
}

/** https://docs.github.com/rest/deployments/deployments */
export interface Deployment {
  readonly id: number;
  readonly sha: string;
  readonly ref: string;
  readonly task: string;
  readonly payload: Readonly<Record<string, unknown>> | string;
  readonly environment: string;
  readonly description: string | null;
  readonly transient: boolean;
  readonly production: boolean;
  readonly creator: Person;
  readonly createdAt: string;
  /** Oldest first. */
  readonly statuses: DeploymentStatus[];
}

export const deploymentStates = [
  "error",
  "failure",
  "inactive",
  "in_progress",
  "queued",
  "pending",
  "success",
] as const;

export interface DeploymentStatus {
  readonly id: number;
  readonly state: (typeof deploymentStates)[number];
  readonly description: string;
  readonly logUrl: string;
  readonly environmentUrl: string;
  readonly createdAt: string;
}

export interface Review {
  readonly id: number;
  readonly author: Person;
  readonly state: "APPROVED" | "CHANGES_REQUESTED" | "COMMENTED";
  readonly commit: string;
  readonly submittedAt: string;
}

/** The pull request was led to another base branch. */
export interface BaseChange {
  readonly from: string;
  readonly to: string;
  readonly at: string;
}

/** A push to a branch, or a merge into it. */
export interface Activity {
  readonly id: number;
  readonly before: string;
  readonly after: string;
  readonly ref: string;
  readonly type: "push" | "force_push" | "branch_creation" | "branch_deletion" | "pr_merge";
  readonly by: Person;
  readonly at: string;
}
