import type { Background } from "../../background.js";
import type { Person } from "./people.js";
import type { Pipeline } from "./pipeline.js";
import type { Project } from "./project.js";

export interface MergeRequest {
  /** Unique on the instance; not the number that people see. */
  readonly id: number;
  /** The number that people see. */
  readonly iid: number;
  readonly project: Project;
  readonly sourceProject: Project;
  readonly author: Person;
  readonly sourceBranch: string;
  readonly createdAt: Date;
  readonly notes: Note[];
  /** Newest last. */
  readonly versions: DiffVersion[];
  readonly labels: Label[];
  readonly reviewers: Map<number, Reviewer>;
  /** By the approver's id. */
  readonly approvals: Map<number, Approval>;
  /** Starts with `Draft: ` for a draft. */
  title: string;
  description: string;
  targetBranch: string;
  head: string;
  /** `locked` while a merge is in progress. */
  state: "opened" | "closed" | "merged" | "locked";
  updatedAt: Date;
  updatedBy: Person | undefined;
  mergedBy: Person | undefined;
  mergedAt: Date | undefined;
  closedBy: Person | undefined;
  closedAt: Date | undefined;
  mergeCommit: string | undefined;
  /** What its author ticked. */
  squash: boolean;
  squashCommit: string | undefined;
  /** Undefined until the background check has run for this head and target. */
  conflicts: boolean | undefined;
  /** The newest rebase of its branch. */
  rebasing: Background | undefined;
  /** What GitLab says of a merge or rebase that failed in the background. */
  mergeError: string | null;
  /** The newest pipeline of its head branch. */
  pipeline: Pipeline | undefined;
  /** Joins the merge train once its pipeline has passed. */
  joinsTrain: boolean;
  /** How many more reads find the check pending. */
  pendingReads: number;
  /** How many more reads see old approvals that a push will reset. */
  syncingReads: number;
}

export interface Note {
  readonly id: number;
  readonly author: Person;
  readonly createdAt: Date;
  readonly system: boolean;
  readonly internal: boolean;
  readonly discussion: string;
  body: string;
  updatedAt: Date;
  updatedBy: Person | undefined;
  readonly awards: Award[];
}

/** An emoji reaction on a note. */
export interface Award {
  readonly id: number;
  readonly by: Person;
  readonly name: string;
  readonly createdAt: Date;
}

/** A diff version. Each push and each change of the target branch creates one. */
export interface DiffVersion {
  readonly id: number;
  readonly head: string;
  /** Tip of the target branch at that time. */
  readonly start: string;
  readonly createdAt: Date;
}

export interface Label {
  readonly id: number;
  readonly title: string;
  readonly createdAt: Date;
}

export interface Approval {
  readonly by: Person;
  readonly at: Date;
}

export interface Reviewer {
  readonly person: Person;
  readonly since: Date;
  readonly state: "unreviewed" | "reviewed" | "requested_changes" | "approved" | "unapproved";
}

const draftPrefix = /^\s*(?:\[draft\]|\(draft\)|draft:)\s*/i;

/** Only the title makes a merge request a draft (https://docs.gitlab.com/user/project/merge_requests/drafts/). */
export function isDraft(merge: Pick<MergeRequest, "title">): boolean {
  return draftPrefix.test(merge.title);
}

export function draftTitle(title: string, draft: boolean): string {
  const bare = title.replace(draftPrefix, "");
  return draft ? `Draft: ${bare}` : bare;
}

/** The newest version; there is always one. */
export function newestVersion(merge: MergeRequest): DiffVersion {
  const version = merge.versions.at(-1);
  if (version === undefined) throw new Error(`Merge request !${merge.iid} has no diff`);
  return version;
}
