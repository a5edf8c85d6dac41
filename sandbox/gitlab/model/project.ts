import type { AccessLevel } from "../../forge.js";
import type { Deployment, Environment } from "./environment.js";
import type { MergeRequest } from "./merge-request.js";
import type { Person } from "./people.js";
import type { CommitStatus } from "./pipeline.js";

export interface Project {
  readonly id: number;
  /** Full path with all groups, for instance `acme/platform/gitops`; also the name in the git store. */
  path: string;
  readonly description: string;
  readonly createdAt: Date;
  readonly defaultBranch: string;
  readonly forkOf: Project | undefined;
  /** Access levels by person id. */
  readonly members: Map<number, number>;
  readonly protectedBranches: Set<string>;
  /** `internal`: everybody with an account, external users aside. */
  visibility: "public" | "internal" | "private";
  /** The files are for members, whatever the visibility. */
  membersOnly: boolean;
  /** Every status ever set, oldest first. */
  readonly statuses: CommitStatus[];
  readonly environments: Environment[];
  /** Oldest first. */
  readonly deployments: Deployment[];
  /** Oldest first. */
  readonly pushes: PushEvent[];
  /** Approvals that Premium's rule requires here. Default: the instance's number. */
  approvalsRequired: number | undefined;
  /** One of them must approve, on Premium; empty for no such rule. */
  /** Merges make no commit of their own. */
  fastForward: boolean;
  /** Premium merges one after the other, each after a pipeline upon those before it; undefined without merge trains. */
  mergeTrain: MergeRequest[] | undefined;
  codeOwners: readonly Person[];
  /** Merge requests and issues have separate sequences. */
  mergeRequestCount: number;
  issueCount: number;
}

/** A push to one branch (https://docs.gitlab.com/api/events/). */
export interface PushEvent {
  readonly id: number;
  readonly by: Person;
  readonly branch: string;
  /** Undefined for a new branch. */
  readonly before: string | undefined;
  readonly after: string;
  readonly commits: number;
  readonly title: string;
  readonly at: Date;
}

/** GitLab's access levels for the sandbox's words (https://docs.gitlab.com/api/members/#roles); no entry: no member. */
export const accessLevels: Readonly<Record<Exclude<AccessLevel, "none">, number>> = { read: 10, write: 30, admin: 40 };

/** Last part of the full path. */
export function projectName(project: Project): string {
  return project.path.slice(project.path.lastIndexOf("/") + 1);
}

/** Full path of the group, or of the person, that the project belongs to. */
export function namespacePath(project: Project): string {
  return project.path.slice(0, project.path.lastIndexOf("/"));
}
