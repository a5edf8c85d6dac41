import type { Person } from "./people.js";
import type { Project } from "./project.js";

/** https://docs.gitlab.com/ci/environments/ */
export interface Environment {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
  externalUrl: string | null;
  state: "available" | "stopped";
}

export const deploymentStatuses = ["running", "success", "failed", "canceled"] as const;

export interface Deployment {
  readonly id: number;
  readonly iid: number;
  readonly environment: Environment;
  readonly sha: string;
  readonly ref: string;
  readonly user: Person;
  readonly createdAt: Date;
  updatedAt: Date;
  /** Oldest first; the last one holds. */
  readonly statuses: (typeof deploymentStatuses)[number][];
}

const longestName = 255;
const nameForm = /^[a-zA-Z0-9_${}. -](?:[a-zA-Z0-9_/${}. -]*[a-zA-Z0-9_${}. -])?$/;

/** Why GitLab refuses the name of an environment; undefined if it does not. */
export function environmentNameProblem(name: string): string | undefined {
  if (name.length > longestName) return `is too long (maximum is ${longestName} characters)`;
  if (nameForm.test(name)) return undefined;
  return "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'";
}

/** GitLab stops the environments that were deployed to last from a branch that is deleted. */
export function stopEnvironmentsOf(project: Project, branch: string): void {
  for (const environment of project.environments) {
    const last = project.deployments.findLast((one) => one.environment === environment);
    if (last?.ref === branch) environment.state = "stopped";
  }
}
