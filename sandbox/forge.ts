import type { FaultSwitch } from "./faults.js";

/** Files of a commit by path: text, `null` to delete, a symbolic link, an executable, or a submodule at a commit id. */
export type FileChanges = Readonly<Record<string, FileChange>>;

export type FileChange =
  string | null | { readonly symlink: string } | { readonly executable: string } | { readonly submodule: string };

/** One change request as a visitor of the code host sees it. */
export interface SeenChangeRequest {
  readonly number: number;
  readonly title: string;
  readonly author: string;
  readonly state: "open" | "closed" | "merged";
  readonly draft: boolean;
  readonly headBranch: string;
  readonly baseBranch: string;
  readonly headRevision: string;
  /** Login of who merged it. */
  readonly mergedBy: string | undefined;
  readonly comments: readonly SeenComment[];
}

export interface SeenComment {
  readonly id: string;
  readonly author: string;
  readonly body: string;
  readonly edited: boolean;
  /** Marks on it, oldest first. */
  readonly reactions: readonly SeenReaction[];
  /** Folded away as outdated; GitLab has no such thing. */
  readonly minimised: boolean;
}

export interface SeenReaction {
  readonly by: string;
  /** The host's own word: `eyes`, `rocket`, `confused`. */
  readonly name: string;
}

/** One setting of a commit status, the same words for both hosts. */
export interface SeenStatus {
  readonly name: string;
  readonly state: "pending" | "success" | "failure";
  readonly description: string;
  readonly url: string | undefined;
}

/** Levels of access to a repository, the same words for both hosts (GitLab: guest, developer, maintainer). */
export type AccessLevel = "none" | "read" | "write" | "admin";

export interface OpenRequest {
  readonly repository: string;
  readonly by: string;
  readonly changes: FileChanges;
  readonly title?: string;
  /** Name of the head branch; `change-<n>` when absent. */
  readonly branch?: string;
  /** Base branch; the repository's default branch when absent. */
  readonly base?: string;
  readonly draft?: boolean;
  /** The head branch lives in a fork that belongs to `by`. */
  readonly fork?: boolean;
}

/**
 * A code host in miniature over real HTTP, steered by tests and the demo. Everything that a person would do sends the
 * webhooks that the real product would send to the connected receiver, signed; each method resolves after the
 * receiver has answered them.
 */
export interface Forge {
  readonly title: "GitHub" | "GitLab";
  /** Root URL of the server on loopback, without a final slash. */
  readonly url: string;
  /** Where webhooks go from now on. */
  connect(receiver: {
    readonly url: string;
    readonly secret: string;
    /** GitLab signs its deliveries with this `whsec_…` token as well; GitHub always signs with the secret. */
    readonly signingToken?: string;
  }): void;
  /** Answers to the webhooks sent so far, newest last. */
  readonly deliveries: readonly {
    readonly event: string;
    readonly id: string;
    readonly status: number;
    readonly body: string;
  }[];
  /** Sends a delivery again, word for word, with the same delivery id. */
  redeliver(id: string): Promise<void>;
  createRepository(name: string, files: FileChanges, options?: { readonly defaultBranch?: string }): Promise<void>;
  /** HTTPS-style clone URL (on loopback http) of a repository, as Argo CD's sources name it. */
  cloneUrl(repository: string): string;
  setAccess(repository: string, login: string, level: AccessLevel): void;
  /** Makes a team (`acme/platform` on GitHub, a group's full path on GitLab) of exactly these people. */
  setTeam(team: string, logins: readonly string[]): void;
  /** The default branch demands this many approvals; 0: none. GitLab has such rules on Premium alone. */
  requireReviews(repository: string, count: number): void;
  /** One of these people has to approve every change; nobody: no such rule. GitLab has them on Premium alone. */
  setCodeOwners(repository: string, logins: readonly string[]): void;
  /** Asks people for a review. */
  requestReviews(repository: string, number: number, logins: readonly string[]): void;
  /** CI starts a pipeline at the head, which GitLab keeps statuses in; GitHub needs none. */
  runPipeline(repository: string, number: number): void;
  open(request: OpenRequest): Promise<number>;
  /** Adds a commit to the head branch; returns its id. */
  push(repository: string, number: number, changes: FileChanges): Promise<string>;
  /** Adds a commit to any branch (for instance the base branch); returns its id. */
  pushToBranch(repository: string, branch: string, changes: FileChanges): Promise<string>;
  /** Moves the head without sending a webhook: a lost delivery, or a push at a bad moment. */
  pushSilently(repository: string, number: number, changes: FileChanges): Promise<string>;
  comment(repository: string, number: number, by: string, body: string): Promise<string>;
  editComment(repository: string, number: number, commentId: string, by: string, body: string): Promise<void>;
  commentOnIssue(repository: string, by: string, body: string): Promise<void>;
  review(
    repository: string,
    number: number,
    by: string,
    verdict: "approve" | "request-changes" | "comment",
  ): Promise<void>;
  close(repository: string, number: number): Promise<void>;
  reopen(repository: string, number: number): Promise<void>;
  markDraft(repository: string, number: number, draft: boolean): Promise<void>;
  retarget(repository: string, number: number, base: string): Promise<void>;
  rename(repository: string, number: number, title: string): Promise<void>;
  /** A person presses the merge button. */
  mergeByHand(repository: string, number: number, by: string): Promise<void>;
  changeRequest(repository: string, number: number): SeenChangeRequest;
  /** Every setting of a commit's statuses, oldest first. */
  statuses(repository: string, revision: string): readonly SeenStatus[];
  branches(repository: string): Promise<readonly string[]>;
  /** Commits that a branch has and this older commit lacks, oldest first. */
  commitsSince(
    repository: string,
    revision: string,
    branch: string,
  ): Promise<readonly { readonly id: string; readonly parents: readonly string[] }[]>;
  /** Whether merging would conflict is computed from git; this makes the answer pending for the next `reads` reads. */
  delayMergeability(repository: string, number: number, reads: number): void;
  /** What was asked or answered against the product's own description; empty when both sides are honest. */
  readonly violations: readonly string[];
  /** Resolves after the webhooks that API calls caused have been answered; those calls do not wait for them. */
  idle(): Promise<void>;
  /** Every request that was received, for counting; bodies are not kept. */
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly authorization: string | undefined;
  }[];
  readonly faults: FaultSwitch;
  stop(): Promise<void>;
}
